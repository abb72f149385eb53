"""The nightly flow against a real server: quiet, kept out, and whole with the tiny model."""

import shutil
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from flows.server import Server
from flows.watch import Watch
from rsi.ids import Night
from rsi.night import run
from rsi.ports import SystemClock
from rsi.records import LedgerRecord
from rsi.registry import approval
from rsi.settings import Deployment, Home
from rsi.store.ledger import Ledger
from rsi.store.locks import hold
from rsi.world import real
from tests.flows.flow_made import made_contracts, tiny_home, with_request
from tests.night_made import contracts

pytestmark = pytest.mark.flow


def _records(home: Home) -> tuple[LedgerRecord, ...]:
    return Ledger(home.ledger, SystemClock()).records()


def test_a_night_with_nothing_new_is_quiet_and_says_so(
    server: Server, tiny_base: Path, tmp_path: Path
) -> None:
    """Completed as Quiet with the reason, and no record."""
    from flows.nightly import nightly

    home = tiny_home(tmp_path / "home", tiny_base, with_traces=False)
    state = nightly(str(home.root), return_state=True)
    assert (state.type.value, state.name) == ("COMPLETED", "Quiet")
    assert "nothing new" in str(state.message)
    assert [one.kind for one in _records(home)] == ["genesis"]


def test_a_second_night_is_skipped_naming_the_holder(server: Server, tiny_base: Path, tmp_path: Path) -> None:
    """Completed as Skipped, at once; the night that runs is not touched. A single stage is kept out the same way."""
    from flows.nightly import nightly
    from flows.stages import discover

    home = tiny_home(tmp_path / "home", tiny_base, with_traces=True)
    with hold(home.night_lock, "night 2026-01-01", "2026-01-01T02:00:00+00:00"):
        for state in (
            nightly(str(home.root), "2026-01-02", return_state=True),
            discover(str(home.root), "2026-01-02", return_state=True),
        ):
            assert (state.type.value, state.name) == ("COMPLETED", "Skipped")
            assert "night 2026-01-01 (process " in str(state.message)
    assert [one.kind for one in _records(home)] == ["genesis"]


def test_63_a_whole_night_leaves_records_artifacts_and_a_verdict(
    server: Server, watch: Watch, tiny_base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four subflows, each with its record; scorecard, card and progress as artifacts; a second run finds it over."""
    from flows.nightly import nightly

    monkeypatch.setenv("RSI_CONTRACTS", str(contracts(tmp_path / "contracts")))
    home = tiny_home(tmp_path / "home", tiny_base, with_traces=True)
    state = nightly(str(home.root), "2026-01-02", return_state=True)
    assert state.type.value == "COMPLETED", state.message
    records = _records(home)
    assert [one.stage for one in records if one.kind == "stage"] == ["discover", "expand", "update", "gate"]
    ended = records[-1] if records[-1].kind == "end" else records[-2]
    assert state.message == ended.body["reason"]
    assert ended.output is not None
    assert state.name == ("Passed" if ended.body["judgement"] == "pass" else "Not passed")
    assert approval.verdict(home, ended.output).night == "2026-01-02"
    shown = httpx.post(f"{server.api_url}/artifacts/filter", json={}, timeout=30).json()
    assert {"card", "scorecard", "progress-update", "progress-discover"} <= {one["key"] for one in shown}
    assert "not on the card" not in next(one["data"] for one in shown if one["key"] == "card")
    again = nightly(str(home.root), "2026-01-02", return_state=True)
    assert (again.name, "is over" in str(again.message) or again.message == state.message) == ("Quiet", True)
    assert len(_records(home)) == len(records)


def test_22_with_and_without_prefect_a_night_gives_the_same_digests(
    server: Server, tiny_base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what it read, of every stage and of the verdict: from the same inbox, the same records but for their times."""
    from flows.nightly import nightly

    monkeypatch.setenv("RSI_CONTRACTS", str(contracts(tmp_path / "contracts")))
    flown = tiny_home(tmp_path / "flown", tiny_base, with_traces=True)
    plain = Home(tmp_path / "plain")
    shutil.copytree(flown.root, plain.root)

    state = nightly(str(flown.root), "2026-01-02", return_state=True)
    deployment = Deployment.read(plain.deployment_file)
    ended = run(plain, deployment, real(deployment), Night("2026-01-02"))

    assert (state.type.value, state.message) == ("COMPLETED", ended.reason)
    digests = [(one.kind, one.night, one.stage, one.input, one.output) for one in _records(flown)]
    assert digests == [(one.kind, one.night, one.stage, one.input, one.output) for one in _records(plain)]
    assert {"night", "stage", "ask", "end"} <= {one[0] for one in digests}


def test_a_night_starts_one_promotion_for_what_waits(
    served: str, watch: Watch, tiny_base: Path, tmp_path: Path
) -> None:
    """Also a quiet night, and a second one finds the run that is there."""
    from flows.nightly import nightly

    made = made_contracts(tmp_path / "contracts")
    home, verdict = with_request(tmp_path / "home", tiny_base, made)
    key = f"promote:{verdict.digest}"
    assert nightly(str(home.root), return_state=True).name == "Quiet"
    first = watch.keyed(key)
    assert first is not None
    assert nightly(str(home.root), return_state=True).name == "Quiet"
    second = watch.keyed(key)
    assert second is not None
    assert first.id == second.id


def test_8_a_scheduled_night_is_named_by_its_scheduled_date(
    server: Server, tiny_base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A late run belongs to the date it was scheduled for; one started by hand takes today's next night."""
    from datetime import UTC, datetime
    from types import SimpleNamespace

    from flows import nightly as module
    from rsi.ids import night

    home = tiny_home(tmp_path / "home", tiny_base, with_traces=False)
    late = SimpleNamespace(
        auto_scheduled=True, expected_start_time=datetime(2026, 3, 4, 2, tzinfo=UTC), id=uuid4()
    )
    monkeypatch.setattr(module, "FlowRunContext", SimpleNamespace(get=lambda: SimpleNamespace(flow_run=late)))
    assert module._scheduled(home) == "2026-03-04"
    late.auto_scheduled = False
    assert module._scheduled(home) == night(datetime.now(UTC))
