"""Actions done against actions expected."""

from hypothesis import given
from hypothesis import strategies as st

from rsi.discover.actions import (
    Action,
    Mismatch,
    compare,
    deciding_tools,
    expected_actions,
    expected_outputs,
    loaded,
)
from tests.discover.facts_made import call, facts

RENEW = frozenset({"renew"})


def renew(**arguments: object) -> Action:
    return Action("renew", arguments)


def test_pairs_are_the_most_alike() -> None:
    """Exact ones first, then by arguments in common; with none in common there is no pair."""
    expected = [renew(b=1, w=1), renew(b=2, w=2)]
    assert compare(expected, [renew(b=2, w=9), renew(b=1, w=1)], RENEW) == Mismatch(wrong=((1, 0, ("w",)),))
    assert compare(expected[:1], [renew(b=7, w=7)], RENEW) == Mismatch(missing=(0,), unexpected=(0,))
    assert compare([renew(b=1)], [renew(b=2)], RENEW) == Mismatch(wrong=((0, 0, ("b",)),))
    one, longer = renew(b=1), renew(b=1, a=2, w=3)
    assert compare([longer, one], [one], RENEW) == Mismatch(missing=(0,))
    assert compare([one], [renew(b=1, w=2)], RENEW) == Mismatch(wrong=((0, 0, ("w",)),))


def test_only_deciding_tools_and_arguments_that_count() -> None:
    """The rest may be as it likes."""
    assert not compare([Action("look", {})], [], RENEW).any
    some = Action("renew", {"b": 1, "note": "x"}, frozenset({"b"}))
    assert not compare([some], [renew(b=1, note="y")], RENEW).any
    assert compare([some], [renew(b=2, note="x")], RENEW).wrong == ((0, 0, ("b",)),)


ACTIONS = st.lists(
    st.builds(
        Action,
        st.sampled_from(["renew", "pay", "look"]),
        st.dictionaries(st.sampled_from("abc"), st.integers(0, 2), max_size=3),
    ),
    max_size=6,
)


@given(ACTIONS, ACTIONS)
def test_every_action_of_a_deciding_tool_has_one_fate(expected: list[Action], done: list[Action]) -> None:
    """Equal, wrong, missing or unexpected; against itself nothing differs."""
    tools = frozenset({"renew", "pay"})
    found = compare(expected, done, tools)
    wanted = sum(one.tool in tools for one in expected)
    did = sum(one.tool in tools for one in done)
    assert wanted - len(found.missing) == did - len(found.unexpected) >= len(found.wrong)
    assert not compare(expected, list(reversed(expected)), tools).any


def test_tools_that_decide_are_learnt_from_runs_that_passed() -> None:
    """A look-up is done more or less often than expected by runs that pass; an action is not."""
    expected: list[tuple[str, dict[str, object]]] = [("look", {"b": 1}), ("renew", {"b": 1})]
    passed = facts("a", outcome="pass", expected=expected, calls=(call("renew", b=1), call("think")))
    failed = facts("b", outcome="fail", expected=expected, calls=(call("look", b=1),))
    assert deciding_tools([passed, failed]) == {"renew"}
    assert deciding_tools([failed]) == {"look", "renew"}, "nothing passed: what is expected decides"


def test_what_is_expected_as_text() -> None:
    """Anything else than a list of named actions is none."""
    assert expected_actions(facts("t")) is None
    assert expected_outputs(facts("t", expected=[], outputs=["12"])) == ["12"]
    assert loaded("{broken") == {}
    assert loaded("[1]") == {}
