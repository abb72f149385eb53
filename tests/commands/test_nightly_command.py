"""`rsi nightly` and `rsi cancel`: what a night would take, a clock time to stop at, and an end by a person."""

import multiprocessing
import signal
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
import pytest

from rsi.commands import nightly
from rsi.errors import ContractError
from rsi.gate.spent import keep
from rsi.prices import Prices
from rsi.report.evidence import Took
from rsi.settings import Deployment, Home
from rsi.store.ledger import Ledger
from rsi.store.locks import hold
from tests import night_made
from tests.commands.spoken import Terminal
from tests.made import FixedClock


@pytest.fixture
def ready(home: Home, tiny_base: Path) -> Home:
    """A tiny home with traces in the inbox."""
    return night_made.make_home(home.root, tiny_base)


def nights(home: Home, *seconds: int) -> None:
    """A night for each of these, with that many seconds of update and a fixed time for the rest."""
    clock = FixedClock()
    ledger = Ledger(home.ledger, clock)
    for at, update in enumerate(seconds):
        name = f"2026-01-{at + 2:02}"
        ledger.append("night", night=name, output="0" * 64, body={"ordinal": 1})
        for stage, spent in {"discover": 10, "expand": 20, "update": update, "gate": 40}.items():
            clock.move(seconds=spent)
            ledger.append("stage", night=name, stage=stage, input="0" * 64, output=f"{at}{stage}")
        ledger.append("end", night=name, body={"reason": "done", "judgement": None})
        clock.move(hours=20)


def test_a_dry_run_says_what_the_nights_before_took(terminal: Terminal, ready: Home, monkeypatch) -> None:
    """Median seconds by stage, cost by the price of an hour, and nothing written."""
    monkeypatch.setattr("rsi.commands.plan._left", lambda home, ledger: 12_000_000)
    plain = orjson.loads(Deployment.read(ready.deployment_file).model_dump_json())
    plain["update"]["budget"]["usd_an_hour"] = 36.0
    Deployment.model_validate(plain).write(ready.deployment_file)
    nights(ready, 100, 300, 200)
    before = ready.ledger.read_bytes()

    found = orjson.loads(terminal.ok("nightly", "--dry-run", "--json"))

    assert found["seconds"] == {"discover": 10.0, "expand": 20.0, "update": 200.0, "gate": 40.0}
    assert (found["seconds_in_all"], found["nights_looked_at"]) == (270.0, 3)
    assert found["usd"] == pytest.approx(2.0)
    assert found["inbox_files"] == 1
    said = terminal.ok("nightly", "--dry-run")
    assert (
        "time: about 4 min: discover 10 s, expand 20 s, update 3 min, gate 40 s (median of the last 3 nights)"
        in said
    )
    assert found["gate_usd"] == pytest.approx(0.4), "a local engine answers on the machine that trains"
    assert "cost: $2.00 of training, $0.40 of the gate's answers" in said
    assert "disk: about 12 MB" in said
    assert ready.ledger.read_bytes() == before
    assert not ready.store.exists()


def test_an_engine_that_is_paid_by_token_costs_what_the_last_gate_took(
    terminal: Terminal, ready: Home, monkeypatch
) -> None:
    """Tokens of both versions on the suites that the engine tells them of; training has no price here."""
    monkeypatch.setattr("rsi.commands.plan._left", lambda home, ledger: None)
    prices = Prices(usd_a_million_read=10.0, usd_a_million_written=40.0)
    Deployment.read(ready.deployment_file).model_copy(update={"prices": prices}).write(ready.deployment_file)
    nights(ready, 100)
    folder = ready.verdicts / "0gate"
    folder.mkdir(parents=True)
    told = Took(answers=9, seconds=1.0, read=20_000, written=5_000)
    silent = told.model_copy(update={"read": None, "written": None})
    keep(folder, {"easy/v1": (told, told), "routing/v1": (silent, silent)})

    found = orjson.loads(terminal.ok("nightly", "--dry-run", "--json"))

    assert (found["usd"], found["gate_usd"]) == (None, pytest.approx(0.8))
    assert "cost: $0.80 of the gate's answers" in terminal.ok("nightly", "--dry-run")


def test_before_a_first_night_nothing_is_made_up(terminal: Terminal, ready: Home) -> None:
    """What would run, and that the rest is not known."""
    said = terminal.ok("nightly", "--dry-run")

    assert "then run discover, expand, update, gate" in said
    assert "not known before a first night" in said


def test_a_clock_time_is_the_next_one() -> None:
    """Today's, or tomorrow's where that has passed; anything else is refused."""
    now = datetime(2026, 1, 2, 23, 30, tzinfo=UTC)

    assert nightly.moment("23:45", now) == now + timedelta(minutes=15)
    assert nightly.moment("06:30", now) == datetime(2026, 1, 3, 6, 30, tzinfo=UTC)
    with pytest.raises(ContractError, match="06:30"):
        nightly.moment("six", now)


def test_a_night_stops_at_its_clock_time_and_says_how_to_go_on(
    terminal: Terminal, ready: Home, monkeypatch
) -> None:
    """In the middle of whatever it does; exit code 75, and the alarm is off again."""
    monkeypatch.setattr(nightly, "moment", lambda said, now: datetime.now(UTC) + timedelta(seconds=0.2))
    monkeypatch.setattr("rsi.night.run", lambda *_: time.sleep(60))
    before = signal.getsignal(signal.SIGALRM)

    done = terminal("nightly", "--night", "2026-01-02", "--until", "06:00")

    assert done.code == 75
    assert "`rsi nightly --night 2026-01-02` goes on" in done.err
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is before


def _works(home: Home, ready) -> None:
    with hold(home.night_lock, "night 2026-01-02", "today"):
        ready.set()
        time.sleep(240)


def test_6_a_cancelled_night_is_stopped_and_ends_with_who_and_why(terminal: Terminal, ready: Home) -> None:
    """Its process is interrupted; the night is over, and so is cancelling it again."""
    Ledger(ready.ledger, FixedClock()).append("night", night="2026-01-02", body={"ordinal": 1})
    context = multiprocessing.get_context("spawn")
    begun = context.Event()
    process = context.Process(target=_works, args=(ready, begun))
    process.start()
    assert begun.wait(60)

    said = orjson.loads(terminal.ok("cancel", "--actor", "ada", "--reason", "wrong data", "--json"))
    process.join(60)

    assert (said["night"], said["stopped"]) == ("2026-01-02", True)
    assert process.exitcode not in (None, 0)
    end = Ledger(ready.ledger, FixedClock()).records()[-1]
    assert (end.kind, end.body["reason"]) == ("end", "cancelled by ada: wrong data")
    assert "no night has begun" in terminal.refused("cancel", "--actor", "ada", "--reason", "again")


def test_another_night_is_not_cancelled_by_mistake(terminal: Terminal, ready: Home) -> None:
    """Where the lock is another's, nobody is told to stop."""
    Ledger(ready.ledger, FixedClock()).append("night", night="2026-01-02", body={"ordinal": 1})
    with hold(ready.night_lock, "night 2026-01-03", "today"):
        done = terminal("cancel", "--night", "2026-01-02", "--actor", "ada", "--reason", "why")

    assert done.code == 75
    assert "night 2026-01-03" in done.err
