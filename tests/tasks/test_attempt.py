"""Pass rates of a version, within a budget."""

import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from rsi.ports import Generation, Preference, Prompt
from rsi.records import ChatMessage, Task
from rsi.store.journal import Journal
from rsi.tasks.attempt import Attempts, Policy, rates
from rsi.tasks.bank import task
from rsi.verifiers import VERIFIERS, Verifiers, with_judge
from rsi.verifiers.calls import Call
from tests.made import router, routing_tasks
from tests.tasks.test_columns import CALL

POLICY = Policy("v" * 64, {"L0": "L0-a", "L1": "L1-b"}, router())
TASKS = routing_tasks()


class Known:
    """An engine with set probabilities of the labels, and one written answer a seed."""

    base = "b" * 64

    def __init__(self, *probabilities: float, answers: Sequence[str] = ()) -> None:
        self._row = tuple(math.log(one) if one else -math.inf for one in probabilities)
        self._answers = answers
        self.asked: list[tuple[int, str | None]] = []

    def choose(
        self, prompts: Sequence[Prompt], choices: Sequence[str], adapter: str | None
    ) -> list[tuple[float, ...]]:
        """The same row for every prompt."""
        self.asked.append((len(prompts), adapter))
        return [self._row for _ in prompts]

    def generate(
        self,
        prompts: Sequence[Prompt],
        adapter: str | None,
        max_tokens: int,
        temperature: float = 0.0,
        seed: int = 0,
    ) -> list[Generation]:
        """The answer of the seed."""
        assert temperature > 0
        self.asked.append((len(prompts), adapter))
        return [Generation(self._answers[seed], (), (), "stop") for _ in prompts]


def attempts(engine: Known, budget: int, journal: Journal | None = None) -> Attempts:
    """A budget of calls."""
    kept = Journal(None) if journal is None else journal
    return Attempts(lambda: engine, POLICY, kept, budget)  # type: ignore[arg-type, return-value]


def right(task: Task) -> list[float]:
    """Certainty of a task's own label."""
    return [float(role == task.expected) for role in router().roles]


def test_a_certain_version_is_always_right_or_never() -> None:
    """One call a route, whatever the samples; asked of the router's adapter."""
    engine = Known(*right(TASKS[0]))
    found = attempts(engine, 100).ask(TASKS, 8)

    assert {one.expected: found[one.task_id].passed for one in TASKS} == {"L0": 8, "L1": 0, "L2": 0, "L3": 0}
    assert engine.asked == [(16, "L0-a")]


def test_an_undecided_version_is_right_about_as_often_as_it_says() -> None:
    """Draws are seeded by task and version."""
    found = attempts(Known(0.25, 0.25, 0.25, 0.25), 100).ask(TASKS, 400)

    assert all(60 <= one.passed <= 140 for one in found.values())
    assert found == attempts(Known(0.25, 0.25, 0.25, 0.25), 100).ask(TASKS, 400)
    assert len({one.passed for one in found.values()}) > 1


def test_written_answers_cost_a_call_a_sample_and_go_to_the_specialist_for_tools() -> None:
    """Each is verified."""
    good = '{"name": "open", "arguments": {"what": "door"}}'
    engine = Known(answers=(good, "no", '{"name": "open", "arguments": {"what": "lid"}}', good))
    made = attempts(engine, 4)

    assert made.ask([CALL], 4)[CALL.task_id][:2] == (2, 4)
    assert (made.spent, engine.asked) == (4, [(1, "L1-b")] * 4)
    assert Call("open", {"what": "door"})


class Picky:
    """A judge that has no word for some answers."""

    def __init__(self, name: str) -> None:
        self.name = name

    def prefer(self, rubric: str, question: str, first: str, second: str) -> Preference | None:
        """The good one, whichever place it has; nothing where there is none."""
        if "good" not in (first, second):
            return None
        return Preference.FIRST if first == "good" else Preference.SECOND


JUDGED = task(
    "answer",
    (ChatMessage(role="user", content="why"),),
    "judge",
    '{"question": "why", "rubric": "is good", "reference": "so"}',
    None,
    (),
    "correction",
)


def test_an_answer_without_a_verdict_is_no_sample(tmp_path: Path) -> None:
    """A task of which nothing could be judged has no rate; another judge is asked again."""
    engine, journal = Known(answers=("good", "hm", "good", "hm")), Journal(tmp_path / "a.ndjson")
    judged = with_judge(Picky("one"))

    def made(table: Verifiers) -> Attempts:
        return Attempts(lambda: engine, POLICY, journal, 4, verifiers=table)  # type: ignore[arg-type, return-value]

    assert made(judged).ask([JUDGED], 4)[JUDGED.task_id][:2] == (2, 2)
    assert made(judged).ask([JUDGED], 4)[JUDGED.task_id][:2] == (2, 2)
    assert len(engine.asked) == 4
    assert made(VERIFIERS).ask([JUDGED], 4) == {}
    assert made(with_judge(Picky("other"))).ask([JUDGED], 4)[JUDGED.task_id].rate == 1.0
    assert len(engine.asked) == 12


def test_the_budget_ends_at_the_same_task_with_and_without_a_journal(tmp_path: Path) -> None:
    """What the journal knows is counted, and not asked again."""
    engine = Known(*right(TASKS[0]))
    first = attempts(engine, 5, Journal(tmp_path / "a.ndjson")).ask(TASKS, 8)
    again = attempts(Known(), 5, Journal(tmp_path / "a.ndjson")).ask(TASKS, 8)

    assert list(first) == [one.task_id for one in TASKS[:5]]
    assert again == first


def test_labels_without_a_usable_number_count_as_the_routers_own_role() -> None:
    """As the gateway routes them."""
    found = attempts(Known(0, 0, 0, 0), 100).ask(TASKS, 4)

    assert {one.expected: found[one.task_id].passed for one in TASKS} == {"L0": 4, "L1": 0, "L2": 0, "L3": 0}


def test_rates_are_means_of_what_journals_say(tmp_path: Path) -> None:
    """By hop."""
    journal = Journal(tmp_path / "a.ndjson")
    attempts(Known(*right(TASKS[0])), 100, journal).ask(TASKS, 8)

    found = rates([Journal(tmp_path / "a.ndjson")])

    assert found["route"].calls == 16
    assert found["route"].seconds == pytest.approx(
        sum(float(str(one["seconds"])) for one in journal.answers()) / 16
    )
