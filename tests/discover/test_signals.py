"""Signs of failure in one trace."""

import pytest

from rsi.discover.actions import compare, deciding_tools
from rsi.discover.facts import TraceFacts
from rsi.discover.signals import signals, words
from tests.discover.facts_made import call, facts, routed, score

RENEW = frozenset({"renew"})


def found(one: TraceFacts, deciding: frozenset[str] = RENEW) -> set[str]:
    return {sign.signature for sign in signals(one, deciding).signs}


@pytest.mark.parametrize(
    ("one", "signatures"),
    [
        (routed("t", "L2", "L0"), {"route:L2->L0"}),
        (routed("t", "L2", None), {"route:L2->none"}),
        (routed("t", "L2", "L2"), set()),
        (
            facts("t", route="L1", outcome="fail", decided_by="route", scores=(score("route", 0.0),)),
            {"outcome:route"},
        ),
        (
            facts("t", outcome="fail", decided_by="feedback", scores=(score("feedback", 0.0),)),
            {"outcome:feedback"},
        ),
        (
            facts(
                "t", outcome="fail", decided_by="reward", scores=(score("reward", 0.0, basis="r_outputs"),)
            ),
            {"outcome:reward:r_outputs"},
        ),
        (
            facts("t", outcome="fail", decided_by="feedback", scores=(score("feedback", 0.0, "so"),)),
            {"correction:feedback"},
        ),
        (facts("t", outcome="pass", decided_by="feedback", scores=(score("feedback", 1.0),)), set()),
        (facts("t", error="Engine: out of memory (7 GB)", outcome="fail"), {"error:engine out of memory"}),
        (
            facts("t", error="connection to 10.0.0.1 refused", outcome="fail"),
            {"error:connection to # refused"},
        ),
        (
            facts("t", calls=(call("f", error="Error: no seat"), call("f", error="Error: no seat"))),
            {"tool_error:f:no seat"},
        ),
        (facts("t", calls=(call("f"),)), set()),
    ],
)
def test_one_trace(one: TraceFacts, signatures: set[str]) -> None:
    """Each kind of sign, and none where nothing failed; several of one kind count once."""
    assert found(one) == signatures


def test_people_are_believed_before_labels_and_the_latest_of_equals() -> None:
    """Where corrections disagree."""
    said = (
        score("route", None, "L1", "label", 9),
        score("route", None, "L2", "human", 1),
        score("route", None, "L3", "human", 2),
        score("route", None, "L0", "llm", 99),
    )
    assert found(facts("t", route="L0", outcome="fail", scores=said)) == {"route:L3->L0"}


def test_expected_actions() -> None:
    """Missing, done otherwise, done without need; on runs that did not pass, and for tools that decide."""
    run = {
        "expected": [("look", {"b": 1}), ("renew", {"b": 1, "w": 3}), ("renew", {"b": 2, "w": 3})],
        "calls": (call("renew", b=1, w=9), call("other")),
    }
    failed = facts("t", outcome="fail", decided_by="reward", **run)  # type: ignore[arg-type]
    assert found(failed) == {"wrong_arguments:renew:w", "missing_action:renew"}
    assert found(facts("t", outcome="pass", **run)) == set()  # type: ignore[arg-type]
    more = {**run, "calls": (call("renew", b=1, w=3), call("renew", b=2, w=3), call("renew", b=3, w=3))}
    assert found(facts("t", outcome="fail", **more)) == {"unexpected_action:renew"}  # type: ignore[arg-type]


def test_an_action_that_was_refused_was_not_done() -> None:
    """It is missing, and the refusal is a sign of its own."""
    run = facts(
        "t",
        outcome="fail",
        expected=[("renew", {"b": 1})],
        calls=(call("renew", error="Error: too late", b=1),),
    )
    assert found(run) == {"missing_action:renew", "tool_error:renew:too late"}


def test_pairs_are_the_most_alike() -> None:
    """Exact ones first, then by arguments in common; with none in common there is no pair."""
    expected = [("renew", {"b": 1, "w": 1}), ("renew", {"b": 2, "w": 2})]
    mismatch = compare(expected, [("renew", {"b": 2, "w": 9}), ("renew", {"b": 1, "w": 1})], RENEW)
    assert (mismatch.missing, mismatch.wrong, mismatch.unexpected) == (
        frozenset(),
        {("renew", "w")},
        frozenset(),
    )
    mismatch = compare(expected[:1], [("renew", {"b": 7, "w": 7})], RENEW)
    assert (mismatch.missing, mismatch.wrong, mismatch.unexpected) == ({"renew"}, frozenset(), {"renew"})
    mismatch = compare([("renew", {"b": 1})], [("renew", {"b": 2})], RENEW)
    assert (mismatch.missing, mismatch.wrong, mismatch.unexpected) == (
        frozenset(),
        {("renew", "b")},
        frozenset(),
    )
    one, longer = ("renew", {"b": 1}), ("renew", {"b": 1, "a": 2, "w": 3})
    mismatch = compare([longer, one], [one], RENEW)
    assert (mismatch.missing, mismatch.wrong) == ({"renew"}, frozenset())
    mismatch = compare([("renew", {"b": 1})], [("renew", {"b": 1, "w": 2})], RENEW)
    assert mismatch.wrong == {("renew", "w")}


def test_tools_that_decide_are_learnt_from_runs_that_passed() -> None:
    """A look-up is done more or less often than expected by runs that pass; an action is not."""
    expected = [("look", {"b": 1}), ("renew", {"b": 1})]
    passed = facts("a", outcome="pass", expected=expected, calls=(call("renew", b=1), call("think")))
    failed = facts("b", outcome="fail", expected=expected, calls=(call("look", b=1),))
    assert deciding_tools([passed, failed]) == {"renew"}
    assert deciding_tools([failed]) == {"look", "renew"}, "nothing passed: what is expected decides"


def test_chances() -> None:
    """What a trace could have failed at, whether it did or not."""
    run = facts(
        "t", route="L2", outcome="pass", scores=(score("route", None, "L2"), score("reward", 1.0)),
        expected=[("renew", {"b": 1})], calls=(call("renew", b=1), call("look")),
    )  # fmt: skip
    assert {(chance.what, chance.subject) for chance in signals(run, RENEW).chances} == {
        ("expected role", "L2"),
        ("called", "renew"),
        ("called", "look"),
        ("expecting", "renew"),
        ("called against expectations", "renew"),
        ("called against expectations", "look"),
        ("trace", ""),
        ("scored", "route"),
        ("scored", "reward"),
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Error: payment amount does not add up, total price is 4875", "payment amount does not add up"),
        ("server: too busy. Try later", "server too busy"),
        ("Error: flight HAT030 not available on date 2024-05-13", "flight # not available on date"),
        ("ERROR - No Such User!", "no such user"),
        ("", "no message"),
        ("Error:", "no message"),
    ],
)
def test_words_of_an_error(text: str, said: str) -> None:
    """What stays the same from case to case."""
    assert words(text) == said
