"""When a job stops, and under which name."""

from datetime import UTC, datetime

import pytest

from rsi.algorithm import Update
from rsi.update.guards import judged
from rsi.update.job import Reason

NOW = datetime(2026, 1, 2, 3, tzinfo=UTC)
ROW = {
    "live": 2.0,
    "seconds": 10.0,
    "sampled": 100.0,
    "entropy": 0.5,
    "k3": 0.01,
    "repeated": 0.1,
    "length": 12.0,
    "gradient_norm": 0.3,
}


def stop(rows, **settings):
    """What is judged of rows that differ from an ordinary one."""
    return judged(Update.model_validate(settings), [{**ROW, **row} for row in rows], NOW)


@pytest.mark.parametrize(
    ("reason", "budget", "words"),
    [
        (Reason.SECONDS, {"seconds": 20}, "its 20 seconds were used up after 2 steps"),
        (Reason.TOKENS, {"tokens": 200}, "its 200 sampled tokens were used up after 2 steps"),
        (Reason.MONEY, {"usd": 0.01, "usd_an_hour": 1.8}, "its $0.01 were used up after 2 steps"),
        (
            Reason.CLOCK,
            {"until": "2026-01-02T04:00:00+01:00"},
            "its time was over at 2026-01-02T04:00:00+01:00, after 2 steps",
        ),
    ],
    ids=lambda value: value.value if isinstance(value, Reason) else "",
)
def test_a_budget_ends_a_job_well(reason, budget, words):
    """At the bound, not a step before it."""
    assert stop([{}, {}], budget=budget) == (reason, words)
    assert reason.well
    if reason is not Reason.CLOCK:
        assert stop([{}], budget=budget) is None


def test_a_job_has_until_its_hour():
    """A second before it goes on; the hour needs its zone."""
    assert stop([{}], budget={"until": "2026-01-02T03:00:01Z"}) is None
    with pytest.raises(ValueError, match="timezone"):
        Update.model_validate({"budget": {"until": "2026-01-02T03:00:01"}})


@pytest.mark.parametrize(
    ("reason", "row", "settings"),
    [
        (Reason.NO_SIGNAL, {"live": 0.0}, {}),
        (Reason.MISMATCH, {"k3": 0.3}, {"correction": {"alarm": 0.2}}),
        (Reason.ENTROPY, {"entropy": 0.04}, {"guard": {"entropy": 0.05}}),
        (Reason.REPEATED, {"repeated": 0.6}, {"guard": {"repeated": 0.5}}),
        (Reason.LENGTH, {"length": 1.5}, {"guard": {"shortest": 2}}),
        (Reason.LENGTH, {"length": 300.0}, {"guard": {"longest": 256}}),
        (Reason.GRADIENT, {"gradient_norm": 40.0}, {"guard": {"gradient": 30}}),
    ],
    ids=lambda value: value.value if isinstance(value, Reason) else "",
)
def test_a_rule_ends_a_job_badly_when_it_is_broken_for_long_enough(reason, row, settings):
    """In as many steps in a row as its patience; one good step begins the count anew."""
    patient = {**settings, "guard": {**settings.get("guard", {}), "patience": 3}}

    assert stop([row] * 3, **patient).reason is reason
    assert stop([row, row, {}, row, row], **patient) is None
    assert stop([{}] * 3, **patient) is None
    assert not reason.well
