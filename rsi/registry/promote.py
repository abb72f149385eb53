"""Promotion and rollback: admit, publish, prove, then move the pointer by compare-and-swap.

Everything before the ledger record can be repeated; everything after it follows from it. Any failure leaves the
champion in service.
"""

from collections.abc import Sequence
from pathlib import Path

from rsi import faults
from rsi.engine.publish import PROBES, Replica, publish
from rsi.errors import ContractError, IntegrityError, RefusedError
from rsi.harness import hcp
from rsi.ports import Clock
from rsi.records import Approval, ChatMessage, Decision, Judgement, LedgerRecord, Verdict, Version
from rsi.registry import adapters, champion, versions
from rsi.registry.approval import verdict
from rsi.settings import Home
from rsi.store.ledger import Ledger


def contract_actor(contract: str) -> str:
    """Who a rollback names where the contract performs it."""
    return f"contract {contract}"


def probe_prompts(harness: hcp.Harness) -> tuple[tuple[ChatMessage, ...], ...]:
    """The probe requests as the router of a harness reads them."""
    return tuple(harness.route_prompt((ChatMessage(role="user", content=text),)) for text in PROBES)


def promote(home: Home, clock: Clock, name: str, replicas: Sequence[Replica], base: Path) -> LedgerRecord:
    """Put the candidate of an approved verdict into service.

    Where the verdict says that the champion fails more than the version before it, this is a rollback, and who approved
    it is its actor.

    Args:
        home: the deployment's folder.
        clock: the time.
        name: digest of the verdict.
        replicas: every server that has to know the new adapters; at least one.
        base: folder of the base model, for the shapes an adapter must have.

    Returns:
        The promotion's record; the one there is when this verdict was promoted before.

    Raises:
        RefusedError: no approval, a stale verdict, or an adapter that is not admitted or does not act.
        IntegrityError: something on disk is not what its name says.
    """
    ledger = Ledger(home.ledger, clock)
    done = _done(home, clock, ledger, name)
    if done is not None:
        return done
    approval = ledger.last(lambda one: one.kind == "approval" and one.input == name)
    said = Approval.model_validate(approval.body) if approval else None
    if said is None or said.decision is not Decision.APPROVE:
        raise RefusedError(
            f"verdict {name[:12]} has no approval; answer it in the Prefect UI or with `rsi approve`"
        )
    found = verdict(home, name)
    return _act(home, clock, ledger, found, replicas, base, (said.approver, said.reason))


def go_back(home: Home, clock: Clock, name: str, replicas: Sequence[Replica], base: Path) -> LedgerRecord:
    """Put the version before back into service on a verdict over live failures alone, as a contract may want it.

    Its actor is the contract; the reason is what the verdict says. Parameters are those of `promote`.

    Raises:
        RefusedError: the verdict is another one, stale, or an adapter is not admitted or does not act.
        IntegrityError: something on disk is not what its name says.
    """
    found = verdict(home, name)
    if not found.goes_back or found.judgement is not Judgement.PASS:
        raise RefusedError(f"verdict {name[:12]} does not say that the champion fails more; ask a person")
    ledger = Ledger(home.ledger, clock)
    done = _done(home, clock, ledger, name)
    if done is not None:
        return done
    reason = "; ".join(one.text for one in found.clauses)
    return _act(home, clock, ledger, found, replicas, base, (contract_actor(found.contract), reason))


def _done(home: Home, clock: Clock, ledger: Ledger, name: str) -> LedgerRecord | None:
    """The record that this verdict led to, if it did."""
    done = ledger.last(lambda one: one.kind in ("promotion", "rollback") and one.input == name)
    if done is None:
        return None
    now = champion.point(home, clock)
    if now != done.output:
        raise RefusedError(
            f"verdict {name[:12]} was promoted before, and {now[:12]} has replaced its version since; "
            "run the gate again"
        )
    return done


def _act(
    home: Home,
    clock: Clock,
    ledger: Ledger,
    found: Verdict,
    replicas: Sequence[Replica],
    base: Path,
    by: tuple[str, str],
) -> LedgerRecord:
    """Publish a verdict's candidate and move the pointer; `by` is who wants it and why."""
    kind = "rollback" if found.goes_back else "promotion"
    if found.champion != champion.current(ledger):
        raise RefusedError(
            f"stale: verdict {found.digest[:12]} compares with {found.champion[:12]}, which is no longer in service"
        )
    candidate = versions.load(home, found.candidate)
    effects = _publish(home, candidate, versions.load(home, found.champion), replicas, base)
    faults.point("promote.before_record")
    record = champion.move(
        home,
        clock,
        kind,
        replaces=found.champion,
        to=found.candidate,
        evidence=found.digest,
        body={"effects": effects, **({"actor": by[0], "reason": by[1]} if found.goes_back else {})},
    )
    faults.point("promote.after_record")
    return record


def rollback(
    home: Home,
    clock: Clock,
    to: str | None,
    actor: str,
    reason: str,
    replicas: Sequence[Replica],
    base: Path,
) -> LedgerRecord:
    """Put an earlier champion back into service, the same way as a promotion.

    `to` is a version's digest; None means the parent of the one in service.

    Raises:
        RefusedError: it was never in service, or it is in service now.
        ContractError: no actor or no reason was given.
    """
    if not actor.strip() or not reason.strip():
        raise ContractError("a rollback needs an actor and a reason (--actor, --reason)")
    ledger = Ledger(home.ledger, clock)
    now = champion.point(home, clock)
    served = {str(record.output) for record in champion.moves(ledger)}
    target = to or versions.load(home, now).parent
    if target is None:
        raise RefusedError(f"{now[:12]} is the first version in service here; there is nothing to go back to")
    if target == now:
        raise RefusedError(f"{now[:12]} is in service now")
    if target not in served:
        raise RefusedError(
            f"version {target[:12]} was never in service; only an earlier champion can come back"
        )
    effects = _publish(home, versions.load(home, target), versions.load(home, now), replicas, base)
    faults.point("rollback.before_record")
    return champion.move(
        home,
        clock,
        "rollback",
        replaces=now,
        to=target,
        evidence=None,
        body={"actor": actor, "reason": reason, "effects": effects},
    )


def _publish(
    home: Home, version: Version, serving: Version, replicas: Sequence[Replica], base: Path
) -> dict[str, list[list[float]]]:
    """Admit, load and probe every adapter that the serving version does not have; adapter -> (effect, gap)s."""
    if version.base != serving.base:
        raise RefusedError(f"another base ({version.base[:12]}) cannot be put into service while engines run")
    if not replicas:
        raise ContractError(
            "no engine to publish to: start a gateway with `rsi serve`, or publish to a local one"
        )
    known = set(serving.adapters.values())
    effects: dict[str, list[list[float]]] = {}
    for role, name in sorted(version.adapters.items()):
        if name in known:
            continue
        if not name.startswith(f"{role}-"):
            raise IntegrityError(f"version {version.digest[:12]} names adapter {name} for role {role}")
        adapter = adapters.admit(home, name, version.base, adapters.shapes(base))
        card = adapters.card(home, name)
        harness = hcp.load(home.harnesses, card.harness)
        found = publish(
            replicas,
            name,
            adapters.folder(home, adapter.name),
            probe_prompts(harness),
            harness.words,
            card.probe,
        )
        effects[name] = [[round(one.effect, 6), round(one.disagreement, 6)] for one in found]
    return effects
