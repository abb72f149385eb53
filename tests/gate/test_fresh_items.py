"""Suites that draw other items for every question, from a seed that only the gate's key tells."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from rsi.engine.chat import Dialogue
from rsi.environments import kind
from rsi.errors import ContractError, IntegrityError
from rsi.gate import fingerprints, replay
from rsi.gate.audit import vault_of
from rsi.gate.bench import unspoken
from rsi.gate.budget import Books
from rsi.gate.contest import Contest, Means
from rsi.gate.contract import read
from rsi.gate.gate import gate, open_scorecard
from rsi.gate.suites import Draw, Suite, digest_of, fresh, load
from rsi.ports import Generation
from rsi.questions import Ask, Certificate
from rsi.records import Item, Judgement, Pool, Verdict, WorldTask
from rsi.registry.questions import broken
from rsi.settings import PROJECT, Home, gate_key
from rsi.store.ledger import Ledger
from tests.gate.made import CHAMPION, DRAWN, OLD_ROUTES, ScriptedEngine, fresh_contracts
from tests.gate.test_evaluate_agent import AGENT, ROOMY, Solver
from tests.made import FixedClock

NIGHT = "2026-10-01"
every_world = pytest.mark.parametrize("environment", ["desk", "chains"])


@pytest.fixture(scope="module")
def tokenizer(tiny_base: Path) -> PreTrainedTokenizerBase:
    return AutoTokenizer.from_pretrained(tiny_base)


@pytest.fixture
def environment() -> str:
    """The world that is played, where a test does not name several."""
    return "desk"


@pytest.fixture
def root(tmp_path: Path, environment: str) -> Path:
    return fresh_contracts(tmp_path / "contracts", environment=environment)


def drawn(root: Path, draw: Draw) -> Suite:
    """The suite of a question."""
    return load("played/v1", None, root, draw=draw)


def texts(items: Sequence[Item]) -> set[str]:
    """What users say in items, with the world they say it in."""
    return {one.world for one in items}


@every_world
def test_a_question_draws_the_same_items_again_and_another_one_others(root: Path, tmp_path: Path) -> None:
    """Night, versions, key and suite decide, and nothing else."""
    key = tmp_path / "key"
    fresh.make(key)
    fresh.make(tmp_path / "other")
    asked = Draw.of(key, NIGHT, "a" * 64, "b" * 64)
    suite = drawn(root, asked)
    others = [
        Draw.of(key, "2026-10-02", "a" * 64, "b" * 64),
        Draw.of(key, NIGHT, "c" * 64, "b" * 64),
        Draw.of(key, NIGHT, "a" * 64, "c" * 64),
        Draw.of(tmp_path / "other", NIGHT, "a" * 64, "b" * 64),
    ]

    assert len(suite.items) == DRAWN
    assert drawn(root, asked) == suite
    assert all(texts(drawn(root, one).items).isdisjoint(texts(suite.items)) for one in others)
    assert asked.seed(suite.digest) != asked.seed(digest_of(root / "suites/routing/v1"))


@every_world
def test_what_is_drawn_is_never_what_training_asks(root: Path, tmp_path: Path, environment: str) -> None:
    """All from the pool that is held out, in words and worlds (so in salts) that training never has."""
    fresh.make(tmp_path / "key")
    trained = kind(environment).tasks(300, 1, Pool.TRAIN)
    requests, starts = {one.request for one in trained}, {one.world for one in trained}

    for night in ("2026-10-01", "2026-10-02", "2026-10-03"):
        items = drawn(root, Draw.of(tmp_path / "key", night, "a", "b")).items
        worlds = [WorldTask.parse(one.world.encode()) for one in items]
        assert {one.pool for one in worlds} == {Pool.REWORDED}
        assert not {one.request for one in worlds} & requests
        assert not {one.world for one in worlds} & starts


def test_without_a_question_there_are_no_items(root: Path) -> None:
    """Nothing for fingerprints to tell, nothing in the vault, and no key is wanted."""
    assert load("played/v1", None, root).items == ()
    assert '"items":[]' in fingerprints.write(root / "suites/played/v1").read_text()


def test_the_key_is_its_owners_alone(tmp_path: Path) -> None:
    """Made once; refused where it is missing, open to others, or none."""
    path = tmp_path / "gate" / "key"
    with pytest.raises(ContractError, match="make it with `rsi gate key`"):
        fresh.read(path)
    key = fresh.make(path)

    assert path.stat().st_mode & 0o777 == 0o600
    assert fresh.make(path) == key
    assert key.hex() not in repr(Draw(path, ())) + fresh.committed(key)
    path.chmod(0o640)
    with pytest.raises(ContractError, match="chmod 600"):
        fresh.make(path)
    path.chmod(0o600)
    for wrong in ("ab", "no key", ""):
        path.write_text(wrong)
        with pytest.raises(ContractError, match="expected 64 hex digits"):
            fresh.read(path)


def test_its_place_may_be_named(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a variable that only the gate's process has; else it lies where only the gate looks."""
    assert gate_key(home) == home.heldout / "gate.key"
    monkeypatch.setenv("RSI_GATE_KEY", str(tmp_path / "elsewhere"))
    assert gate_key(home) == tmp_path / "elsewhere"


def put(
    home: Home,
    root: Path,
    scripted: ScriptedEngine | None = None,
    night: str = NIGHT,
    dialogue: Callable[[], Dialogue] = unspoken,
) -> Verdict:
    """One question to the gate; unless an engine is given nobody plays, and every episode is an error."""
    scripted = scripted or ScriptedEngine({None: OLD_ROUTES, "L0-old": OLD_ROUTES}, {"L1-new": str})
    return gate(
        home,
        "agent/v1",
        Contest(CHAMPION, AGENT),
        Means(scripted, lambda _: ROOMY, dialogue=dialogue),
        Books(home, FixedClock(), night),
        night=night,
        contracts=root,
    )


def certificate(home: Home, verdict: Verdict) -> Certificate:
    return Certificate.parse((home.verdicts / verdict.digest / "certificate.json").read_bytes())


def test_without_a_key_nothing_is_asked(home: Home, root: Path) -> None:
    """The message says how one is made; the account has no record."""
    with pytest.raises(ContractError, match="rsi gate key"):
        put(home, root)
    assert not home.ledger.exists()


@every_world
def test_a_gain_on_fresh_items_passes_and_can_be_drawn_again(
    home: Home, root: Path, tokenizer: PreTrainedTokenizerBase
) -> None:
    """The items are committed to before the first is asked; whoever has the key shows that these were asked."""
    key = fresh.make(gate_key(home))
    suite = drawn(root, Draw.of(gate_key(home), NIGHT, CHAMPION.digest, AGENT.digest))
    worlds = [WorldTask.parse(one.world.encode()) for one in suite.items]
    scripted = Solver({None: OLD_ROUTES, "L0-old": OLD_ROUTES}, {"L1-new": str}, tokenizer=tokenizer, tasks=worlds)
    verdict = put(home, root, scripted, dialogue=lambda: Dialogue(tokenizer))
    first = next(iter(Ledger(home.ledger, FixedClock())))
    told = Ask.model_validate(first.body).registration.fresh

    assert verdict.judgement is Judgement.PASS
    asked = open_scorecard(home, verdict).of("played/v1")
    assert [one.item_id for one in asked] == [one.item_id for one in suite.items]
    assert certificate(home, verdict).fresh == told == {"played/v1": suite.drawn}
    assert told["played/v1"].key == fresh.committed(key)
    (again,) = replay.redraw(home, root, replay.find(home, verdict.digest[:8]))
    assert (again.suite, again.items, again.drawn) == ("played/v1", DRAWN, suite.drawn)
    assert holding(home, key.hex().encode()) == ["gate.key"]


def holding(home: Home, secret: bytes) -> list[str]:
    """Files of a home in which it stands."""
    return [path.name for path in home.root.rglob("*") if path.is_file() and secret in path.read_bytes()]


@every_world
def test_what_was_drawn_by_another_key_or_generator_is_named(home: Home, root: Path) -> None:
    """The verdict is not replayed by halves."""
    fresh.make(gate_key(home))
    verdict = put(home, root)
    gate_key(home).rename(home.root / "lost")

    with pytest.raises(ContractError, match="put it back from a backup"):
        replay.redraw(home, root, verdict.digest)
    fresh.make(gate_key(home))
    with pytest.raises(IntegrityError, match="is not the key that suite played/v1 was drawn by"):
        replay.redraw(home, root, verdict.digest)
    (home.root / "lost").rename(gate_key(home))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rsi.gate.suites.worlds.HARDEST", 2)
        with pytest.raises(IntegrityError, match="its generator was changed since"):
            replay.redraw(home, root, verdict.digest)
    assert replay.redraw(home, root, verdict.digest)
    with pytest.raises(ContractError, match="names 0 verdicts"):
        replay.find(home, "abcdef")


def test_each_question_is_paid_for_from_one_account(home: Home, root: Path) -> None:
    """Other items each night, one alpha for all of them; the same night again is the same question."""
    fresh.make(gate_key(home))
    nights = ("2026-10-01", "2026-10-02", "2026-10-03")
    verdicts = [put(home, root, night=one) for one in nights]
    records = list(Ledger(home.ledger, FixedClock()))
    asked = [Ask.model_validate(one.body) for one in records if one.kind == "ask"]

    assert list(broken(records)) == []
    assert [one.allowance.question for one in asked] == [1, 2, 3]
    assert [one.allowance.alpha for one in asked] == pytest.approx([0.05 / 2, 0.05 / 6, 0.05 / 12])
    assert len({one.registration.items for one in asked}) == 3
    assert put(home, root, night=nights[0]).digest == verdicts[0].digest
    assert len([one for one in Ledger(home.ledger, FixedClock()) if one.kind == "ask"]) == 3


@every_world
def test_44_who_knows_last_nights_items_by_heart_gains_nothing_tonight(
    home: Home, root: Path, tokenizer: PreTrainedTokenizerBase
) -> None:
    """Every answer right on the items of before, none on those of now: refused for want of a gain."""
    fresh.make(gate_key(home))
    before = drawn(root, Draw.of(gate_key(home), "2026-09-30", CHAMPION.digest, AGENT.digest))
    scripted = Memoriser(
        {None: OLD_ROUTES, "L0-old": OLD_ROUTES},
        {"L1-new": str},
        tokenizer=tokenizer,
        tasks=[WorldTask.parse(one.world.encode()) for one in before.items],
    )
    verdict = put(home, root, scripted, dialogue=lambda: Dialogue(tokenizer))

    assert "target_gain" in {one.name for one in verdict.clauses if one.judgement is Judgement.FAIL}
    assert verdict.judgement is Judgement.FAIL


class Memoriser(Solver):
    """Plays what it knows by heart, and says prose to what it does not."""

    def generate_tokens(
        self,
        prompts: Sequence[Sequence[int]],
        adapter: str | None,
        max_tokens: int,
        temperature: float,
        seeds: Sequence[int],
    ) -> list[Generation]:
        assert self.tokenizer is not None
        known = [any(one.request in self.tokenizer.decode(list(p)) for one in self.tasks) for p in prompts]
        asked = [prompt for prompt, there in zip(prompts, known, strict=True) if there]
        played = iter(super().generate_tokens(asked, adapter, max_tokens, temperature, seeds[: len(asked)]))
        ids = Dialogue(self.tokenizer).answer("I will see.")
        prose = Generation("I will see.", ids, (0.0,) * len(ids), "stop")
        return [next(played) if there else prose for there in known]


class Killed(BaseException):
    """As a signal: nothing catches it on the way."""


def test_a_night_that_was_killed_draws_the_same_items(home: Home, root: Path) -> None:
    """It goes on as the same question, begun twice, to the verdict of a night in one piece."""
    fresh.make(gate_key(home))
    dying = ScriptedEngine(
        {None: OLD_ROUTES, "L0-old": OLD_ROUTES}, {"L1-new": str}, fail=lambda adapter, text: Killed()
    )
    with pytest.raises(Killed):
        put(home, root, dying)
    verdict = put(home, root)
    asked = [Ask.model_validate(one.body) for one in Ledger(home.ledger, FixedClock()) if one.kind == "ask"]
    other = Home(home.root / "other")
    other.heldout.mkdir(parents=True)
    gate_key(other).write_text(gate_key(home).read_text())
    gate_key(other).chmod(0o600)

    assert [(one.allowance.question, one.allowance.start) for one in asked] == [(1, 1), (1, 2)]
    assert asked[0].registration == asked[1].registration
    assert put(other, root).digest == verdict.digest


def test_a_budget_for_reused_items_is_refused_on_fresh_ones(home: Home, tmp_path: Path) -> None:
    """It would count what is not there, and ask more of a candidate than is needed."""
    root = fresh_contracts(tmp_path / "other", {"items": "reused", "questions": 6, "accepts": 2})
    fresh.make(gate_key(home))

    with pytest.raises(ContractError, match='draws fresh ones for every question: say items = "fresh"'):
        put(home, root)


def test_a_record_of_frozen_suites_is_what_it_was(home: Home, root: Path) -> None:
    """No key of its JSON is new, so that digests in ledgers of before still fit."""
    fresh.make(gate_key(home))
    told = certificate(home, put(home, root))
    plain = told.model_copy(update={"fresh": {}})

    assert "fresh" in told.model_dump() and "fresh" not in plain.model_dump(mode="json")
    assert Certificate.model_validate(plain.model_dump(mode="json")) == plain


def test_the_vault_of_such_a_suite_is_drawn_by_the_key_too(home: Home, root: Path) -> None:
    """The same items in every audit, none of a night's; nobody without the key can tell them."""
    fresh.make(gate_key(home))
    target = read("agent/v1", root).target
    vault = vault_of(home, target, 20, root)

    assert len(vault.items) == 20
    assert vault_of(home, target, 20, root) == vault
    night = drawn(root, Draw.of(gate_key(home), NIGHT, CHAMPION.digest, AGENT.digest))
    assert texts(vault.items).isdisjoint(texts(night.items))


def test_the_shipped_contract_asks_other_episodes_of_the_frozen_ones_kind(tmp_path: Path) -> None:
    """As many, a third of them hard, none of those that are frozen."""
    fresh.make(tmp_path / "key")
    contract = read("desk/v2", PROJECT / "contracts")
    found = load(contract.target.suite, contract.target.pin, PROJECT / "contracts", draw=Draw(tmp_path / "key", ("x",)))
    frozen = load("desk/v1", None, PROJECT / "contracts")

    assert len(found.items) == len(frozen.items) >= contract.target.min_items
    assert sum(one.hard for one in found.items) == 50
    assert texts(found.items).isdisjoint(texts(frozen.items))
    assert contract.budget is not None and contract.budget.items.value == "fresh"
