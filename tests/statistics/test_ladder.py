"""The Ladder against an asker who chooses each query by what was told before."""

from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi.errors import ContractError
from rsi.statistics.ladder import climb, excess, step_of

SCORES = st.lists(st.floats(0, 1), max_size=40)
STEPS = st.floats(0.01, 0.5)


def told(scores: list[float], step: float) -> list[float]:
    """What is told after each."""
    best, found = None, []
    for score in scores:
        best = climb(best, score, step)
        found.append(best)
    return found


@given(SCORES, STEPS)
def test_what_is_told_moves_up_in_steps_and_seldom(scores: list[float], step: float) -> None:
    """Whole steps, never down, at most as often as there are steps in all."""
    found = told(scores, step)

    assert found == sorted(found)
    assert all(one / step == pytest.approx(round(one / step)) for one in found)
    assert len(set(found)) <= 1 / step + 1


@given(SCORES.filter(bool), STEPS)
def test_what_is_told_is_near_the_best_score(scores: list[float], step: float) -> None:
    """By a step below at most, and by half a step above."""
    assert max(scores) - step - 1e-9 <= told(scores, step)[-1] <= max(scores) + step / 2 + 1e-9


@given(SCORES.filter(bool), STEPS, st.floats(-0.5, 0.5))
def test_a_score_that_is_no_new_best_tells_nothing(scores: list[float], step: float, less: float) -> None:
    """Whatever it is, what is told is the same."""
    best = told(scores, step)[-1]
    worse = min(max(best + step - abs(less), 0.0), 1.0)

    assert climb(best, worse, step) == best


def boost(ladder: bool, items: int, queries: int, seed: int) -> float:
    """The score told at the end to an asker without any knowledge, whose true score is a half.

    It asks random answers, keeps what was told to be better than a half or than before, and in the end asks for the
    majority of what it kept.
    """
    chance = np.random.default_rng(seed)
    right, step = chance.integers(0, 2, items), step_of(items)
    best, kept = None, []
    for _ in range(queries):
        answers = chance.integers(0, 2, items)
        score = float(np.mean(answers == right))
        before, best = best, climb(best, score, step) if ladder else score
        if best > (max(before or 0.5, 0.5) if ladder else 0.5):
            kept.append(answers)
    votes = np.mean(kept, axis=0) > 0.5 if kept else chance.integers(0, 2, items)
    last = float(np.mean(votes == right))
    return climb(best, last, step) if ladder else last


@pytest.mark.parametrize("seed", range(5))
def test_an_adaptive_asker_gains_no_more_than_the_bound(seed: int) -> None:
    """With 400 queries on 2,000 items; one who is told each score exactly gains far more than chance allows."""
    items, queries = 2000, 400
    plain, laddered = boost(False, items, queries, seed), boost(True, items, queries, seed)

    assert laddered - 0.5 <= excess(items, queries + 1, step_of(items), 1e-6)
    assert laddered <= 0.5 + 4 * 0.5 / sqrt(items) + step_of(items)
    assert plain > laddered + 0.05


def test_the_bound_shrinks_with_items_and_grows_with_queries() -> None:
    """And is never less than half a step."""
    found = [excess(items, 100, 0.05, 0.01) for items in (500, 2_000, 50_000)]

    assert found == sorted(found, reverse=True) and found[-1] > 0.025
    assert excess(2_000, 10, 0.05, 0.01) < excess(2_000, 1_000, 0.05, 0.01)


@pytest.mark.parametrize(("score", "step"), [(1.2, 0.1), (-0.1, 0.1), (0.5, 0.0), (0.5, 1.0), (float("nan"), 0.1)])
def test_what_is_no_share_is_refused(score: float, step: float) -> None:
    """Rather than told."""
    with pytest.raises(ContractError):
        climb(None, score, step)
    with pytest.raises(ContractError):
        step_of(0)
