"""Tools' spans and the calls they ran."""

import pytest

from rsi.traces.formats.pairing import paired
from rsi.traces.formats.run import Step, ToolUse
from rsi.traces.formats.turns import Turn, said, tool_call
from rsi.traces.rows import Json


def model(number: int, *turns: Turn, asked: tuple[Turn, ...] = ()) -> Step:
    return Step(f"m{number}", "llm", start_ns=number, asked=asked, answered=turns)


def tool(number: int, name: str, given: Json, result: str | None, native: str | None = None) -> Step:
    return Step(f"t{number}", "tool", start_ns=number, tool=ToolUse(tool_call(native, name, given), result))


def calls(*told: tuple[str, str, Json]) -> Turn:
    return Turn("assistant", calls=tuple(tool_call(*one) for one in told))


def ids(steps: tuple[Step, ...]) -> list[str | None]:
    return [one.tool.call.native_id for one in steps if one.tool]


def test_equal_arguments_in_order() -> None:
    """Two calls alike go to the two spans in order of time, whatever the order they come in."""
    asked = model(1, calls(("a", "dig", {"bed": 1}), ("b", "dig", {"bed": 1}), ("c", "dig", {"bed": 2})))
    steps = [
        tool(4, "dig", {"bed": 1}, "x"),
        tool(3, "dig", {"bed": 2}, "y"),
        tool(2, "dig", {"bed": 1}, "z"),
        asked,
    ]
    found = paired(steps)
    assert [one.native_id for one in found] == ["m1", "t2", "t3", "t4"]
    assert ids(found) == ["a", "c", "b"]
    assert paired(steps[::-1]) == found


@pytest.mark.parametrize(
    ("name", "given"),
    [("dig", {"input": {"bed": 1}}), ("dig", {"input": '{"bed": 1}'}), ("dig_1", {"bed": 1})],
)
def test_spellings_of_libraries(name: str, given: Json) -> None:
    """Arguments one level down, names that are counted."""
    assert ids(paired([model(1, calls(("a", "dig", {"bed": 1}))), tool(2, name, given, "x")])) == ["a"]


def test_the_same_result_tells_where_arguments_do_not() -> None:
    """Of the same tool only."""
    answer = Turn("tool", "5 litres", "full", answers="a")
    steps = [
        model(1, calls(("a", "dig", {"bed": 1}))),
        tool(2, "dig", "{'bed': 1}", "5 litres"),
        model(3, asked=(answer,)),
    ]
    assert ids(paired(steps)) == ["a"]
    other = [steps[0], tool(2, "rake", None, "5 litres"), steps[2]]
    assert ids(paired(other)) == [None]


def test_a_call_that_a_span_names_is_not_given_away() -> None:
    """The span without an id stays without one."""
    steps = [model(1, calls(("a", "dig", {}))), tool(2, "dig", {}, "x", "a"), tool(3, "dig", {}, "y")]
    assert ids(paired(steps)) == ["a", None]


def test_results_that_nobody_else_tells_become_messages() -> None:
    """The last call's, after which no model was asked; told ones are not told twice."""
    first, last = calls(("a", "dig", {"bed": 1})), calls(("b", "dig", {"bed": 2}))
    answer = Turn("tool", '{"litres":5}', "full", answers=None)
    ran = [tool(2, "dig", {"bed": 1}, '{"litres": 5}'), tool(4, "dig", {"bed": 2}, "done")]
    steps = [model(1, first), model(3, last, asked=(answer,)), *ran]
    found = {one.native_id: one for one in paired(steps)}
    assert found["t2"].answered == ()
    assert found["t4"].answered == (Turn("tool", "done", "full", answers="b", tool="dig"),)
    alone = paired([tool(4, "dig", {"bed": 2}, "done")])
    assert alone[0].answered == ()


def test_steps_without_tools_are_only_ordered() -> None:
    """By time, then by name."""
    steps = [Step("b", start_ns=1), Step("a", start_ns=1), model(0, said("assistant", "x"))]
    assert [one.native_id for one in paired(steps)] == ["m0", "a", "b"]
