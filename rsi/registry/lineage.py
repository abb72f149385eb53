"""Where a version came from: version, adapter, job, bank, modes, and the traces its tasks were made from; and what
people and the gate said of it since."""

from collections.abc import Iterator, Sequence

from rsi.errors import ContractError
from rsi.ids import Digest
from rsi.records import LedgerRecord, Modes, Record, Task, Verdict
from rsi.registry import approval, champion, versions
from rsi.registry.jobs import training
from rsi.settings import Home
from rsi.store.ledger import Ledger
from rsi.tasks import bank

PREFIX = 6
"""Digits that name something."""


class Covered(Record):
    """A failure mode that tasks of a bank are about."""

    mode: str | None
    """Its id; null for tasks that are about none."""
    signature: str
    tasks: int
    traces: tuple[str, ...]
    """Ids of the traces they were made from, sorted."""


class Event(Record):
    """What the ledger says of a version, or of a verdict about it."""

    seq: int
    at: str
    kind: str
    """genesis, request, approval, refusal, promotion, rollback, watch."""
    verdict: str | None
    who: str | None
    """Approver or actor."""
    why: str
    """The reason that was given, or what was found."""


class Judged(Record):
    """A verdict on a version."""

    verdict: str
    night: str
    contract: str
    judgement: str


class Step(Record):
    """One version on the way back to genesis."""

    version: str
    served: bool
    """Whether it was ever in service."""
    parent: str | None
    harness: str
    adapters: dict[str, str]
    changed: tuple[str, ...]
    """What its parent does not have: names of adapters, and the harness's digest."""
    night: str | None
    """The night that made it; null for genesis and for a candidate made by hand."""
    verdict: str | None
    """The one that it was promoted by."""
    approver: str | None
    job: str | None
    """Digest of the job that trained the new adapter; null where there is none or its folder is gone."""
    warm_start: str | None
    """Adapter that the job began with."""
    bank: str | None
    tasks: int
    modes: tuple[str, ...]
    """Signatures of the failure modes its tasks cover."""
    covered: tuple[Covered, ...]
    """The same with tasks and traces, most tasks first."""
    traces: tuple[str, ...]
    """Ids of all traces its tasks were made from."""
    verdicts: tuple[Judged, ...]
    """All that were given on it."""
    events: tuple[Event, ...]
    """In the order of the ledger."""


def lineage(home: Home, ledger: Ledger, version: str) -> tuple[Step, ...]:
    """The version and its ancestors, youngest first.

    Raises:
        IntegrityError: a link of the chain is missing or changed on disk.
    """
    records, judged = ledger.records(), _verdicts(home)
    steps = []
    name: str | None = version
    while name is not None:
        step = _step(home, records, judged, name)
        steps.append(step)
        name = step.parent
    return tuple(steps)


def find(home: Home, ledger: Ledger, said: str) -> tuple[Digest, ...]:
    """Versions that a name means: `champion`, a version's digest, or all that hold an adapter, a harness or a bank.

    Of an adapter, a harness or a bank those come first that did not get it from their parent.

    Raises:
        ContractError: nothing or several things are called so.
    """
    if said == "champion":
        return (champion.current(ledger),)
    known = {path.stem: versions.load(home, path.stem) for path in sorted(home.versions.glob("*.json"))}
    things: dict[str, list[str]] = {}
    for name, version in known.items():
        for thing in (name, version.harness, *version.adapters.values()):
            things.setdefault(thing, []).append(name)
    for one in ledger:
        if one.kind == "stage" and one.stage == "update" and one.output in known and one.input:
            things.setdefault(one.input, []).append(one.output)
    meant = [thing for thing in things if thing.startswith(said)]
    if len(said) < PREFIX or len(meant) != 1:
        raise ContractError(
            f"{said!r} names {len(meant)} versions, adapters, harnesses and banks; give `champion`, or at least "
            f"{PREFIX} characters of one that `rsi lineage champion` or `rsi status` shows"
        )
    holders = set(things[meant[0]])
    return tuple(
        Digest(name) for name in sorted(holders, key=lambda name: (known[name].parent in holders, name))
    )


def _step(home: Home, records: Sequence[LedgerRecord], judged: Sequence[Verdict], name: str) -> Step:
    found = versions.load(home, name)
    before = versions.load(home, found.parent) if found.parent else None
    served = [one for one in records if one.kind in champion.MOVES and one.output == name]
    verdict = next((one.input for one in served if one.kind == "promotion"), None)
    events = tuple(_events(records, name, {one.digest for one in judged if one.candidate == name}))
    held = {*before.adapters.values(), before.harness} if before else set()
    new = sorted(set(found.adapters.values()) - held)
    job = next((one for one in training(home) if one.adapter in new), None)
    made = next(
        (one for one in records if (one.kind, one.stage, one.output) == ("stage", "update", name)), None
    )
    of = made.input if made else job.bank if job else None
    covered = _covered(home, records, of) if of else ()
    return Step(
        version=name,
        served=bool(served),
        parent=found.parent,
        harness=found.harness,
        adapters=found.adapters,
        changed=(*new, *([found.harness] if found.harness not in held else [])),
        night=made.night if made else None,
        verdict=verdict,
        approver=next((e.who for e in events if e.kind == "approval" and e.verdict == verdict), None),
        job=job.job if job else None,
        warm_start=job.warm_start if job else None,
        bank=of,
        tasks=sum(one.tasks for one in covered),
        modes=tuple(sorted(one.signature for one in covered if one.mode)),
        covered=covered,
        traces=tuple(sorted({trace for one in covered for trace in one.traces})),
        verdicts=tuple(
            Judged(verdict=one.digest, night=one.night, contract=one.contract, judgement=one.judgement.value)
            for one in judged
            if one.candidate == name and not one.goes_back
        ),
        events=events,
    )


def _verdicts(home: Home) -> tuple[Verdict, ...]:
    names = sorted(path.parent.name for path in home.verdicts.glob("[!.]*/verdict.json"))
    return tuple(sorted((approval.verdict(home, name) for name in names), key=lambda one: one.night))


def _events(records: Sequence[LedgerRecord], name: str, verdicts: set[str]) -> Iterator[Event]:
    for one in records:
        about = one.output == name and one.kind in champion.MOVES
        about |= one.input in verdicts and one.kind in ("request", "approval", "refusal")
        now = one.body.get("now") if one.kind == "watch" else None
        about |= isinstance(now, dict) and now.get("version") == name
        if not about:
            continue
        who = one.body.get("approver") or one.body.get("actor")
        said = one.body.get("why") or one.body.get("reason") or ""
        if isinstance(now, dict):
            worse = "fails more" if one.output else "not shown to fail more"
            said = f"{worse}: {now.get('failed')} of {now.get('counted')} failed"
        if one.kind == "approval":
            said = f"{one.body.get('decision')}: {said}"
        yield Event(
            seq=one.seq,
            at=one.at,
            kind=one.kind,
            verdict=one.output if one.kind == "watch" else one.input,
            who=str(who) if who else None,
            why=str(said),
        )


def _covered(home: Home, records: Sequence[LedgerRecord], of: str) -> tuple[Covered, ...]:
    """A bank's tasks by failure mode."""
    night = bank.manifest(home, of).night
    discovered = next((one.output for one in records if (one.stage, one.night) == ("discover", night)), None)
    signatures = {}
    if discovered:
        modes = Modes.parse((home.modes / f"{discovered}.json").read_bytes())
        signatures = {one.mode_id: one.signature for one in modes.modes}
    by_mode: dict[str | None, list[Task]] = {}
    for task in bank.load(home, of):
        by_mode.setdefault(task.mode_id, []).append(task)
    found = (
        Covered(
            mode=mode,
            signature=signatures.get(mode, mode) if mode else "no mode",
            tasks=len(tasks),
            traces=tuple(sorted({trace for task in tasks for trace in task.traces})),
        )
        for mode, tasks in by_mode.items()
    )
    return tuple(sorted(found, key=lambda one: (-one.tasks, one.signature)))
