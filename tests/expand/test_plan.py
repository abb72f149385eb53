"""A dry run: what would be made, what it costs, and nothing written."""

from pathlib import Path

import orjson
import pytest

from rsi.commands.app import app
from rsi.expand.plan import plan
from rsi.expand.stage import expand
from rsi.ids import digest_file
from rsi.settings import Deployment, Home
from rsi.store.ledger import Ledger
from rsi.tasks import bank
from tests import night_made
from tests.expand.agent_made import context, world
from tests.made import FixedClock

pytestmark = pytest.mark.usefixtures("contracts")


def everything(home: Home) -> dict[str, str]:
    """Digest of every file of a home but the locks."""
    return {
        str(path.relative_to(home.root)): digest_file(path)
        for path in sorted(home.root.rglob("*"))
        if path.is_file() and path.parent.name != "locks"
    }


@pytest.fixture
def deployment(tiny_base: Path) -> Deployment:
    """The tiny night's, with a budget of AutoResearch."""
    said = night_made.settings(tiny_base).model_dump()
    return Deployment.model_validate({**said, "research": {"calls": 6, "samples": 4}})


def test_the_plan_is_what_the_stage_then_does(home: Home, tiny_base: Path, deployment: Deployment) -> None:
    """Counts by source and mode, calls by purpose; seconds from calls that were timed."""
    night_made.traces(home.inbox)
    deployment = deployment.model_copy(
        update={"research": deployment.research.model_copy(update={"calls": 0})}
    )
    night, modes = context(home, deployment, world(tiny_base))
    found = plan(night, modes)

    said = bank.manifest(home, expand(night, modes.digest))
    assert (found.tasks, found.by_source, found.by_mode) == (said.tasks, said.by_source, said.by_mode)
    assert found.refused == said.rejected
    assert sum(one.calls for one in found.costs) == said.measured
    filled = {cell for cell, count in found.by_cell.items() if count}
    assert filled == {one for one in said.asked if one not in said.empty and "/difficulty/" not in one}
    (cost,) = found.costs
    assert (cost.purpose, cost.hop) == ("difficulty", "route")
    assert cost.prompt_tokens > 50 * cost.calls
    assert cost.seconds is not None and cost.seconds >= 0
    again = plan(night, modes)
    assert again.measured["route"].calls == said.measured


def test_a_dry_run_writes_nothing_and_says_what_it_would(
    home: Home, tiny_base: Path, deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the command line, with research and difficulty in its bill."""
    from typer.testing import CliRunner

    night_made.traces(home.inbox)
    deployment.write(home.deployment_file)
    _, modes = context(home, deployment, world(tiny_base))
    Ledger(home.ledger, FixedClock()).append(
        "stage", night="2026-01-02", stage="discover", output=modes.digest
    )
    before = everything(home)
    monkeypatch.setenv("RSI_HOME", str(home.root))

    said = CliRunner().invoke(app, ["expand", "--dry-run", "--json"])
    shown = CliRunner().invoke(app, ["expand", "--dry-run"])

    assert said.exit_code == 0, said.output
    found = orjson.loads(said.stdout)
    assert found["by_source"] == {"correction": found["tasks"]}
    assert {one["purpose"]: one["calls"] for one in found["costs"]} == {
        "difficulty": found["tasks"],
        "research": 6,
    }
    assert shown.exit_code == 0, shown.output
    assert f"would make {found['tasks']} tasks; nothing was written" in shown.stdout
    assert everything(home) == before
