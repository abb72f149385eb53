"""When a job stops before its last step, judged from its log alone, so that a resumed job judges the same.

A budget that is used up ends a job well: its adapter is what it has become. A rule that was broken leaves none.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rsi.settings import Update

Row = dict[str, float]
"""A line of ``metrics.jsonl``."""


class Stop(NamedTuple):
    """Why a job goes no further."""

    reason: str
    well: bool
    """Whether what it has become may be kept."""


def judged(settings: Update, rows: Sequence[Row]) -> Stop | None:
    """Whether to stop after these steps, all there are so far."""
    budget, guard = settings.budget, settings.guard
    seconds = sum(row["seconds"] for row in rows)
    sampled = sum(row["sampled"] for row in rows)
    if budget.seconds is not None and seconds >= budget.seconds:
        return Stop(f"its {budget.seconds:g} seconds were used up after {len(rows)} steps", True)
    if budget.tokens is not None and sampled >= budget.tokens:
        return Stop(f"its {budget.tokens} sampled tokens were used up after {len(rows)} steps", True)
    if budget.usd is not None and seconds / 3600 * budget.usd_an_hour >= budget.usd:
        return Stop(f"its ${budget.usd:g} were used up after {len(rows)} steps", True)
    alarm = settings.correction.alarm
    checks: tuple[tuple[Callable[[Row], bool], str], ...] = (
        (lambda row: row["live"] == 0, "no group carried a signal"),
        (
            lambda row: alarm is not None and row.get("k3", 0.0) > alarm,
            f"actor and learner were more than {alarm} nats a token apart (k3): another adapter or precision answers "
            "than the one that is trained",
        ),
        (
            lambda row: row.get("entropy", guard.entropy) < guard.entropy,
            f"the policy's entropy was under {guard.entropy} nats a token",
        ),
        (
            lambda row: row.get("repeated", 0.0) > guard.repeated,
            f"more than {guard.repeated:.0%} of the answers repeated themselves",
        ),
    )
    last = rows[-guard.patience :]
    for broken, words in checks:
        if len(last) == guard.patience and all(map(broken, last)):
            return Stop(f"in {guard.patience} steps in a row {words}", False)
    return None
