"""Two proportions on independent items: a one-sided exact test, and an interval of their difference."""

from math import sqrt

from scipy.stats import hypergeom

from rsi.errors import ContractError
from rsi.statistics.intervals import Interval, wilson


def fisher_less(k: int, n: int, before: int, chances: int) -> float:
    """P(as few hits or fewer | H0: both proportions are equal), for `k` of `n` against `before` of `chances`.

    Given all k + before hits among n + chances items, the hits among the n follow the hypergeometric
    distribution. Source: Fisher 1935, JRSS 98:39-54. One of two empty samples says nothing: p is 1.

    Raises:
        ContractError: impossible counts.
    """
    _check(k, n, before, chances)
    if not n or not chances:
        return 1.0
    return min(float(hypergeom.cdf(k, n + chances, k + before, n)), 1.0)


def difference(k: int, n: int, before: int, chances: int, confidence: float = 0.95) -> Interval:
    """Two-sided interval of k / n - before / chances; (-1, 1) where a sample is empty.

    The hybrid of two Wilson intervals: d - sqrt((p1 - l1)² + (u2 - p2)²), d + sqrt((u1 - p1)² + (p2 - l2)²).
    Source: Newcombe 1998, Statistics in Medicine 17:873-890, method 10.

    Raises:
        ContractError: impossible counts, or a confidence not between 0 and 1.
    """
    _check(k, n, before, chances)
    now, then = wilson(k, n, confidence), wilson(before, chances, confidence)
    if not n or not chances:
        return Interval(-1.0, 1.0)
    rate, past = k / n, before / chances
    down = sqrt((rate - now.low) ** 2 + (then.high - past) ** 2)
    up = sqrt((now.high - rate) ** 2 + (past - then.low) ** 2)
    return Interval(max(rate - past - down, -1.0), min(rate - past + up, 1.0))


def _check(k: int, n: int, before: int, chances: int) -> None:
    if not (0 <= k <= n and 0 <= before <= chances):
        raise ContractError(
            f"two proportions need 0 <= hits <= items; found {k} of {n} and {before} of {chances}"
        )
