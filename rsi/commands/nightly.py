"""Whole nights: run one, say what it would take, stop it at a clock time, cancel it."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import orjson
import typer

from rsi.commands.loop import NightOption, next_night
from rsi.commands.say import Json, as_json, line
from rsi.errors import BusyError, ContractError, TransientError
from rsi.ids import Night, night
from rsi.ports import SystemClock
from rsi.records import Judgement
from rsi.report.progress import TerminalProgress
from rsi.report.words import duration, usd
from rsi.settings import Deployment, Home
from rsi.store.ledger import Ledger
from rsi.store.locks import hold, holder

if TYPE_CHECKING:
    from rsi.commands.plan import Plan

PATIENCE_S = 120.0
"""How long a night that was told to stop may take over it."""


class OutOfTimeError(BaseException):
    """The clock time is there at which the night was to stop. Nothing but the command itself may catch it."""


def nightly(
    night_name: NightOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would run and what it takes, and change nothing.")
    ] = False,
    until: Annotated[
        str | None, typer.Option(help="HH:MM (UTC): stop then; the same command goes on later.")
    ] = None,
    adapter: Annotated[
        Path | None,
        typer.Option(
            help="Folder of an adapter that was trained elsewhere, for tonight's role; nothing is trained."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Run one whole night without Prefect: discover, expand, update, gate, and a request for approval."""
    from rsi import night as loop
    from rsi.world import real

    home = Home.find()
    deployment = Deployment.read(home.deployment_file)
    name = night(night_name) if night_name else next_night(home)
    stop = moment(until, datetime.now(UTC)) if until else None
    if dry_run:
        from rsi.commands.plan import plan

        _say(plan(home, deployment, name), home, json)
        return
    world = real(deployment, TerminalProgress())
    if adapter is not None:
        from rsi.update.brought import brought

        world = replace(world, trainer=brought(adapter.resolve()))
    try:
        with stopping(stop):
            ending = loop.run(home, deployment, world, name)
    except OutOfTimeError:
        raise TransientError(
            f"night {name} stopped at {until} UTC, as it was to; `rsi nightly --night {name}` goes on where it was"
        ) from None
    if json:
        as_json(ending._asdict())
    else:
        line(f"night {ending.night}: {ending.reason}")
        if ending.judgement == Judgement.PASS.value:
            line(f"read it with `rsi report {str(ending.verdict)[:8]}`, answer it with `rsi approve`")
    if ending.judgement not in (None, Judgement.PASS.value):
        raise typer.Exit(1)


def moment(said: str, now: datetime) -> datetime:
    """The next time that the clock (UTC) shows HH:MM.

    Raises:
        ContractError: it is no time of a day.
    """
    try:
        time_of_day = datetime.strptime(said, "%H:%M").time()
    except ValueError:
        raise ContractError(f"--until {said!r} is no time of a day, such as 06:30 (UTC)") from None
    at = datetime.combine(now.date(), time_of_day, UTC)
    return at if at > now else at + timedelta(days=1)


@contextmanager
def stopping(at: datetime | None) -> Iterator[None]:
    """Break off what runs inside at a moment; what it has written by then is whole, as after a kill."""
    if at is None:
        yield
        return

    def stop(number: int, _: FrameType | None) -> None:
        raise OutOfTimeError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, max((at - datetime.now(UTC)).total_seconds(), 0.001))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def cancel(
    night_name: Annotated[
        str | None, typer.Option("--night", help="The last one that has not ended, by default.")
    ] = None,
    actor: Annotated[str, typer.Option(prompt="Your name", help="Who ends it.")] = "",
    reason: Annotated[str, typer.Option(prompt="Reason", help="Why.")] = "",
    json: Json = False,
) -> None:
    """End a night for good: its process is told to stop, and the ledger says who ended it and why."""
    from rsi import night as loop
    from rsi.world import real

    home = Home.find()
    if not actor.strip() or not reason.strip():
        raise ContractError("to cancel a night takes an actor and a reason (--actor, --reason)")
    ledger = Ledger(home.ledger, SystemClock())
    over = {one.night for one in ledger if one.kind == "end"}
    going = [str(one.night) for one in ledger if one.kind == "night" and one.night not in over]
    name = night_name or (going[-1] if going else None)
    if name is None or name not in going:
        raise ContractError(
            f"night {name} is over, or never began" if name else "no night has begun and not ended"
        )
    stopped = _stop(home, name)
    deployment = Deployment.read(home.deployment_file)
    world = real(deployment)
    with hold(home.night_lock, f"cancel {name}", world.clock.now().isoformat(timespec="seconds")):
        ending = loop.end_quietly(home, world, Night(name), f"cancelled by {actor.strip()}: {reason.strip()}")
    if json:
        as_json({**ending._asdict(), "stopped": stopped})
        return
    line(f"night {ending.night}: {ending.reason}")


def _stop(home: Home, name: str) -> bool:
    """Have the process that works on a night end, and wait for it; whether there was one.

    Raises:
        BusyError: another night holds the lock, or its process does not stop.
    """
    deadline = time.monotonic() + PATIENCE_S
    told = False
    while True:
        try:
            with hold(home.night_lock, f"cancel {name}", datetime.now(UTC).isoformat(timespec="seconds")):
                return told
        except BusyError:
            who = holder(home.night_lock)
        if not who.startswith(f"night {name} "):
            raise BusyError(f"the night lock is held by {who}; nothing was done")
        if not told:
            with suppress(ProcessLookupError):
                os.kill(int(orjson.loads(home.night_lock.read_bytes())["pid"]), signal.SIGTERM)
            told = True
        if time.monotonic() > deadline:
            raise BusyError(f"{who} was told to stop and does not; end its process, then run this again")
        time.sleep(0.1)


def _say(found: "Plan", home: Home, json: bool) -> None:
    if json:
        as_json({**found.model_dump(mode="json"), "seconds_in_all": found.whole_s})
        return
    to_run = ", ".join(found.stages_to_run)
    line(
        f"night {found.night} would read {found.inbox_files} files of {home.inbox}, then run {to_run or 'nothing'}"
    )
    role = found.role or "as the failure modes decide"
    line(
        f"update: role {role}, at most {found.steps} steps ({found.answers} answers); gate: contract {found.contract}"
    )
    if not found.seconds:
        line("time, cost and disk: not known before a first night")
        return
    each = ", ".join(f"{stage} {duration(seconds)}" for stage, seconds in found.seconds.items())
    whole = f"about {duration(found.whole_s)}: " if found.whole_s is not None else ""
    line(f"time: {whole}{each} (median of the last {found.nights_looked_at} nights)")
    parts = [(found.usd, "of training"), (found.gate_usd, "of the gate's answers")]
    known = [f"{usd(dollars)} {what}" for dollars, what in parts if dollars is not None]
    line(f"cost: {', '.join(known) or 'no price is set'}")
    if found.disk_bytes is not None:
        line(f"disk: about {found.disk_bytes / 1e6:.0f} MB, as the last night left")
