"""The night, whole and real, on a tiny model."""

import subprocess
import sys

import pytest

from rsi.errors import ContractError, RefusedError
from rsi.night import begin, lock, run
from rsi.records import Approval, Decision
from rsi.registry import approval, champion, versions
from rsi.registry.verify import verify
from rsi.settings import Deployment
from rsi.store.database import store_batch
from rsi.store.ledger import Ledger
from rsi.store.locks import hold
from tests import night_made
from tests.made import FixedClock


@pytest.fixture(scope="module")
def finished(tmp_path_factory, tiny_base):
    """A home whose first night ran, with the contracts it was gated under."""
    root = tmp_path_factory.mktemp("night")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RSI_CONTRACTS", str(night_made.contracts(root / "contracts")))
        home = night_made.make_home(root / "home", tiny_base)
        yield home, night_made.run_night(home, tiny_base)


def test_a_night_leaves_one_record_a_stage_and_a_verdict(finished):
    """Each stage's input is what the stage before made."""
    home, ending = finished
    stages = [one for one in Ledger(home.ledger, FixedClock()) if one.kind == "stage"]

    assert [one.stage for one in stages] == ["discover", "expand", "update", "gate"]
    assert [one.input for one in stages[1:]] == [one.output for one in stages[:-1]]
    assert ending.verdict == stages[-1].output
    assert approval.verdict(home, ending.verdict).judgement.value == ending.judgement


def test_the_role_and_its_reason_are_in_the_ledger(finished):
    """Chosen by the modes that the bank covers, before anything is trained."""
    home, _ = finished
    records = Ledger(home.ledger, FixedClock()).records()
    (choice,) = (one for one in records if one.kind == "role")

    assert choice.body["role"] == "L0"
    assert "its modes weigh" in str(choice.body["because"])
    assert choice.input == next(one.output for one in records if one.stage == "expand")
    assert choice.seq < next(one.seq for one in records if one.stage == "update")


def test_every_invariant_holds_after_a_night(finished):
    """`rsi verify` has nothing to say."""
    home, _ = finished

    assert verify(home, FixedClock()).findings == ()


def test_11_the_same_night_again_changes_nothing(finished, tiny_base):
    """It ends as it ended."""
    home, first = finished
    before = home.ledger.read_bytes()

    again = night_made.run_night(home, tiny_base)

    assert again == first
    assert home.ledger.read_bytes() == before


def test_a_night_with_nothing_new_says_so_and_leaves_no_record(finished, tiny_base):
    """The next night found no trace, score or correction that the last did not have."""
    home, _ = finished
    before = home.ledger.read_bytes()

    quiet = run(home, Deployment.read(home.deployment_file), night_made.world(tiny_base), "2026-01-03")

    assert "nothing new since night 2026-01-02" in quiet.reason
    assert home.ledger.read_bytes() == before


def test_a_second_night_at_the_same_time_ends_at_once_naming_the_holder(finished, tiny_base):
    """No error: somebody else is at work."""
    home, _ = finished
    with hold(home.night_lock, "night 2026-01-09", "now"):
        second = run(home, Deployment.read(home.deployment_file), night_made.world(tiny_base), "2026-01-10")

    assert "held by night 2026-01-09" in second.reason
    assert second.verdict is None


def test_too_few_failures_make_a_quiet_night(tmp_path, tiny_base, monkeypatch):
    """The reason names both numbers; the record of the end is kept."""
    monkeypatch.setenv("RSI_CONTRACTS", str(night_made.contracts(tmp_path / "contracts")))
    home = night_made.make_home(tmp_path / "home", tiny_base)
    deployment = Deployment.model_validate(
        {**night_made.settings(tiny_base).model_dump(), "night": {"min_failures": 500}}
    )

    quiet = run(home, deployment, night_made.world(tiny_base), night_made.NIGHT)

    assert quiet.judgement is None
    assert "a night trains from 500 on" in quiet.reason
    assert list(Ledger(home.ledger, FixedClock()))[-1].kind == "end"


def test_ingest_and_approval_work_while_a_night_trains(finished, tmp_path):
    """The night lock keeps other nights out and nobody else."""
    home, _ = finished
    (tmp_path / "late.jsonl").write_text(
        '{"id": "late", "messages": [{"role": "user", "content": "still there?"}]}\n'
    )
    with hold(home.night_lock, "night 2026-01-09", "now"):
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "rsi.cli",
                "--home",
                str(home.root),
                "ingest",
                str(tmp_path / "late.jsonl"),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        nobody = Approval(
            verdict="0" * 64, decision=Decision.APPROVE, approver="a", reason="b", via="command"
        )
        with pytest.raises(RefusedError, match="nobody asked"):
            approval.answer(home, FixedClock(), Deployment.read(home.deployment_file), nobody, "00000000")

    assert done.returncode == 0, done.stderr
    assert "1 records read = 1 loaded" in done.stdout


def test_the_champion_stays_until_somebody_promotes(finished):
    """A night by itself changes nothing in service."""
    home, _ = finished
    now = champion.current(Ledger(home.ledger, FixedClock()))

    assert versions.load(home, now).adapters == {}


def test_a_night_goes_on_only_under_the_settings_it_began_with(finished, tiny_base):
    """Its first record fixes them."""
    home, _ = finished
    deployment = Deployment.read(home.deployment_file)
    other = deployment.model_copy(update={"contract": "other/v1"})
    with lock(home, night_made.world(tiny_base), "2026-03-01"):
        night_made.traces(home.inbox, routed="L1")
        begin(home, deployment, night_made.world(tiny_base), "2026-03-01")

        with pytest.raises(ContractError, match="began under other settings"):
            begin(home, other, night_made.world(tiny_base), "2026-03-01")


def test_the_loops_own_probes_are_no_reason_for_another_night(tmp_path, tiny_base, monkeypatch):
    """AutoResearch leaves traces in the inbox, which the next night reads and stays quiet."""
    monkeypatch.setenv("RSI_CONTRACTS", str(night_made.contracts(tmp_path / "contracts")))
    home = night_made.make_home(tmp_path / "home", tiny_base)
    said = night_made.settings(tiny_base).model_dump()
    deployment = Deployment.model_validate(
        {**said, "research": {"calls": 4}, "update": {**said["update"], "steps": 1}}
    )

    run(home, deployment, night_made.world(tiny_base), night_made.NIGHT)
    assert list(home.inbox.glob("research-*.ndjson"))
    quiet = run(home, deployment, night_made.world(tiny_base), "2026-01-03")

    assert "nothing new since night 2026-01-02" in quiet.reason
    with store_batch(home, FixedClock(), "test") as connection:
        assert connection.execute("select count(*) from traces where origin = 'probe'").fetchall() == [(4,)]
