"""Mixtures of new, old and made-up tasks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi.records import ChatMessage, Task
from rsi.tasks.bank import task
from rsi.tasks.mixture import capped, replayed


def made(number: int, expected: str = "L1", generator: str = "") -> Task:
    """A task of its own."""
    turns = (ChatMessage(role="user", content=f"request number {number}"),)
    return task("route", turns, "choice", expected, "m-1", ("t",), "correction", generator=generator)


NEW = [made(number) for number in range(18)]
OLD = [made(number) for number in range(100, 140)]


def test_replay_is_a_seeded_share_of_the_whole() -> None:
    """In whatever order the older tasks come."""
    found = replayed(NEW, OLD, 0.1, 1)

    assert len(found) == 2
    assert {one.task_id for one in found} <= {one.task_id for one in OLD}
    assert found == replayed(NEW, OLD[::-1], 0.1, 1)
    assert any(replayed(NEW, OLD, 0.1, seed) != found for seed in range(2, 6))
    assert replayed(NEW, OLD, 0.0, 1) == ()


def test_a_request_that_is_asked_anew_is_not_replayed() -> None:
    """Neither with the answer of then nor with that of now."""
    old = [made(0, "L2"), made(1)]

    assert replayed(NEW, old, 0.5, 1) == ()


@given(st.lists(st.booleans(), max_size=40), st.sampled_from([0.0, 0.1, 0.5, 0.9]))
def test_made_up_tasks_are_capped_and_none_is_lost_from_sight(drawn: list[bool], share: float) -> None:
    """What people said always stays."""
    tasks = [made(number, generator="schema" if one else "") for number, one in enumerate(drawn)]

    kept, left = capped(tasks, share)

    assert sorted((*kept, *left), key=tasks.index) == tasks
    assert all(one.generator for one in left)
    assert [one for one in kept if not one.generator] == [one for one in tasks if not one.generator]
    assert sum(bool(one.generator) for one in kept) <= share * len(kept) + 1e-9


@pytest.mark.parametrize("share", [0.5, 0.99])
def test_without_a_task_of_people_there_is_none_made_up(share: float) -> None:
    """A share of nothing is nothing."""
    assert capped([made(1, generator="schema")], share) == ((), (made(1, generator="schema"),))
