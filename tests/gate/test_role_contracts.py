"""The gate of a night that trained another role than the router: a contract of its own, routing as the guard."""

from pathlib import Path

import pytest

from rsi.algorithm import Update
from rsi.context import Context, Start
from rsi.environments import kind
from rsi.gate.gate import open_scorecard
from rsi.gate.stage import judge
from rsi.ids import Digest
from rsi.records import Judgement, Pool
from rsi.registry import approval, champion
from rsi.settings import Deployment, Home
from rsi.store.ledger import Ledger
from rsi.tasks import bank
from rsi.tasks.worlds import task_of
from rsi.update.stage import train
from tests import night_made
from tests.desk_made import contracts
from tests.made import FixedClock

SHOWN = Update.model_validate(
    {"algorithm": "sft", "steps": 4, "prompts": 2, "rank": 4, "alpha": 8, "learning_rate": 0.02}
)


def test_a_candidate_of_l1_is_judged_by_its_own_suite_and_routes_as_before(
    tmp_path: Path, tiny_base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One deployment, two contracts: the changed role says which; what L0 answers is what it answered."""
    monkeypatch.setenv("RSI_CONTRACTS", str(contracts(tmp_path / "contracts")))
    home, clock = Home(tmp_path / "home"), FixedClock()
    night_made.make_home(home.root, tiny_base)
    said = Deployment.read(home.deployment_file)
    deployment = said.model_copy(update={"contracts": {"L1": "agent/v1"}})
    world, shown = night_made.world(tiny_base), kind("desk").open()
    made = bank.freeze(home, "desk-1", [task_of(one, shown) for one in kind("desk").tasks(4, 1, Pool.TRAIN)])
    before = champion.current(Ledger(home.ledger, clock))
    candidate = train(home, deployment, world, Digest(before), made, "L1", "world", SHOWN)
    start = Start(night="2026-01-02", champion=before, ordinal=0, deployment=deployment.digest, previous=None)

    verdict = approval.verdict(home, judge(Context(home, deployment, world, start), candidate))
    card = open_scorecard(home, verdict)
    routed, played = card.of("tiny-routing/v1"), card.of("small-desk/v1")

    assert (verdict.role, verdict.contract) == ("L1", "agent/v1")
    assert (len(routed), len(played)) == (8, 4)
    assert all(one.champion_answer == one.candidate_answer for one in routed)
    assert any(one.champion_answer != one.candidate_answer for one in played)
    assert {one.name for one in verdict.clauses} >= {"target_gain", "guard_tiny-routing_noninferior"}
    assert verdict.judgement is not Judgement.PASS
    told = (home.verdicts / verdict.digest / "card.md").read_text()
    assert "adapter of L1: none → L1-" in told
    assert "By label" not in told


def test_a_role_without_a_contract_of_its_own_has_the_deployment_s(tmp_path: Path) -> None:
    """So has a candidate that changes the harness only; the file says it in one table."""
    path = tmp_path / "deployment.toml"
    path.write_text('contract = "demo/v1"\n[contracts]\nL1 = "tools/v1"\n')
    deployment = Deployment.read(path)

    assert [deployment.contract_of(role) for role in ("L0", "L1", None)] == ["demo/v1", "tools/v1", "demo/v1"]
    assert deployment.digest != Deployment(contract="demo/v1").digest
