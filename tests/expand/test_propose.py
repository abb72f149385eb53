"""From corrected traces to proposals, and their balance."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from rsi.expand.coverage import balance
from rsi.expand.propose import Corrected, propose
from rsi.records import ChatMessage, Task
from rsi.tasks.bank import task
from rsi.tasks.refused import Reason

ROLES = ("L0", "L1", "L2", "L3")


def test_a_wrong_route_makes_a_task_that_covers_its_mode():
    """Provenance names every trace that agrees."""
    made = propose(
        [Corrected("b", "sort it", "L0", "L2"), Corrected("a", "sort it", "L0", "L2")],
        ROLES,
        {"route:L2->L0": "m-1"},
    )

    assert [(one.expected, one.mode_id, one.traces) for one in made] == [("L2", "m-1", ("a", "b"))]


def test_a_right_route_makes_a_task_that_keeps_it():
    """It covers no mode."""
    made = propose([Corrected("a", "hello", "L0", "L0")], ROLES, {"route:L2->L0": "m-1"})

    assert [(one.expected, one.mode_id) for one in made] == [("L0", None)]


def test_a_correction_to_an_unknown_specialist_makes_none():
    """The harness's roles are closed."""
    assert propose([Corrected("a", "hello", "L0", "L7")], ROLES, {}) == []


def test_a_trace_without_route_shows_the_mode_of_unrouted_requests():
    """Logs from before routing."""
    made = propose([Corrected("a", "hello", None, "L1")], ROLES, {"route:L1->none": "m-2"})

    assert made[0].mode_id == "m-2"


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

    assert len(kept) + left.total() == len(tasks)
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
    assert left == {Reason.OVER_LIMIT: 17}
