"""Items that a specialist answers with calls, once or over several turns."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import pytest
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from rsi.engine.chat import Dialogue
from rsi.environments import ENVIRONMENTS, Kind, kind
from rsi.environments.desk.environment import Desk
from rsi.errors import ContractError
from rsi.gate.contest import Contest, Means
from rsi.gate.contract import Contract
from rsi.gate.evaluate import evaluate
from rsi.gate.scorecard import Scorecard, outcomes, summary
from rsi.gate.suites import About, Suite, load
from rsi.gate.suites.worlds import Worlds
from rsi.gate.verdict import judge
from rsi.harness import calls
from rsi.harness.rules import Rules
from rsi.ids import Digest
from rsi.ports import Generation, Preference
from rsi.records import ChatMessage, Item, Judgement, OutcomeKind, Pool, Version, WorldTask
from rsi.tasks.calls import expectation, written
from rsi.verifiers import with_judge
from rsi.verifiers.calls import Call
from tests.gate.made import (
    BASE,
    CHAMPION,
    HARNESS,
    OLD_ROUTES,
    ROUTING,
    ScriptedEngine,
    routing_lines,
    write_suite,
)

AGENT = Version(
    base=BASE, adapters={"L0": "L0-old", "L1": "L1-new"}, harness=HARNESS.digest, parent=CHAMPION.digest
)
ROOMY = HARNESS.model_copy(update={"agent": Rules(context=8192)})
"""The tiny tokenizer needs more tokens for an episode than a harness allows."""
PARAMETERS = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
TOOLS = orjson.dumps([{"type": "function", "function": {"name": "add", "parameters": PARAMETERS}}]).decode()
PIN = Digest("d" * 64)


def adding(n: int) -> str:
    """A call of the one tool there is."""
    return written([Call("add", {"n": n})])


def tools(count: int) -> Suite:
    """Requests for one call each; nobody can meet what the last one expects."""
    about = About.model_construct(
        name="adding", version=1, verifier="tool_call", hop="tool", role="L1", description="", items=None
    )
    items = [
        Item(
            item_id=f"a{n}",
            messages=(ChatMessage(role="user", content=f"add {n} please"),),
            expected=expectation([Call("add", {"n": n})], TOOLS) if n < count - 1 else "{}",
            cluster=f"c{n // 2}",
            source="bfcl-eval",
            tools=TOOLS,
        )
        for n in range(count)
    ]
    return Suite(about, PIN, tuple(items))


def episodes(count: int) -> Suite:
    """Tasks at the desk."""
    about = About.model_construct(
        name="desk", version=1, verifier="final_state", hop="world", role="L1", description="", items=None
    )
    source = Worlds.model_construct(
        source="environment", environment="desk", pool=Pool.REWORDED, seed=5, count=count, pin=PIN
    )
    return Suite(about, PIN, source.draw())


def played(root: Path, suite: Suite, scripted: ScriptedEngine, **more: object) -> tuple[Contract, Scorecard]:
    """Champion without L1 and candidate with one on a suite, with routing as the guard."""
    guard = write_suite(root / "suites/routing/v1", ROUTING, routing_lines(2))
    contract = Contract.model_validate(
        {
            "schema_version": 1,
            "name": "agent/v1",
            "target": {
                "suite": suite.name,
                "digest": suite.digest,
                "min_items": 4,
                "min_hard_items": 0,
                "min_accuracy": 0.2,
                "max_tokens": 24,
            },
            "guards": [
                {
                    "suite": "routing/v1",
                    "digest": guard,
                    "min_items": 8,
                    "margin": 0.5,
                    "champion_low": 0.0,
                    "champion_high": 1.0,
                    "max_tokens": 1,
                }
            ],
        }
    )
    suites = {suite.name: suite, "routing/v1": load("routing/v1", guard, root)}
    means = Means(scripted, lambda _: ROOMY, **more)  # type: ignore[arg-type]
    return contract, evaluate(contract, suites, Contest(CHAMPION, AGENT), means)


def test_calls_are_asked_of_the_role_and_judged_by_their_verifier(tmp_path: Path) -> None:
    """A champion without the role asks the bare base; five ways to end, counted apart for each version."""
    said = {1: "", 2: "<tool_call>{add}</tool_call>", 3: adding(99)}
    scripted = ScriptedEngine(
        {None: OLD_ROUTES, "L0-old": OLD_ROUTES},
        {
            None: lambda text: "No.",
            "L1-new": lambda text: said.get(int(text.split()[1]), adding(int(text.split()[1]))),
        },
        fail=lambda adapter, text: RuntimeError("too long") if text == "add 4 please" else None,
    )
    contract, card = played(tmp_path, tools(12), scripted)
    results = card.of("adding/v1")
    ended = outcomes(results)

    assert {adapter for adapter, text in scripted.asked if text.startswith("add")} == {None, "L1-new"}
    assert {kind.value: count for kind, count in ended["candidate"].items()} == {
        "scored": 8,
        "wrong_format": 1,
        "error": 1,
        "empty": 1,
        "invalid": 1,
    }
    assert [one.candidate.score for one in results[5:11]] == [1.0] * 6
    assert (results[3].candidate.score, results[0].champion.score) == (0.0, 0.0)
    assert results[4].champion.kind is results[4].candidate.kind is OutcomeKind.ERROR
    assert all(one.champion_answer == one.candidate_answer for one in card.of("routing/v1"))
    assert summary(card, contract)[0].by_label == ()


def test_a_gain_in_calls_passes_with_routing_as_the_guard(tmp_path: Path) -> None:
    """Same clauses as for routing, but for labels and hard items, of which there are none; clusters are respected."""
    suite = tools(21)
    whole = Suite(suite.about, suite.digest, suite.items[:-1])
    scripted = ScriptedEngine(
        {None: OLD_ROUTES, "L0-old": OLD_ROUTES},
        {None: lambda text: "No.", "L1-new": lambda text: adding(int(text.split()[1]))},
    )
    contract, card = played(tmp_path, whole, scripted)
    verdict = judge(contract, card, "2026-10-01", "L1")
    told = {one.name: one for one in verdict.clauses}

    assert list(told) == [
        "target_size",
        "target_gain",
        "target_accuracy",
        "guard_routing_size",
        "guard_routing_range",
        "guard_routing_noninferior",
        "completeness",
    ]
    assert (verdict.judgement, verdict.role) == (Judgement.PASS, "L1")
    assert told["target_gain"].numbers["clusters"] == 10
    assert (
        told["guard_routing_noninferior"].numbers["b"],
        told["guard_routing_noninferior"].numbers["c"],
    ) == (0, 0)


class Longer:
    """A judge that prefers the longer answer."""

    name = "longer"

    def prefer(self, rubric: str, question: str, first: str, second: str) -> Preference | None:
        """Never undecided."""
        return Preference.FIRST if len(first) > len(second) else Preference.SECOND


def test_a_suite_that_a_model_judges_needs_one(tmp_path: Path) -> None:
    """Refused before anything is asked where the deployment names none; else scored, and the judge is named."""
    about = About(name="letters", version=1, verifier="judge", hop="answer", role="L1")
    said = orjson.dumps({"question": "Why?", "rubric": "Is long.", "reference": "It is so."}).decode()
    items = tools(4).items
    suite = Suite(about, PIN, tuple(one.model_copy(update={"expected": said, "tools": ""}) for one in items))
    scripted = ScriptedEngine(
        {None: OLD_ROUTES, "L0-old": OLD_ROUTES},
        {None: lambda text: "No.", "L1-new": lambda text: "Because of this and that."},
    )
    with pytest.raises(ContractError, match=r"suite letters/v1 is judged by a model: name one in \[judge\]"):
        played(tmp_path / "a", suite, scripted)
    assert scripted.asked == []
    _, card = played(tmp_path / "b", suite, scripted, verifiers=with_judge(Longer()))

    assert [(one.champion.score, one.candidate.score) for one in card.of("letters/v1")] == [(0.0, 1.0)] * 4
    assert card.of("letters/v1")[0].candidate.detail == "first, then second, by longer"


@dataclass
class Solver(ScriptedEngine):
    """An engine whose L1 plays the oracle of every other task, and whose base says prose or nothing."""

    tokenizer: PreTrainedTokenizerBase | None = None
    tasks: Sequence[WorldTask] = ()
    turns: dict[tuple[str | None, str], int] = field(default_factory=dict)

    def generate_tokens(
        self,
        prompts: Sequence[Sequence[int]],
        adapter: str | None,
        max_tokens: int,
        temperature: float,
        seeds: Sequence[int],
    ) -> list[Generation]:
        assert (temperature, max_tokens) == (0.0, 24)
        assert self.tokenizer is not None
        dialogue, found = Dialogue(self.tokenizer), []
        for prompt in prompts:
            read = self.tokenizer.decode(list(prompt))
            place, task = next((at, one) for at, one in enumerate(self.tasks) if one.request in read)
            turn = self.turns.get((adapter, task.task_id), 0)
            self.turns[adapter, task.task_id] = turn + 1
            text = self._says(task, turn, place) if adapter else ("" if place % 2 else "I will see.")
            ids = dialogue.answer(text)
            found.append(Generation(text, ids, (0.0,) * len(ids), "stop"))
        return found

    def _says(self, task: WorldTask, turn: int, place: int) -> str:
        if place % 2 or turn >= len(task.oracle):
            return "done"
        last = turn + 1 == len(task.oracle)
        tools = calls.tools_of(kind(task.environment).open().tools)
        return calls.write(task.oracle[turn], tools) + (" done" if last else "")


@pytest.fixture(scope="module")
def tokenizer(tiny_base: Path) -> PreTrainedTokenizerBase:
    return AutoTokenizer.from_pretrained(tiny_base)


def solver(suite: Suite, tokenizer: PreTrainedTokenizerBase) -> Solver:
    worlds = [WorldTask.parse(one.world.encode()) for one in suite.items]
    return Solver(
        {None: OLD_ROUTES, "L0-old": OLD_ROUTES}, {"L1-new": str}, tokenizer=tokenizer, tasks=worlds
    )


def test_episodes_are_played_by_both_versions_and_judged_by_their_final_state(
    tmp_path: Path, tokenizer: PreTrainedTokenizerBase
) -> None:
    """Several turns, greedy; what was said is kept, and prose and silence are told apart."""
    suite = episodes(8)
    _, card = played(tmp_path, suite, solver(suite, tokenizer), dialogue=lambda: Dialogue(tokenizer))
    results = card.of("desk/v1")

    assert [one.candidate.score for one in results] == [1.0, 0.0] * 4
    assert {one.candidate.kind for one in results} == {OutcomeKind.SCORED}
    assert [one.champion.kind for one in results] == [OutcomeKind.WRONG_FORMAT, OutcomeKind.EMPTY] * 4
    assert (
        results[2].candidate_answer.count("\n")
        == len(WorldTask.parse(suite.items[2].world.encode()).oracle) - 1
    )
    assert results[2].candidate_answer.endswith("done")
    before, after = card.took["desk/v1"]
    assert (before.answers, after.answers) == (8, 8)
    assert all(one.read and one.written and one.read > 2 * one.written for one in (before, after))


def test_a_world_that_crashes_is_tried_once_more_and_then_is_missing_evidence(
    tmp_path: Path, tokenizer: PreTrainedTokenizerBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error of the environment is nobody's wrong answer: the verdict cannot tell."""
    opened = dict[str, int]()

    class Shaky(Desk):
        def reset(self, task: WorldTask, seed: int) -> str:
            opened[task.task_id] = opened.get(task.task_id, 0) + 1
            if task.task_id == broken or (task.task_id == shaky and opened[shaky] == 1):
                raise RuntimeError("no connection")
            return super().reset(task, seed)

    suite = episodes(6)
    broken, shaky = suite.items[0].item_id, suite.items[2].item_id
    monkeypatch.setitem(ENVIRONMENTS, "desk", Kind(Shaky, kind("desk").tasks))
    contract, card = played(tmp_path, suite, solver(suite, tokenizer), dialogue=lambda: Dialogue(tokenizer))
    results = card.of("desk/v1")
    verdict = judge(contract, card, "2026-10-01", "L1")

    assert (results[0].champion.kind, results[0].candidate.kind) == (OutcomeKind.ERROR, OutcomeKind.ERROR)
    assert results[0].candidate.detail == "RuntimeError: no connection"
    assert (results[2].champion.kind, results[2].candidate.score) == (OutcomeKind.WRONG_FORMAT, 1.0)
    assert opened[broken] == 4
    assert verdict.judgement is Judgement.CANNOT_TELL


def test_a_suite_that_is_played_needs_to_know_how_the_base_writes(tmp_path: Path) -> None:
    """Without a dialogue every item is an error that says so."""
    suite = episodes(2)
    scripted = ScriptedEngine({None: OLD_ROUTES, "L0-old": OLD_ROUTES}, {"L1-new": str})
    _, card = played(tmp_path, suite, scripted)

    assert {one.candidate.kind for one in card.of("desk/v1")} == {OutcomeKind.ERROR}
    assert "nobody said how the base writes" in card.of("desk/v1")[0].candidate.detail
