"""The grid, and a bank that leaves no mode out."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from rsi.expand.aims import Aim
from rsi.expand.coverage import Dimension, Spot, asked, balance, filled, grid
from rsi.expand.facets import facets, length, value_class
from rsi.expand.runs import Run, Turn
from rsi.expand.tools import learn, offered
from rsi.records import ChatMessage, Task
from rsi.tasks.bank import task
from rsi.tasks.calls import expectation
from rsi.tasks.refused import Reason
from rsi.verifiers.calls import Call

ROLES = ("L0", "L1", "L2", "L3")
RIGHT = Call("book_room", {"city": "Oslo", "nights": 3})
RUN = Run("a", "1", "pass", (Turn("user", "a room in Oslo for 3 nights"),), (RIGHT,))
TOOLS = learn([RUN], [])
AIM = Aim("m-1", "wrong_arguments", "book_room", "nights")


def call_task(**arguments: object) -> Task:
    """A task of mode m-1 that expects one call."""
    tools = offered(TOOLS)
    made = task(
        "tool",
        (ChatMessage(role="user", content="I would like a room in the old town of Oslo"),),
        "tool_call",
        expectation([Call("book_room", dict(arguments))], tools),
        "m-1",
        ("a",),
        "schema",
        tools=tools,
    )
    return made.model_copy(update={"facets": facets(made)})


def test_a_mode_that_names_an_argument_asks_for_its_type_and_the_classes_of_its_values() -> None:
    """Not for those of the tool's other arguments; and for every length and the languages that people wrote in."""
    wanted = asked([AIM], TOOLS, ["en", "de"])

    assert {one.value for one in wanted if one.dimension == Dimension.ARGUMENT} == {"integer"}
    assert {one.value for one in wanted if one.dimension == Dimension.SLOT} == {
        "integer:zero", "integer:negative", "integer:small", "integer:large",
    }  # fmt: skip
    assert {one.value for one in wanted if one.dimension == Dimension.LENGTH} == {"short", "medium", "long"}
    assert {one.value for one in wanted if one.dimension == Dimension.LANGUAGE} == {"en", "de"}


def test_a_task_fills_the_cells_that_it_shows() -> None:
    """And no cell that nobody asked for."""
    wanted = asked([AIM], TOOLS, ["en"])

    found = filled([call_task(city="Oslo", nights=-2)], wanted)

    assert Spot("m-1", "slot", "integer:negative") in found
    assert Spot("m-1", "tool", "book_room") in found
    assert Spot("m-1", "length", "short") in found
    assert Spot("m-1", "slot", "integer:large") not in found
    assert Spot("m-1", "difficulty", "sometimes") not in found


def test_a_measured_task_fills_its_difficulty() -> None:
    """Right sometimes is what a group of answers can learn from."""
    wanted = asked([AIM], TOOLS, ["en"])
    measured = call_task(city="Oslo", nights=2).model_copy(update={"passed": 3, "samples": 8})

    assert Spot("m-1", "difficulty", "sometimes") in filled([measured], wanted)


def test_the_grid_counts_cells_by_mode_and_dimension() -> None:
    """With the values that are missing."""
    cells = ["m-1/slot/integer:zero", "m-1/slot/integer:large", "m-1/length/short"]

    assert grid(cells, ["m-1/slot/integer:large"]) == {
        ("m-1", "slot"): (2, 1, ("integer:large",)),
        ("m-1", "length"): (1, 1, ()),
    }


def test_values_have_a_class_by_what_can_go_wrong_with_them() -> None:
    """Type first."""
    assert value_class(0) == "integer:zero"
    assert value_class(-1.5) == "number:negative"
    assert value_class(True) == "boolean:true"
    assert value_class("2026-03-04") == "string:date"
    assert value_class("HAT136") == "string:id"
    assert value_class("two words") == "string:words"
    assert value_class([]) == "array:empty"
    assert value_class({"a": {"b": 1}}) == "object:nested"


def test_length_is_counted_in_words() -> None:
    """Up to twelve are short, up to forty medium."""
    assert [length("word " * count) for count in (12, 13, 40, 41)] == ["short", "medium", "medium", "long"]


def _task(number: int, expected: str, mode: str | None) -> Task:
    return task(
        "route",
        (ChatMessage(role="user", content=f"{number}"),),
        "choice",
        expected,
        mode,
        ("t",),
        "correction",
    )


@given(
    st.lists(st.tuples(st.sampled_from(ROLES), st.sampled_from(["m-1", "m-2", None])), max_size=60),
    st.integers(1, 60),
)
def test_balance_keeps_the_limits_and_loses_no_count(drawn, most):
    """Kept and left out add up; of several answers none holds more than its share."""
    tasks = [_task(number, expected, mode) for number, (expected, mode) in enumerate(drawn)]

    kept, left = balance(tasks, most, 0.5)

    assert sorted(one.task_id for one in (*kept, *(one for one, _ in left))) == sorted(
        one.task_id for one in tasks
    )
    assert len(kept) <= most
    counts = Counter(one.expected for one in kept)
    if len(counts) > 1:
        assert all(count <= max(1, len(kept) - count) for count in counts.values())


def test_a_rare_mode_is_covered_before_a_common_one_fills_the_bank():
    """One task a mode and round."""
    tasks = [_task(number, ROLES[number % 4], "m-common") for number in range(20)] + [
        _task(99, "L1", "m-rare")
    ]

    kept, left = balance(tasks, 4, 1.0)

    assert "m-rare" in {one.mode_id for one in kept}
    assert [why.reason for _, why in left] == [Reason.OVER_LIMIT] * 17
    assert left[0][1].evidence == "the bank has 4 tasks of 21, one a mode and round"
