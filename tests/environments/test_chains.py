"""Chains of look-ups under a salt."""

import re

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rsi.environments import kind
from rsi.environments.chains import world as keyed
from rsi.environments.chains.environment import Chains
from rsi.environments.chains.tasks import FAMILIES, GENERATOR, LONG, Look
from rsi.environments.generator import call
from rsi.errors import ContractError
from rsi.harness.rules import Rules
from rsi.ports import Environment
from rsi.records import Pool, ToolCall, WorldTask
from tests.worlds_made import content, made, scored, shared

TASK = GENERATOR.task(1, 1, Pool.TRAIN)
A, B = keyed.code(1), keyed.code(2)
ASKED = re.compile("[a-z]+")


def every() -> list[WorldTask]:
    """Twelve hundred tasks, a sixth of them at each depth."""
    return [one for pool in Pool for one in made("chains")[pool]]


def answered(one: WorldTask, *results: object) -> tuple[ToolCall, ...]:
    """The task's look-ups, and these answers after them."""
    return (*one.oracle[:-1], *(call("answer", result=str(each)) for each in results))


def salt_of(one: WorldTask) -> str:
    """What its results are keyed by."""
    return str(orjson.loads(one.world)["salt"])


def codes_of(one: WorldTask) -> list[str]:
    """The codes that a request names, in their order there."""
    return [word for word in ASKED.findall(one.request) if keyed.is_code(word)]


def solved(one: WorldTask, world: Environment) -> None:
    """Play a task by its request and by what tools say, and by nothing else."""
    world.reset(one, 0)
    family, said = content(one)
    steps = int(said.get("steps", "0").split(" ")[0])
    codes = re.split(", | and ", said.get("codes", ""))

    def after(code: str, count: int = 1) -> str:
        for _ in range(count):
            code = world.call("next", {"code": code}).text
        return code

    def value(code: str) -> int:
        return int(world.call("value", {"code": code}).text)

    match family:
        case "next" | "follow":
            result: object = after(said["code"], steps or 1)
        case "value" | "reach":
            result = value(after(said["code"], steps))
        case "total":
            result = sum(value(code) for code in codes)
        case "range":
            values = [value(code) for code in codes]
            result = max(values) - min(values)
        case "largest":
            result = after(max(codes, key=value))
        case "smallest":
            result = after(min(codes, key=value))
        case _:
            result = after(said["odd" if value(after(said["code"], steps)) % 2 else "even"])
    assert not world.call("answer", {"result": str(result)}).failed


def test_who_follows_the_plan_is_always_right():
    """By the oracle, and by the request's words alone; of every family, at every depth that it has."""
    for one in every():
        world = kind("chains").open()
        solved(one, world)
        assert f'{{"state":{world.final_state()}}}' == one.expected, one.request
        assert scored(one, one.oracle) == 1
    asked = {(one.kind, one.level) for one in every()}
    assert asked == {(name, depth) for name, family in FAMILIES.items() for depth in family.depths}


def test_nobody_is_right_without_looking():
    """Silence, an empty answer, a constant, the request and any code that it names: none of twelve hundred."""
    for one in every():
        words = ("", "0", "500", A, one.request, *codes_of(one))
        tries = [(), *((call("answer", result=word),) for word in words)]
        assert {scored(one, some) for some in tries} == {0.0}, one.request


def test_nobody_is_right_a_look_up_short():
    """What was seen before the last look-up, each of it and its sum, is not the answer."""
    for one in every():
        world = kind("chains").open()
        world.reset(one, 0)
        seen = [world.call(each.name, each.arguments).text for each in one.oracle[:-2]]
        whole = sum(int(text) for text in seen if text.isdecimal())
        assert scored(one, one.oracle[:-1]) == 0
        assert {scored(one, answered(one, word)) for word in (*seen, whole)} == {0.0}, one.request


def test_who_skips_the_look_up_that_decides_is_right_half_of_the_time():
    """The one thing that luck can spare: the side of a fork."""
    forks = [one for one in every() if one.kind in ("parity", "branch")]
    right = sum(one.oracle[-2].arguments["code"] == content(one)[1]["even"] for one in forks)

    assert len(forks) > 100
    assert 0.38 < right / len(forks) < 0.62


class Misled(Look):
    """Somebody who is told something else once."""

    def __init__(self, salt: str, at: int, instead: str) -> None:
        super().__init__(salt)
        self._at, self._instead = at, instead

    def _noted(self, one: ToolCall, result: str) -> str:
        other = self._instead if len(self.calls) == self._at else result
        return super()._noted(one, other)


@given(st.integers(0, 2**64), st.sampled_from(LONG.levels), st.sampled_from(list(Pool)))
@example(45_750_769_025, 6, Pool.REWORDED)
@settings(max_examples=60)
def test_the_depth_is_the_least_number_of_look_ups(seed, level, pool):
    """Each of them could have said something by which the answer is another one, so that none may be left out."""
    one = LONG.task(seed, level, pool)
    family, salt = FAMILIES[one.kind], salt_of(one)
    named = codes_of(one)
    if one.kind in ("parity", "branch"):
        said = content(one)[1]
        named = [said["code"], said["even"], said["odd"]]
    answer = one.oracle[-1].arguments["result"]

    assert str(family.solve(Look(salt), named, level)) == answer
    assert len(one.oracle) == level + 1
    for at, look in enumerate(one.oracle[:-1]):
        others = ("100", "101", "998", "999") if look.name == "value" else map(keyed.code, range(20))
        found = {str(family.solve(Misled(salt, at, other), named, level)) for other in others}
        assert found - {answer}, (one.request, at)


def test_the_answer_is_in_no_prompt():
    """Neither in the request nor in the rules nor in what is told of tools, and the salt in none of them."""
    world = kind("chains").open()
    shown = f"{world.policy} {world.tools}"
    for one in every():
        answer = str(one.oracle[-1].arguments["result"])
        words = re.findall(r"\w+", f"{one.request} {shown}")
        assert answer not in words, one.request
        assert salt_of(one) not in one.request + shown


def test_no_two_tasks_share_a_salt():
    """Whatever the pool and whatever the seed: what training sees says nothing of what the gate asks."""
    drawn = [one for seed in (1, 2, 2**62) for pool in Pool for one in GENERATOR.tasks(40, seed, pool)]
    salts = {salt_of(one) for one in (*every(), *drawn)}

    assert len(salts) == len(every()) + len(drawn)


@given(st.integers(0, keyed.CODES - 1), st.text())
def test_a_code_leads_to_a_code_and_has_a_value_in_bounds(number, salt):
    """Whatever the salt."""
    code = keyed.code(number)

    assert keyed.is_code(code) and keyed.is_code(keyed.after(salt, code))
    assert keyed.LEAST <= keyed.value(salt, code) <= keyed.MOST


def test_what_was_learnt_by_heart_is_worth_nothing_elsewhere():
    """Of two thousand codes, the values under one salt are those under another as often as chance has it."""
    codes = [keyed.code(number) for number in range(2000)]

    assert sum(keyed.value("a", one) == keyed.value("b", one) for one in codes) < 10
    assert not any(keyed.after("a", one) == keyed.after("b", one) for one in codes)
    assert len({keyed.value("a", one) for one in codes}) > 700


def test_a_harness_that_says_nothing_else_allows_as_many_turns_as_chains_need():
    """Long ones want more: a turn a look-up, and one for the answer."""
    short, long = (kind(name).tasks(24, 3, Pool.TRAIN) for name in ("chains", "long-chains"))

    assert {len(one.oracle) for one in short} == {2, Rules().turns}
    assert {one.level for one in long} == set(range(1, 7))
    assert all(len(one.oracle) == one.level + 1 for one in long)


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("next", {"code": "done"}, "no code done"),
        ("value", {"code": "417"}, "no code 417"),
        ("value", {"code": A + "x"}, f"no code {A}x"),
        ("guess", {}, "no tool guess"),
    ],
)
def test_what_is_refused_says_why_and_changes_nothing(tool, arguments, text):
    """What is no code, and what is no tool."""
    world = kind("chains").open()
    world.reset(TASK, 0)
    before = world.final_state()

    assert world.call(tool, arguments) == (text, True)
    assert world.final_state() == before


def test_the_first_answer_stands():
    """A second one is refused, so that trying leads nowhere; look-ups still work."""
    right = TASK.oracle[-1].arguments["result"]
    world = kind("chains").open()
    world.reset(TASK, 0)

    assert world.call("answer", {"result": "1"}).text == "ok"
    assert world.call("answer", {"result": right}) == ("answered already", True)
    assert scored(TASK, answered(TASK, 1, right)) == 0
    assert scored(TASK, answered(TASK, right, 1)) == 1
    assert world.call("next", {"code": A}).text == keyed.after(salt_of(TASK), A)


def test_chains_are_reset_once_with_a_world_of_their_own():
    """Anything else is the caller's fault, and says what to do."""
    world = Chains()
    with pytest.raises(ContractError, match="never reset"):
        world.final_state()
    for other in ({"environment": "desk"}, {"world": "{}"}, {"world": "[]"}):
        with pytest.raises(ContractError, match="it needs salt, answers"):
            world.reset(TASK.model_copy(update=other), 0)
    world.reset(TASK, 0)
    with pytest.raises(ContractError, match="open others"):
        world.reset(TASK, 0)
    world.close()


def test_pools_share_nothing():
    """Neither a request, nor what one asks for in other words, nor a world."""
    assert shared("chains") == set()
