"""Items that stand or fall together (one template, one conversation): the error of a difference, by cluster.

`sums[g]` is wins minus losses of cluster g, `sizes[g]` its number of items.
"""

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

from scipy.stats import t as student

from rsi.errors import ContractError
from rsi.statistics.intervals import Interval


class Spread(NamedTuple):
    """A difference with its cluster-robust standard error."""

    difference: float
    error: float
    freedom: int
    """Degrees of freedom: clusters - 1."""


def spread(sums: Sequence[int], sizes: Sequence[int]) -> Spread:
    """Difference and standard error.

    With n = Σ sizes, D = Σ sums / n and residuals r_g = sums[g] - sizes[g] D the error is sqrt(G / (G - 1)
    Σ r_g²) / n. Source: Miller 2024, arXiv 2411.00640, clustered standard error, with the usual factor for
    few clusters.

    Raises:
        ContractError: fewer than two clusters, or sums that their sizes do not allow.
    """
    groups, n = len(sums), sum(sizes)
    fits = len(sizes) == groups and all(0 < size >= abs(s) for s, size in zip(sums, sizes, strict=False))
    if groups < 2 or not fits:
        raise ContractError(f"clusters need at least two sums within their sizes; found {groups} clusters")
    seen = sum(sums) / n
    squares = sum((s - size * seen) ** 2 for s, size in zip(sums, sizes, strict=True))
    return Spread(seen, sqrt(groups / (groups - 1) * squares) / n, groups - 1)


def clustered_difference(sums: Sequence[int], sizes: Sequence[int], confidence: float = 0.95) -> Interval:
    """Two-sided t-interval of the difference, within -1 and 1.

    Raises:
        ContractError: as `spread`.
    """
    seen, error, freedom = spread(sums, sizes)
    half = float(student.isf((1 - confidence) / 2, freedom)) * error
    return Interval(max(seen - half, -1.0), min(seen + half, 1.0))
