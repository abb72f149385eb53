"""What to train tonight: the role whose failure modes weigh most, within the deployment's rules.

The weight of a role is the sum of the priorities of its modes that tonight's tasks cover, of those that may be trained
(`FailureMode.trainable`). A mode of routing belongs to the role that routes; any other to the role that answered most
of its traces, or to the one that routes where no trace says who answered. Of equal weights the first name wins.
"""

from collections.abc import Collection, Sequence
from itertools import takewhile

from rsi.discover.signs import Kind
from rsi.errors import QuietError
from rsi.records import FailureMode, LedgerRecord, Modes, Record
from rsi.settings import NightRules

KIND = "role"
"""Of the ledger's record."""


class Choice(Record):
    """The role of a night, and why."""

    role: str
    because: str
    weights: dict[str, float]
    """Role -> weight of its modes that tasks cover."""


def role_of(mode: FailureMode, router: str) -> str:
    """The role that would have to do better."""
    if mode.kind == Kind.ROUTE or not mode.answered_by:
        return router
    return min(mode.answered_by, key=lambda role: (-mode.answered_by[role], role))


def choose(
    modes: Modes, covered: Collection[str], router: str, rules: NightRules, before: Sequence[str]
) -> Choice:
    """The role to train.

    Args:
        modes: the night's.
        covered: ids of the modes that tasks cover which can be trained.
        router: the role that routes.
        rules: may pin the role, and cap how many nights in a row train one.
        before: roles of earlier nights, the last one first.

    Raises:
        QuietError: no role is left.
    """
    open_ones = [one for one in modes.modes if one.trainable]
    weights = _weights([one for one in open_ones if one.mode_id in covered], router)
    bare = _weights([one for one in open_ones if one.mode_id not in covered], router)
    waiting = "".join(
        f"; {role} has modes of weight {weight:g} without tasks" for role, weight in bare.items() if weight
    )
    allowed, capped = dict(weights), ""
    tired = _tired(rules, before)
    if tired in allowed and rules.role is None:
        del allowed[tired]
        capped = f"; {tired} trained {rules.most_in_a_row} nights in a row, which is the cap"
    if rules.role is not None:
        allowed = {role: weight for role, weight in weights.items() if role == rules.role}
    if not allowed:
        wanted = (
            f"the deployment pins role {rules.role}, and" if rules.role is not None else "no role is left:"
        )
        raise QuietError(f"{wanted} no task covers an open mode of it{capped}{waiting}")
    role = min(allowed, key=lambda one: (-allowed[one], one))
    top = next(one for one in open_ones if one.mode_id in covered and role_of(one, router) == role)
    why = "pinned by the deployment" if rules.role is not None else f"its modes weigh {weights[role]:g}"
    others = "".join(f", those of {one} {weight:g}" for one, weight in weights.items() if one != role)
    return Choice(
        role=role,
        because=f"{why}{others}; first of them {top.mode_id}, {top.title}{capped}{waiting}",
        weights=weights,
    )


def roles_before(records: Sequence[LedgerRecord], night: str) -> list[str]:
    """Roles that the nights before one trained, the last one first."""
    begun = next((one.seq for one in records if one.kind == "night" and one.night == night), len(records) + 1)
    return [str(one.body["role"]) for one in reversed(records) if one.kind == KIND and one.seq < begun]


def _tired(rules: NightRules, before: Sequence[str]) -> str | None:
    """The role that trained as many nights in a row as the deployment allows."""
    if rules.most_in_a_row is None or not before:
        return None
    row = list(takewhile(lambda role: role == before[0], before))
    return before[0] if len(row) >= rules.most_in_a_row else None


def _weights(modes: Sequence[FailureMode], router: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for one in modes:
        role = role_of(one, router)
        found[role] = found.get(role, 0.0) + one.priority
    return {role: round(weight, 6) for role, weight in sorted(found.items())}
