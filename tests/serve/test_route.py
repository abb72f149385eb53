"""Choosing a label from its scores."""

import math

import pytest

from rsi.serve.route import RouteReason, pick

WORDS = ("chat", "agent", "code")
NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("scores", "word", "reason"),
    [
        ((-2.0, -1.0, -3.0), "agent", RouteReason.CHOSEN),
        ((-2.0, -2.0, -1.0), "code", RouteReason.CHOSEN),
        ((-INF, -INF, -1.0), "code", RouteReason.CHOSEN),
        ((-1.0, -2.0, -1.0), "agent-fallback", RouteReason.TIE),
        ((-1.0, NAN, -3.0), "agent-fallback", RouteReason.NOT_A_NUMBER),
        ((-1.0, INF, -3.0), "agent-fallback", RouteReason.NOT_A_NUMBER),
        ((-INF, -INF, -INF), "agent-fallback", RouteReason.NOT_A_NUMBER),
    ],
)
def test_the_best_score_wins_and_nothing_else_does(
    scores: tuple[float, ...], word: str, reason: RouteReason
) -> None:
    """A tie or a number that is none goes to the fallback."""
    assert pick(WORDS, scores, "agent-fallback") == (word, reason)


def test_every_word_needs_a_score() -> None:
    """A row of another length is a broken engine, not a route."""
    with pytest.raises(ValueError, match="zip"):
        pick(WORDS, (-1.0, -2.0), "chat")
