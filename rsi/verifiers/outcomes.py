"""The five outcomes, said in one word each."""

from rsi.records import Outcome, OutcomeKind

DETAIL = 300
"""Most characters of a detail; it may quote an answer."""


def scored(right: bool, detail: str = "") -> Outcome:
    """1 where `right`, else 0."""
    return Outcome(kind=OutcomeKind.SCORED, score=float(right), detail=detail[:DETAIL])


def wrong_format(detail: str) -> Outcome:
    """The answer cannot be compared: the answerer's fault."""
    return Outcome(kind=OutcomeKind.WRONG_FORMAT, detail=detail[:DETAIL])


def empty() -> Outcome:
    """No answer."""
    return Outcome(kind=OutcomeKind.EMPTY)


def invalid(detail: str) -> Outcome:
    """Nobody could meet the expectation: the task's or the suite's fault."""
    return Outcome(kind=OutcomeKind.INVALID, detail=detail[:DETAIL])


def error(detail: str) -> Outcome:
    """The verifier's own machinery failed: nobody's fault who answered or asked."""
    return Outcome(kind=OutcomeKind.ERROR, detail=detail[:DETAIL])
