"""Where a demo may begin, and where one that was stopped goes on."""

from pathlib import Path

import pytest

from flows.demo_home import NAME, Demo, prepare
from flows.replay import Replay
from rsi.algorithm import Update
from rsi.errors import ContractError
from rsi.settings import Deployment, Home
from rsi.store.files import write_whole
from rsi.store.ledger import Ledger
from tests.made import FixedClock

UPDATE = Update.model_validate({"steps": 3})


@pytest.fixture
def demo(home: Home) -> Demo:
    """A demo that has not begun."""
    return Demo(home, Deployment(name=NAME, update=UPDATE), count=20, wait=False, clock=FixedClock())


def test_a_home_of_something_else_is_left_alone(home: Home) -> None:
    """Nothing is written; the line says what to do."""
    Deployment(name="mine").write(home.deployment_file)
    before = home.deployment_file.read_bytes()
    with pytest.raises(ContractError, match="belongs to deployment 'mine'; set RSI_HOME"):
        prepare(home, UPDATE, 20, wait=False)
    assert [path.name for path in home.root.iterdir()] == ["deployment.toml"]
    assert home.deployment_file.read_bytes() == before


def test_a_demo_that_ended_says_how_to_run_it_again(home: Home) -> None:
    """Its figures stay."""
    write_whole(home.root / "demo.json", b"{}")
    with pytest.raises(ContractError, match=r"demo\.json; `rm -r .*` to run it again, or set RSI_HOME"):
        prepare(home, UPDATE, 20, wait=False)


def test_a_demo_begun_with_other_settings_is_not_mixed(home: Home) -> None:
    """Another number of steps is another demo."""
    Deployment(name=NAME).write(home.deployment_file)
    with pytest.raises(ContractError, match="give the same --steps"):
        prepare(home, UPDATE, 20, wait=False)


def test_a_missing_contract_is_one_line_before_anything_is_written(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody trains for ten minutes to find that out."""
    monkeypatch.setenv("RSI_CONTRACTS", str(tmp_path / "none"))
    with pytest.raises(ContractError, match="no contract demo/v1"):
        prepare(home, UPDATE, 20, wait=False)
    assert not home.root.exists()


def test_a_night_that_was_broken_off_is_the_one_to_run(demo: Demo) -> None:
    """A night that stayed quiet is followed by another; one with a verdict is not run again."""
    ledger = Ledger(demo.home.ledger, demo.clock)
    first = demo.night()
    assert first is not None
    ledger.append("night", night=first)
    assert demo.night() == first
    ledger.append("end", night=first, body={"reason": "nothing new"})
    assert demo.night() == f"{first}.2"
    ledger.append("night", night=f"{first}.2")
    ledger.append("end", night=f"{first}.2", output="f" * 64, body={"reason": "passed"})
    assert demo.night() is None


def test_the_first_replay_is_kept(demo: Demo) -> None:
    """A second start sends nothing again."""
    assert demo.before() is None
    done = Replay(version="v", seconds=1.5, routed={"a": "L0"})
    demo.keep(done)
    assert demo.before() == done
