"""Where a version came from: version, adapter, bank, tasks, and the traces they were made from."""

import orjson

from rsi.records import Modes, Record
from rsi.registry import champion, versions
from rsi.settings import Home
from rsi.store.ledger import Ledger
from rsi.tasks import bank


class Step(Record):
    """One version on the way back to genesis."""

    version: str
    served: bool
    """Whether it was ever in service."""
    parent: str | None
    harness: str
    adapters: dict[str, str]
    night: str | None
    """The night that made it; null for genesis and for a harness-only candidate made by hand."""
    verdict: str | None
    approver: str | None
    bank: str | None
    tasks: int
    modes: tuple[str, ...]
    """Signatures of the failure modes its tasks cover."""
    traces: tuple[str, ...]
    """Ids of all traces its tasks were made from."""


def lineage(home: Home, ledger: Ledger, version: str) -> tuple[Step, ...]:
    """The version and its ancestors, youngest first.

    Raises:
        IntegrityError: a link of the chain is missing or changed on disk.
    """
    steps = []
    name: str | None = version
    while name is not None:
        step = _step(home, ledger, name)
        steps.append(step)
        name = step.parent
    return tuple(steps)


def _step(home: Home, ledger: Ledger, name: str) -> Step:
    found = versions.load(home, name)
    records = ledger.records()
    served = [one for one in records if one.kind in champion.MOVES and one.output == name]
    verdict = next((one.input for one in served if one.kind == "promotion"), None)
    approvals = [
        one.body.get("approver") for one in records if one.kind == "approval" and one.input == verdict
    ]
    made = next(
        (one for one in records if (one.kind, one.stage, one.output) == ("stage", "update", name)), None
    )
    tasks = bank.load(home, made.input) if made and made.input else ()
    discovered = next(
        (one.output for one in records if made and (one.stage, one.night) == ("discover", made.night)), None
    )
    signatures = {}
    if discovered:
        modes = Modes.model_validate(orjson.loads((home.modes / f"{discovered}.json").read_bytes()))
        signatures = {one.mode_id: one.signature for one in modes.modes}
    return Step(
        version=name,
        served=bool(served),
        parent=found.parent,
        harness=found.harness,
        adapters=found.adapters,
        night=made.night if made else None,
        verdict=verdict,
        approver=str(approvals[0]) if approvals and verdict else None,
        bank=made.input if made else None,
        tasks=len(tasks),
        modes=tuple(sorted({signatures.get(one.mode_id, one.mode_id) for one in tasks if one.mode_id})),
        traces=tuple(sorted({trace for one in tasks for trace in one.traces})),
    )
