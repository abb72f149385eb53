"""Confidence intervals of one proportion and of a paired difference."""

from collections.abc import Callable
from math import sqrt
from statistics import NormalDist
from typing import NamedTuple

from rsi.errors import ContractError
from rsi.statistics.score import check_counts, paired_score

_HALVINGS = 60


class Interval(NamedTuple):
    """Two ends, both included."""

    low: float
    high: float


def _z(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ContractError(f"confidence must lie between 0 and 1; found {confidence}")
    return NormalDist().inv_cdf(0.5 + confidence / 2)


def wilson(k: int, n: int, confidence: float = 0.95) -> Interval:
    """Two-sided interval of a proportion, `k` of `n`; (0, 1) where nothing was seen.

    Wilson 1927, JASA 22:209-212: (k + z²/2 ± z sqrt(k (n - k) / n + z²/4)) / (n + z²).

    Raises:
        ContractError: not 0 <= k <= n.
    """
    z = _z(confidence)
    if n < 0 or not 0 <= k <= n:
        raise ContractError(f"a proportion needs 0 <= k <= n; found k={k}, n={n}")
    if n == 0:
        return Interval(0.0, 1.0)
    half = z * sqrt(k * (n - k) / n + z * z / 4)
    middle = k + z * z / 2
    low = 0.0 if k == 0 else max((middle - half) / (n + z * z), 0.0)
    high = 1.0 if k == n else min((middle + half) / (n + z * z), 1.0)
    return Interval(low, high)


def paired_difference(b: int, c: int, n: int, confidence: float = 0.95) -> Interval:
    """Two-sided interval of the difference (b - c) / n: the values that the score test does not refuse.

    Tango 1998 (see `rsi.statistics.score`); recommended for small samples by Fagerland, Lydersen and Laake
    2014, Statistics in Medicine 33:2850-2875. It does not shrink to a point when b = c = 0.

    Raises:
        ContractError: impossible counts.
    """
    check_counts(b, c, n)
    z = _z(confidence)
    seen = (b - c) / n
    low = _edge(lambda d: paired_score(b, c, n, d) > z, -1.0, seen)
    high = -_edge(lambda d: paired_score(c, b, n, d) > z, -1.0, -seen)
    return Interval(low, high)


def _edge(refused: Callable[[float], bool], low: float, high: float) -> float:
    """Where `refused` turns from true (below) to false (above), by halving."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if refused(middle):
            low = middle
        else:
            high = middle
    return high
