"""What a night would do, and what it would take by the figures of the nights before it."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from statistics import median

from rsi.gate.spent import took
from rsi.ids import Night
from rsi.night import STAGES, made
from rsi.ports import SystemClock
from rsi.prices import Prices
from rsi.record import Record
from rsi.records import LedgerRecord
from rsi.registry import champion, versions
from rsi.settings import Deployment, Home
from rsi.store.files import size_of
from rsi.store.ledger import Ledger

LOOKED_AT = 5
"""Nights before, the newest that took a stage from beginning to end."""


class Plan(Record):
    """A night that has not run."""

    night: str
    inbox_files: int
    stages_done: tuple[str, ...]
    stages_to_run: tuple[str, ...]
    role: str | None
    steps: int
    answers: int
    contract: str
    nights_looked_at: int
    """How many nights before it the following is taken from; 0: nothing is known."""
    seconds: dict[str, float]
    """Stage that is to run -> median seconds of it in those nights."""
    usd: float | None
    """Of training, at `update.budget.usd_an_hour`; null where that is 0 or no time is known."""
    gate_usd: float | None
    """Of the gate: its time where the engine is paid by the hour, else as many tokens as in the last of those nights;
    null where no price or neither is known."""
    disk_bytes: int | None
    """What the last of those nights left in the home; null where that is not known."""

    @property
    def whole_s(self) -> float | None:
        """All stages that are to run; None where one is not known."""
        known = set(self.stages_to_run) <= self.seconds.keys()
        return sum(self.seconds.values()) if known and self.stages_to_run else None


def plan(home: Home, deployment: Deployment, night: Night) -> Plan:
    """Look at the home; nothing is written."""
    ledger = Ledger(home.ledger, SystemClock())
    done = tuple(stage for stage in STAGES if made(ledger, night, stage))
    spent = _spent(ledger.records())
    to_run = tuple(stage for stage in STAGES if stage not in done)
    seconds = {stage: float(median(spent[stage][-LOOKED_AT:])) for stage in to_run if spent.get(stage)}
    update, an_hour = deployment.update, deployment.update.budget.usd_an_hour
    files = home.inbox.rglob("*") if home.inbox.is_dir() else ()
    return Plan(
        night=night,
        inbox_files=sum(path.is_file() for path in files),
        stages_done=done,
        stages_to_run=to_run,
        role=deployment.night.role,
        steps=update.steps,
        answers=update.steps * update.prompts * update.samples,
        contract=deployment.contract_of(deployment.night.role),
        nights_looked_at=min(max(map(len, spent.values()), default=0), LOOKED_AT),
        seconds=seconds,
        usd=an_hour * seconds["update"] / 3600 if an_hour and "update" in seconds else None,
        gate_usd=_asking(home, ledger, deployment.answers_cost(), seconds.get("gate")),
        disk_bytes=_left(home, ledger),
    )


def _spent(records: Iterable[LedgerRecord]) -> Mapping[str, list[float]]:
    """Seconds of each stage that ran, oldest night first; from the record before it in its night."""
    before: dict[str, datetime] = {}
    found: dict[str, list[float]] = {}
    for one in records:
        if one.night is None or one.kind not in ("night", "stage"):
            continue
        now = datetime.fromisoformat(one.at)
        if one.kind == "stage" and one.stage and one.night in before:
            found.setdefault(one.stage, []).append((now - before[one.night]).total_seconds())
        before[one.night] = now
    return found


def _asking(home: Home, ledger: Ledger, prices: Prices, seconds: float | None) -> float | None:
    """What the answers of a gate cost that is still to run; None where nobody can tell."""
    if prices.usd_an_hour is not None and seconds is not None:
        return prices.of(seconds, None, None)
    judged = ledger.last(lambda one: (one.kind, one.stage) == ("stage", "gate"))
    if seconds is None or judged is None or judged.output is None:
        return None
    known = [one.usd(prices) for arms in took(home, judged.output).values() for one in arms]
    # What the engine tells no tokens of, such as routes, has no price.
    return sum(one for one in known if one is not None) if any(one is not None for one in known) else None


def _left(home: Home, ledger: Ledger) -> int | None:
    """Bytes of what the last night that came to a verdict made: bank, job, adapter, verdict."""
    judged = ledger.last(lambda one: (one.kind, one.stage) == ("stage", "gate"))
    if judged is None or judged.night is None:
        return None
    outputs = [made(ledger, judged.night, stage) for stage in ("expand", "gate")]
    places = [root / name for root, name in zip((home.banks, home.verdicts), outputs, strict=True) if name]
    candidate = made(ledger, judged.night, "update")
    known = versions.load(home, champion.genesis(ledger)).adapters
    if candidate:
        adapters = set(versions.load(home, candidate).adapters.values()) - set(known.values())
        places += [home.adapters / name for name in adapters]
    jobs = sorted(home.jobs.glob("*/complete.json"), key=lambda path: path.stat().st_mtime)
    places += [path.parent for path in jobs[-1:]]
    return sum(size_of(place) for place in places)
