"""When a job stops before its last step, judged from its log and the time, so that a resumed job judges the same.

A budget that is used up ends a job well: its adapter is what it has become. A rule that was broken leaves none.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from rsi.algorithm import Budget, Update
from rsi.update.job import Reason

Row = dict[str, float]
"""A line of ``metrics.jsonl``."""


class Stop(NamedTuple):
    """Why a job goes no further."""

    reason: Reason
    words: str


def judged(settings: Update, rows: Sequence[Row], now: datetime) -> Stop | None:
    """Whether to stop after these steps, all there are so far."""
    spent = _spent(settings.budget, rows, now)
    if spent is not None:
        return spent
    last = rows[-settings.guard.patience :]
    if len(last) < settings.guard.patience:
        return None
    for reason, broken, words in _rules(settings):
        if all(map(broken, last)):
            return Stop(reason, f"in {settings.guard.patience} steps in a row {words}")
    return None


def _spent(budget: Budget, rows: Sequence[Row], now: datetime) -> Stop | None:
    seconds = sum(row["seconds"] for row in rows)
    sampled = sum(row["sampled"] for row in rows)
    after = f"after {len(rows)} steps"
    if budget.seconds is not None and seconds >= budget.seconds:
        return Stop(Reason.SECONDS, f"its {budget.seconds:g} seconds were used up {after}")
    if budget.tokens is not None and sampled >= budget.tokens:
        return Stop(Reason.TOKENS, f"its {budget.tokens} sampled tokens were used up {after}")
    if budget.usd is not None and seconds / 3600 * budget.usd_an_hour >= budget.usd:
        return Stop(Reason.MONEY, f"its ${budget.usd:g} were used up {after}")
    if budget.until is not None and now >= budget.until:
        return Stop(Reason.CLOCK, f"its time was over at {budget.until.isoformat(timespec='seconds')}, {after}")
    return None


def _rules(settings: Update) -> tuple[tuple[Reason, Callable[[Row], bool], str], ...]:
    """What each rule calls broken, and its words."""
    guard, alarm = settings.guard, settings.correction.alarm
    most = guard.longest
    return (
        (Reason.NO_SIGNAL, lambda row: row["live"] == 0, "no group carried a signal"),
        (
            Reason.MISMATCH,
            lambda row: alarm is not None and row.get("k3", 0.0) > alarm,
            f"actor and learner were more than {alarm} nats a token apart (k3): another adapter or precision answers "
            "than the one that is trained",
        ),
        (
            Reason.ENTROPY,
            lambda row: row.get("entropy", guard.entropy) < guard.entropy,
            f"the policy's entropy was under {guard.entropy} nats a token",
        ),
        (
            Reason.REPEATED,
            lambda row: row.get("repeated", 0.0) > guard.repeated,
            f"more than {guard.repeated:.0%} of the answers repeated themselves",
        ),
        (
            Reason.LENGTH,
            lambda row: row.get("length", guard.shortest) < guard.shortest,
            f"answers were shorter than {guard.shortest:g} tokens on average",
        ),
        (
            Reason.LENGTH,
            lambda row: most is not None and row.get("length", 0.0) > most,
            f"answers were longer than {most} tokens on average",
        ),
        (
            Reason.GRADIENT,
            lambda row: guard.gradient is not None and row["gradient_norm"] > guard.gradient,
            f"the gradient's norm was over {guard.gradient}",
        ),
    )
