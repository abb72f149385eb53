"""A night that trains another specialist than the router: from episodes at the service desk to a promotion."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest
from transformers import AutoTokenizer

from rsi.context import World
from rsi.engine.chat import Dialogue
from rsi.engine.local import LocalEngine
from rsi.engine.publish import EngineReplica
from rsi.environments import kind
from rsi.gate.audit import audit
from rsi.harness import hcp
from rsi.night import Ending, run
from rsi.ports import Engine
from rsi.records import Approval, ChatMessage, Decision, Origin, Pool, Version
from rsi.registry import adapters, approval, champion, promote, versions
from rsi.registry.verify import verify
from rsi.serve.shift import shift_of
from rsi.settings import Deployment, Home
from rsi.store.database import store_batch
from rsi.store.ledger import Ledger
from rsi.tasks import bank
from rsi.update import job
from tests import desk_made, night_made
from tests.fakes import Clerk
from tests.made import FixedClock, base_digest

SHOWN = {"algorithm": "sft", "steps": 3, "prompts": 2, "rank": 4, "alpha": 8, "learning_rate": 0.02}
PROMPTS = tuple(f"request number {one}, please" for one in range(50))
ROUTING, DESK = "2026-01-02", "2026-01-03"


@dataclass(frozen=True)
class Case:
    """A home in which both specialists were promoted, one night after the other."""

    home: Home
    deployment: Deployment
    world: World
    base: Path
    nights: dict[str, Ending]
    before: Version
    """With L0 alone."""
    after: Version


def clerks(base: Path) -> World:
    """The tiny world, whose adapters of L0 route what the gate asks and whose adapters of L1 solve what it plays."""
    world = night_made.world(base)
    tasks = kind("desk").tasks(4, int(str(desk_made.DRAWN["seed"])), Pool.REWORDED)

    @cache
    def engine() -> Engine:
        dialogue = Dialogue(AutoTokenizer.from_pretrained(base))
        return Clerk(LocalEngine(base, base_digest(base), threads=1), night_made.HELD_OUT, dialogue, tasks)

    return replace(world, engine=engine)


def settings(base: Path) -> Deployment:
    """That of the tiny home, with a desk; the router trains no two nights in a row."""
    said = night_made.settings(base).model_dump()
    update = {**said["update"], "steps": 2, "prompts": 1, "samples": 2, "refill": 0}
    return Deployment.model_validate(
        {
            **said,
            "update": {**said["update"], "steps": 2},
            "contracts": {"L1": "agent/v1"},
            "expand": {"calls": 0, "attempts": 0, "worlds": {"L1": "desk"}, "world_tasks": 12},
            "updates": {"L1": update},
            "beginnings": {"L1": {**update, **SHOWN}},
            "night": {"min_failures": 2, "most_in_a_row": 1},
        }
    )


def put_into_service(home: Home, deployment: Deployment, world: World, ending: Ending) -> Version:
    """Approve and promote; the version that is then in service."""
    assert ending.verdict is not None, ending.reason
    assert ending.judgement == "pass", ending.reason
    said = Approval(
        verdict=ending.verdict, decision=Decision.APPROVE, approver="ada", reason="gain", via="command"
    )
    approval.answer(home, world.clock, deployment, said, ending.verdict[:8])
    replica = EngineReplica(world.engine())
    promote.promote(home, world.clock, ending.verdict, [replica], world.base().folder)
    return versions.load(home, champion.current(Ledger(home.ledger, world.clock)))


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory, tiny_base: Path) -> Iterator[Case]:
    """A night of routing, work at the desk, a night of L1."""
    root = tmp_path_factory.mktemp("desk-night")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RSI_CONTRACTS", str(desk_made.contracts(root / "contracts")))
        home, world = night_made.make_home(root / "home", tiny_base), clerks(tiny_base)
        deployment = settings(tiny_base)
        deployment.write(home.deployment_file)
        first = run(home, deployment, world, ROUTING)
        before = put_into_service(home, deployment, world, first)
        tasks = kind("desk").tasks(6, 7, Pool.TRAIN)
        shift_of(home, deployment, world, tasks, "L1", Origin.TRAFFIC, "monday")
        second = run(home, deployment, world, DESK)
        after = put_into_service(home, deployment, world, second)
        yield Case(home, deployment, world, tiny_base, {ROUTING: first, DESK: second}, before, after)


def test_episodes_become_traces_of_the_version_and_role_that_played_them(case: Case) -> None:
    """With what was offered and expected, and the state that the world ended in as the score that decides."""
    with store_batch(case.home, FixedClock(), "test") as connection:
        rows = connection.execute(
            "select version, route, agent, origin, count(*), count(expected) from traces "
            "where agent is not null group by all"
        ).fetchall()
        rules = connection.execute(
            "select distinct outcome, score_name from outcomes join traces using (trace_uid) where agent = 'desk'"
        ).fetchall()

    assert rows == [(case.before.digest, "L1", "desk", "traffic", 6, 6)]
    assert rules == [("fail", "state")]


def test_the_night_trains_the_role_whose_episodes_failed(case: Case) -> None:
    """On tasks of its world's generator, each for a mode and with the traces that show it; shown solutions at first."""
    ledger = Ledger(case.home.ledger, FixedClock())
    choice = ledger.last(lambda one: (one.kind, one.night) == ("role", DESK))
    made = ledger.last(lambda one: (one.night, one.stage) == (DESK, "expand"))
    assert choice is not None
    assert made is not None
    assert made.output is not None
    tasks = [one for one in bank.load(case.home, made.output) if one.hop == "world"]
    (trained,) = (one for one in map(job.read, case.home.jobs.iterdir()) if one.role == "L1")

    assert choice.body["role"] == "L1"
    assert len(tasks) > 6
    assert all(one.mode_id and one.traces and one.screens for one in tasks)
    assert (trained.hop, trained.settings.algorithm.value, trained.warm_start) == ("world", "sft", None)
    assert trained.frozen == (case.before.adapters["L0"],)


def test_it_is_judged_by_its_own_contract_and_promoted_beside_the_router(case: Case) -> None:
    """L0's adapter stays the one there was; the invariants hold."""
    found = approval.verdict(case.home, str(case.nights[DESK].verdict))

    assert (found.role, found.contract) == ("L1", "agent/v1")
    assert case.after.adapters == {**case.before.adapters, "L1": case.after.adapters["L1"]}
    assert case.after.parent == case.before.digest
    assert verify(case.home, FixedClock()).findings == ()


def test_specialists_do_not_disturb_each_other(case: Case) -> None:
    """L0's log-probs of the labels are bit for bit those that an engine without L1 gives."""
    harness = hcp.load(case.home.harnesses, case.after.harness)
    prompts = [harness.route_prompt((ChatMessage(role="user", content=text),)) for text in PROMPTS]
    found = []
    for version in (case.before, case.after):
        engine = LocalEngine(case.base, base_digest(case.base), threads=1)
        for name in version.adapters.values():
            engine.load(name, adapters.folder(case.home, name))
        found.append(engine.choose(prompts, harness.words, version.adapters["L0"]))
    bare = engine.choose(prompts, harness.words, None)

    assert found[0] == found[1]
    assert found[0] != bare


@pytest.mark.slow
def test_the_next_night_goes_on_from_the_adapter_in_service(case: Case) -> None:
    """By the role's own settings; without a signal there is no candidate, and the champion stays."""
    home = case.home
    case.deployment.write(home.deployment_file)
    tasks = kind("desk").tasks(6, 8, Pool.TRAIN)
    shift_of(home, case.deployment, case.world, tasks, "L1", Origin.TRAFFIC, "tuesday")
    pinned = case.deployment.model_copy(
        update={"night": case.deployment.night.model_copy(update={"role": "L1"})}
    )
    ending = run(home, pinned, case.world, "2026-01-04")
    (trained,) = (
        one for one in map(job.read, home.jobs.iterdir()) if one.warm_start == case.after.adapters["L1"]
    )

    assert "no candidate: training stopped" in ending.reason
    assert trained.settings == case.deployment.updates["L1"]
    assert trained.settings.algorithm.value == "grpo"


def test_the_vault_is_asked_of_every_version_and_of_nothing_that_the_gate_asks(case: Case) -> None:
    """A suite that lists none has none; one that is drawn has the next ones. The ledger says that it was opened."""
    names = [case.before.digest, case.after.digest]
    engine = case.world.engine()
    assert isinstance(engine, Clerk)
    before = list(engine.known)

    points = audit(case.home, case.deployment, case.world, names, drawn=4)
    record = Ledger(case.home.ledger, FixedClock()).last(lambda one: one.kind == "audit")

    assert [(one.version, one.suite) for one in points] == [(one, "small-desk/v1") for one in names]
    assert all(0 < one.items <= 4 for one in points)
    assert before
    assert engine.known == before
    assert record is not None
    assert record.body["points"] == [one.model_dump(mode="json") for one in points]
    assert verify(case.home, FixedClock()).findings == ()
