"""What differs between two versions."""

from rsi.errors import ContractError
from rsi.harness.hcp import Harness
from rsi.records import Version


def changed_adapters(champion: Version, candidate: Version) -> list[str]:
    """Roles whose adapter differs, sorted."""
    roles = sorted({*champion.adapters, *candidate.adapters})
    return [role for role in roles if champion.adapters.get(role) != candidate.adapters.get(role)]


def changed_role(champion: Version, candidate: Version) -> str | None:
    """The role whose adapter differs; None when only the harness does.

    Raises:
        ContractError: nothing differs, the base does, or more than one adapter.
    """
    if champion.base != candidate.base:
        raise ContractError(
            f"candidate is made on base {candidate.base[:12]}, the champion on {champion.base[:12]}"
        )
    roles = changed_adapters(champion, candidate)
    if len(roles) > 1:
        raise ContractError(f"a candidate changes one role's adapter at most; found {', '.join(roles)}")
    if not roles and champion.harness == candidate.harness:
        raise ContractError("the candidate is the champion: same adapters, same harness; nothing to compare")
    return roles[0] if roles else None


def changes(champion: Version, candidate: Version, before: Harness, after: Harness) -> tuple[str, ...]:
    """What differs between two versions, a line each."""
    lines = [
        f"adapter of {role}: {champion.adapters.get(role, 'none')} → {candidate.adapters.get(role, 'none')}"
        for role in changed_adapters(champion, candidate)
    ]
    if before == after:
        return (*lines, f"harness: unchanged ({after.name} {after.digest[:12]})")
    if before.prompts.route != after.prompts.route:
        lines.append(f"route text: “{before.prompts.route}” → “{after.prompts.route}”")
    for role in sorted({*before.prompts.answer, *after.prompts.answer}):
        if before.prompts.answer.get(role) != after.prompts.answer.get(role):
            lines.append(f"answer text of {role}: changed")
    for name in ("labels", "router", "sampling", "name"):
        if getattr(before, name) != getattr(after, name):
            lines.append(f"harness, {name}: changed")
    return (*lines, f"harness: {before.digest[:12]} → {after.digest[:12]}")
