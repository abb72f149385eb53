"""Counts of what was measured, and one version against another."""

import pytest

from rsi.gate.measure import Paired, Share
from rsi.records import Outcome, OutcomeKind

RIGHT, WRONG = Outcome(kind=OutcomeKind.SCORED, score=1.0), Outcome(kind=OutcomeKind.SCORED, score=0.0)
BROKEN = Outcome(kind=OutcomeKind.WRONG_FORMAT)


def test_what_has_no_score_is_not_right():
    """It counts among the tasks."""
    share = Share.of([RIGHT, WRONG, BROKEN, RIGHT])

    assert (share.right, share.tasks) == (2, 4)
    assert share.interval.low < 0.5 < share.interval.high


def test_two_versions_are_compared_task_by_task():
    """By those that only one of them solved."""
    before = [RIGHT] * 30 + [BROKEN] * 40 + [RIGHT] * 5 + [WRONG] * 25
    after = [RIGHT] * 30 + [RIGHT] * 40 + [WRONG] * 5 + [BROKEN] * 25

    found = Paired.of(before, after)

    assert (found.wins, found.losses, found.difference) == (40, 5, pytest.approx(0.35))
    assert 0 < found.interval.low < 0.35 < found.interval.high
    assert found.mid_p < 1e-6
    assert Paired.of(after, before).interval.high < 0
