"""The night: watch, discover, expand, update, gate, and a question to a person. The first file to read.

Each stage reads the digest that the stage before made, makes something named by its own digest, and leaves one
record in the ledger; a night that is killed and run again finds its records and goes on after the last. The
flows run these same functions, one a flow.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import NamedTuple

from rsi import faults
from rsi.context import Context, Start, World
from rsi.discover.stage import discover
from rsi.errors import BusyError, ContractError, QuietError, RefusedError
from rsi.expand.stage import expand
from rsi.gate.stage import judge
from rsi.gate.watch import watch
from rsi.ids import Digest, Night
from rsi.questions import State, Watched
from rsi.records import Judgement, LedgerRecord
from rsi.registry import approval, champion
from rsi.settings import Deployment, Home
from rsi.store.database import last_ordinal, newest, store_batch
from rsi.store.ledger import Ledger
from rsi.store.locks import hold
from rsi.store.snapshot import refresh
from rsi.traces.ingest import ingest
from rsi.update.stage import update


class Ending(NamedTuple):
    """How a night ended."""

    night: str
    verdict: str | None
    """Digest of the verdict; null for a quiet night."""
    judgement: str | None
    """pass, fail or cannot tell."""
    reason: str
    """One line for a person."""


Stage = Callable[[Context, Digest], Digest]

STAGES: dict[str, Stage] = {
    "discover": discover,
    "expand": expand,
    "update": update,
    "gate": judge,
}
"""In order; each takes the digest of what the one before it made (discover: of the night's start)."""


def run(home: Home, deployment: Deployment, world: World, night: Night) -> Ending:
    """One whole night under the night lock; a quiet ending where another night holds it.

    Raises:
        RefusedError: training diverged, or an adapter was not admitted; the night is over and its record says so.
    """
    try:
        with lock(home, world, night):
            try:
                context = begin(home, deployment, world, night)
                for stage in STAGES:
                    run_stage(context, stage)
                return close(context)
            except QuietError as quiet:
                return end_quietly(home, world, night, str(quiet))
            except RefusedError as refused:
                end_quietly(home, world, night, str(refused))
                raise
    except QuietError as busy:
        return Ending(night, None, None, str(busy))


@contextmanager
def lock(home: Home, world: World, night: Night) -> Iterator[None]:
    """Hold the night lock.

    Raises:
        QuietError: another night runs; the message names it.
    """
    with ExitStack() as stack:
        try:
            since = world.clock.now().isoformat(timespec="seconds")
            stack.enter_context(hold(home.night_lock, f"night {night}", since, any_thread=True))
        except BusyError as error:
            raise QuietError(str(error)) from None
        yield


def begin(home: Home, deployment: Deployment, world: World, night: Night) -> Context:
    """Ingest the inbox, watch the version in service, and fix the night's input; or find it fixed.

    Raises:
        QuietError: the night is over, nothing came in since the last one, or a person was asked whether the version
            before the champion comes back.
        ContractError: it began under another deployment file.
    """
    ledger = Ledger(home.ledger, world.clock)
    champion.point(home, world.clock)
    ended = _record(ledger, night, "end")
    if ended is not None:
        raise QuietError(f"night {night} is over: {ended.body['reason']}")
    begun = _record(ledger, night, "night")
    if begun is None:
        if home.inbox.is_dir():
            ingest(home, world.clock, [home.inbox], deployment=deployment, progress=world.progress)
        look_back(home, deployment, world, night)
        start = _start(home, deployment, world, ledger, night)
        begun = _append(home, world, "night", night=night, output=start.digest, body=start.model_dump())
    if begun.body["deployment"] != deployment.digest:
        raise ContractError(
            f"night {night} began under other settings (deployment {str(begun.body['deployment'])[:12]}, now "
            f"{deployment.digest[:12]}); put the deployment file back, or run another night (--night {night}.2)"
        )
    faults.point("night.after_begin")
    return Context(home, deployment, world, Start.model_validate(begun.body))


def look_back(home: Home, deployment: Deployment, world: World, night: str) -> Watched:
    """Watch the version in service; where the contract wants it, the version before is back when this returns.

    Raises:
        QuietError: a person was asked: a candidate made from the champion would be stale by tomorrow.
    """
    from rsi.serve.client import replicas

    found = watch(home, deployment, world, night, partial(replicas, home, world.engine))
    if found.state is State.ASKED:
        with suppress(BusyError):
            refresh(home, world.clock)
        raise QuietError(found.reason)
    return found


def _start(home: Home, deployment: Deployment, world: World, ledger: Ledger, night: Night) -> Start:
    with store_batch(home, world.clock, f"night {night}") as connection:
        ordinal = last_ordinal(connection)
        # The loop's own probes come in as traces too, and are no reason for another night.
        new = newest(connection, [one.value for one in deployment.traces.origins])
    over = {one.night for one in ledger if one.kind == "end"}
    before = ledger.last(lambda one: one.kind == "night" and one.night in over)
    modes = ledger.last(lambda one: one.kind == "stage" and one.stage == "discover")
    start = Start(
        night=night,
        champion=champion.current(ledger),
        ordinal=ordinal,
        deployment=deployment.digest,
        previous=modes.output if modes else None,
    )
    if new == 0 or (before is not None and new <= int(str(before.body["ordinal"]))):
        since = f"since night {before.night}" if before else f"in {home.inbox}"
        raise QuietError(f"nothing new {since}: no trace, score or correction arrived")
    return start


def run_stage(context: Context, stage: str) -> Digest:
    """Do one stage, or find it done; the digest of what it made.

    Raises:
        ContractError: there is no such stage, or the one before it has not run in this night.
        QuietError: the night should end here.
    """
    if stage not in STAGES:
        raise ContractError(f"no stage is called {stage!r}; there are {', '.join(STAGES)}")
    ledger, night = Ledger(context.home.ledger, context.world.clock), context.start.night
    before = list(STAGES)[: list(STAGES).index(stage)]
    taken = made(ledger, night, before[-1]) if before else context.start.digest
    if taken is None:
        raise ContractError(f"night {night} has no {before[-1]} yet; run that stage first")
    there = ledger.last(
        lambda one: (one.kind, one.night, one.stage, one.input) == ("stage", night, stage, taken)
    )
    if there is not None and there.output is not None:
        return Digest(there.output)
    output = STAGES[stage](context, taken)
    _append(context.home, context.world, "stage", night=night, stage=stage, input=taken, output=output)
    return output


def made(ledger: Ledger, night: str, stage: str) -> Digest | None:
    """What a stage of a night made, or None while it has not run."""
    record = ledger.last(lambda one: (one.kind, one.night, one.stage) == ("stage", night, stage))
    return Digest(record.output) if record and record.output else None


def close(context: Context) -> Ending:
    """Ask a person about a passed verdict, and end the night."""
    home, world, night = context.home, context.world, context.start.night
    ledger = Ledger(home.ledger, world.clock)
    name = made(ledger, night, "gate")
    if name is None:
        raise ContractError(f"night {night} has no verdict yet")
    found = approval.verdict(home, name)
    if found.judgement is Judgement.PASS:
        approval.open_request(home, world.clock, context.deployment, found)
        reason = f"verdict {name[:8]} passed; a person was asked"
    else:
        failed = [one.name for one in found.clauses if one.judgement is not Judgement.PASS]
        reason = f"verdict {name[:8]}: {found.judgement.value} ({', '.join(failed)}); the champion stays"
    return _end(home, world, Night(night), reason, name, found.judgement.value)


def end_quietly(home: Home, world: World, night: Night, reason: str) -> Ending:
    """End a night that has no candidate; one that did not even begin leaves no record."""
    ledger = Ledger(home.ledger, world.clock)
    if _record(ledger, night, "night") is None:
        return Ending(night, None, None, reason)
    return _end(home, world, night, reason, None, None)


def _end(
    home: Home, world: World, night: Night, reason: str, verdict: str | None, judgement: str | None
) -> Ending:
    ended = _record(Ledger(home.ledger, world.clock), night, "end")
    if ended is None:
        body: dict[str, object] = {"reason": reason, "judgement": judgement}
        ended = _append(home, world, "end", night=night, output=verdict, body=body)
    with suppress(BusyError):
        refresh(home, world.clock)
    said = ended.body.get("judgement")
    return Ending(night, ended.output, str(said) if said else None, str(ended.body["reason"]))


def _record(ledger: Ledger, night: str, kind: str) -> LedgerRecord | None:
    return ledger.last(lambda one: one.kind == kind and one.night == night)


def _append(home: Home, world: World, kind: str, **what: object) -> LedgerRecord:
    with hold(
        home.store_lock, f"night {what.get('night')}", world.clock.now().isoformat(timespec="seconds"), 30
    ):
        return Ledger(home.ledger, world.clock).append(kind, **what)  # type: ignore[arg-type]
