"""AutoResearch: hypotheses, what is kept of them and why, and going on after a kill."""

import random
from pathlib import Path

import orjson
import pytest

from rsi.discover.hypotheses import HYPOTHESES
from rsi.discover.hypotheses.variant import Variant, built, request
from rsi.discover.research import Fate, Found, hypotheses, research, write_traces
from rsi.engine.local import LocalEngine
from rsi.expansion import Research
from rsi.ports import Engine
from rsi.records import ChatMessage, Origin, Task
from rsi.settings import Home
from rsi.store.journal import Journal
from rsi.tasks.attempt import Attempts, Policy
from rsi.tasks.bank import task
from rsi.tasks.calls import calls_of, expectation
from rsi.tasks.check import flaw
from rsi.verifiers.calls import Call
from tests.made import REQUESTS, FixedClock, base_digest, router
from tests.traces.inputs import load, rows

RULES = Research(calls=60, samples=8, low=0.1, high=0.9)
DEFINITION = {
    "name": "book_room",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "nights": {"type": "integer"}, "view": {"type": "string"}},
        "required": ["city", "nights"],
    },
}
TOOLS = orjson.dumps([{"type": "function", "function": DEFINITION}]).decode()


def routes() -> list[Task]:
    """One task a request, each role's in a mode of its own."""
    return [
        task(
            "route",
            (ChatMessage(role="user", content=text),),
            "choice",
            role,
            f"m-{role}",
            (f"trace-{role}",),
            "correction",
        )
        for role, texts in REQUESTS.items()
        for text in texts
    ]


def booking(city: str, nights: int, view: str = "") -> Task:
    """A task for one call."""
    said = f"Book a room in {city} for {nights} nights" + (f", with {view}" if view else "") + "."
    arguments = {"city": city, "nights": nights, **({"view": view} if view else {})}
    return task(
        "tool",
        (ChatMessage(role="user", content=said),),
        "tool_call",
        expectation([Call("book_room", arguments)], TOOLS),
        "m-2",
        ("t",),
        "expected_action",
        tools=TOOLS,
    )


BOOKINGS = [booking("Oslo", 3, "balcony"), booking("Lima", 12), booking("Quito", 2)]


def attempts(engine: Engine, budget: int = 60, journal: Journal | None = None) -> Attempts:
    """The version in service: the bare base under the repository's router."""
    return Attempts(
        lambda: engine, Policy("v" * 64, {}, router()), Journal(None) if journal is None else journal, budget
    )


@pytest.fixture(scope="module")
def engine(tiny_base: Path) -> LocalEngine:
    """The tiny model."""
    return LocalEngine(tiny_base, base_digest(tiny_base), threads=1)


def nothing(proposals: object) -> dict[str, str]:
    """Screens without an objection."""
    return {}


def variant(kind: str, seed: Task, others: list[Task], number: int = 1) -> Variant | None:
    """One hypothesis."""
    return HYPOTHESES[kind](seed, others, random.Random(number))


@pytest.mark.parametrize("kind", list(HYPOTHESES))
def test_every_kind_gives_well_defined_probes_and_the_same_for_the_same_seed(kind: str) -> None:
    """Of calls; each with words of its own."""
    made = [(seed, found) for seed in BOOKINGS if (found := variant(kind, seed, BOOKINGS))]

    assert made
    for seed, found in made:
        assert found == variant(kind, seed, BOOKINGS)
        assert found.request != request(seed)
        probe = built(seed, found, kind)
        assert flaw(probe) is None
        assert (probe.generator, probe.source, probe.traces) == (f"research/{kind}", "research", seed.traces)


def test_a_chain_expects_both_calls_and_a_route_the_same_specialist() -> None:
    """In whatever order."""
    found = variant("chained", BOOKINGS[0], BOOKINGS)
    assert found is not None
    assert len(calls_of(found.expected)) == 2
    page = next(one for one in routes() if one.expected == "L3")
    route = variant("chained", page, routes())
    assert route is not None and route.expected == "L3"
    assert any(text in route.request.lower() for text in REQUESTS["L3"] if text != request(page))


def test_a_contradiction_takes_back_what_another_specialist_would_do() -> None:
    """What is asked last counts."""
    page = next(one for one in routes() if one.expected == "L3")
    found = variant("contradiction", page, routes())
    assert found is not None and found.expected == "L3"
    others = [text for role, texts in REQUESTS.items() if role != "L3" for text in texts]
    assert any(text in found.request.lower() for text in others)


def test_other_slot_values_change_request_and_call_together() -> None:
    """The call says what the request says."""
    found = variant("slots", BOOKINGS[1], BOOKINGS)
    assert found is not None
    (call,) = calls_of(found.expected)
    assert call.arguments["nights"] != 12
    assert f"in {call.arguments['city']} for {call.arguments['nights']} nights" in found.request


def test_a_lifted_constraint_leaves_request_and_call() -> None:
    """Only an optional argument can go."""
    found = variant("lifted", BOOKINGS[0], BOOKINGS)
    assert found is not None
    assert "balcony" not in found.request
    assert calls_of(found.expected) == (Call("book_room", {"city": "Oslo", "nights": 3}),)
    assert variant("lifted", BOOKINGS[1], BOOKINGS) is None


def test_what_is_kept_is_passed_sometimes(engine: LocalEngine) -> None:
    """Between the deployment's bounds; the log tells of every hypothesis what became of it and why."""
    found = research(routes(), RULES, attempts(engine), Journal(None), nothing)

    assert found.kept
    for one in found.kept:
        assert RULES.low <= one.passed / one.samples <= RULES.high
        assert flaw(one) is None
    for line in found.log:
        rate = line.passed / line.samples
        fate = Fate.TOO_HARD if rate < RULES.low else Fate.TOO_EASY if rate > RULES.high else Fate.KEPT
        assert (line.fate, line.why) == (fate, f"{line.passed} of {line.samples} right")
    assert found.calls == len(found.log) <= RULES.calls


def test_the_budget_ends_the_search(engine: LocalEngine) -> None:
    """Not one question more."""
    made = attempts(engine, budget=5)
    found = research(routes(), RULES.model_copy(update={"calls": 5}), made, Journal(None), nothing)

    assert found.calls == 5 == len(found.log)


class Forbidden:
    """An engine that must not hear some texts."""

    def __init__(self, real: LocalEngine, texts: set[str]) -> None:
        self._real, self._texts = real, texts

    def choose(self, prompts: list[tuple[ChatMessage, ...]], *more: object) -> list[tuple[float, ...]]:
        """The real numbers, unless a text is one of those."""
        for prompt in prompts:
            assert prompt[-1].content not in self._texts, "a held-out item was asked"
        return self._real.choose(prompts, *more)  # type: ignore[arg-type]


def test_a_held_out_item_is_never_asked(engine: LocalEngine) -> None:
    """The screens look before the model does, and the log says which of them objected."""
    probes = [probe for *_, probe in hypotheses(routes(), RULES.seed)]
    held_out = {request(one): one.task_id for one in probes[::2]}

    def objections(proposals: list[Task]) -> dict[str, str]:
        return {one.task_id: "held_out_exact" for one in proposals if one.task_id in held_out.values()}

    made = attempts(Forbidden(engine, set(held_out)))  # type: ignore[arg-type]
    found = research(routes(), RULES, made, Journal(None), objections)  # type: ignore[arg-type]

    screened = [one for one in found.log if one.fate is Fate.SCREENED]
    assert screened and {one.why for one in screened} == {"held_out_exact"}
    assert all(one.samples == 0 for one in screened)


class Dying:
    """An engine that breaks after so many questions."""

    def __init__(self, real: LocalEngine, after: int) -> None:
        self._real, self.left = real, after

    def choose(self, prompts: list[object], *more: object) -> list[tuple[float, ...]]:
        """The real numbers, or the end."""
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return self._real.choose(prompts, *more)  # type: ignore[arg-type]


@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_search_that_was_killed_goes_on_to_the_same_end(
    engine: LocalEngine, tmp_path: Path, after: int
) -> None:
    """Also where the log ends in half a line."""
    whole = research(routes(), RULES, attempts(engine), Journal(None), nothing)

    def journals() -> tuple[Journal, Journal]:
        return Journal(tmp_path / "attempts.ndjson"), Journal(tmp_path / "log.ndjson")

    answers, log = journals()
    with pytest.raises(KeyboardInterrupt):
        research(routes(), RULES, attempts(Dying(engine, after), journal=answers), log, nothing)  # type: ignore[arg-type]
    if after:
        with (tmp_path / "log.ndjson").open("ab") as file:
            file.write(b'{"key": "torn')
    answers, log = journals()
    known = len(answers)
    again = attempts(engine, journal=answers)
    found = research(routes(), RULES, again, log, nothing)

    assert (found.kept, found.log, found.calls) == (whole.kept, whole.log, whole.calls)
    assert len(Journal(tmp_path / "log.ndjson")) == len(whole.log)
    assert known == 8 * after


def test_probes_become_traces_of_their_own_origin(engine: LocalEngine, home: Home) -> None:
    """Once, however often the search is told of; with the version and what it answered."""
    made = attempts(engine)
    found = research(routes(), RULES, made, Journal(None), nothing)
    path = write_traces(home.inbox, "2026-01-02-x", found, made, FixedClock(), "tiny")
    assert path is not None
    before = path.read_bytes()
    assert write_traces(home.inbox, "2026-01-02-x", found, made, FixedClock(), "tiny") == path
    assert path.read_bytes() == before

    load(home, path)

    read = rows(home, "select origin, version, route, input_text from traces order by input_text")
    assert {origin for origin, *_ in read} == {Origin.PROBE.value}
    asked = {one.request: one.answer for one in found.log if one.samples}
    assert {text: route for *_, route, text in read} == asked
    assert {version for _, version, *_ in read} == {"v" * 64}


def test_written_answers_are_searched_by_the_same_code(engine: LocalEngine) -> None:
    """A model that cannot call tools finds every probe too hard; each costs as many calls as samples."""
    short = router().model_copy(update={"sampling": router().sampling.model_copy(update={"max_tokens": 4})})
    made = Attempts(lambda: engine, Policy("v", {}, short), Journal(None), 6)
    found: Found = research(BOOKINGS, RULES.model_copy(update={"samples": 2}), made, Journal(None), nothing)

    assert [one.fate for one in found.log] == [Fate.TOO_HARD] * 3
    assert found.calls == 6
