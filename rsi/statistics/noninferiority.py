"""One-sided test that the candidate is worse than the champion by less than a margin.

H0: difference <= -margin, against H1: difference > -margin, on items that both versions answered.

The single-item form is the exact unconditional test: outcomes (b, c) are ordered by Tango's score
statistic, and the p-value is the largest probability, over the unknown rate of discordant items, of an
outcome at least as good as the one seen when the difference is exactly -margin. It keeps its level at every
n, where the normal approximation does not. Source: Hsueh, Liu and Chen 2001, Biometrics
57:478-483, who also show that the largest probability lies on the border of H0. When every one of several
guards has to pass, each may be tested at the full alpha (intersection-union test, Berger 1982).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, betaln, xlog1py, xlogy
from scipy.stats import t as student

from rsi.errors import ContractError
from rsi.statistics.clusters import spread
from rsi.statistics.score import check_counts, paired_score, paired_scores

_GRID = 300
_HALVINGS = 14
_NOTHING = 1e-14
"""A chance that is left out of a sum of a few hundred."""


@dataclass(frozen=True)
class NonInferiority:
    """Result of the test; shown exactly when `p` < `alpha`."""

    difference: float
    """(b - c) / n, candidate minus champion."""
    lower: float
    """Lower bound of the difference, one-sided at level 1 - `alpha`: the largest value
    that the test refuses (to within 0.0002); at least -`margin` exactly when shown."""
    p: float
    margin: float
    alpha: float

    @property
    def shown(self) -> bool:
        """Whether the loss is shown to be smaller than the margin."""
        return self.p < self.alpha


def noninferior(b: int, c: int, n: int, margin: float, alpha: float = 0.05) -> NonInferiority:
    """Exact unconditional test on `n` independent items, `b` wins and `c` losses.

    Raises:
        ContractError: impossible counts, or a margin or alpha out of range.
    """
    check_counts(b, c, n)
    _check(margin, alpha)
    p = _tail(b, c, n, -margin)
    seen = (b - c) / n
    low, high = (-margin, seen) if p < alpha else (-1.0, min(seen, -margin))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _tail(b, c, n, middle) < alpha:
            low = middle
        else:
            high = middle
    return NonInferiority(seen, low, p, margin, alpha)


def noninferior_clustered(
    sums: Sequence[int], sizes: Sequence[int], margin: float, alpha: float = 0.05
) -> NonInferiority:
    """The same question for items in clusters: t = (D + margin) / SE with G - 1 degrees of freedom.

    D and SE as in `rsi.statistics.clusters.spread`.

    Raises:
        ContractError: fewer than two clusters, or sums that their sizes do not allow.
    """
    _check(margin, alpha)
    seen, error, freedom = spread(sums, sizes)
    if error == 0:
        return NonInferiority(seen, seen, 0.0 if seen > -margin else 1.0, margin, alpha)
    p = float(student.sf((seen + margin) / error, freedom))
    lower = max(seen - float(student.isf(alpha, freedom)) * error, -1.0)
    return NonInferiority(seen, lower, p, margin, alpha)


def _check(margin: float, alpha: float) -> None:
    if not 0 < margin < 1 or not 0 < alpha < 0.5:
        raise ContractError(f"margin must lie in (0, 1) and alpha in (0, 0.5); found {margin} and {alpha}")


def _tail(b: int, c: int, n: int, difference: float) -> float:
    """Largest P(score >= the one seen) over the rate of discordant items, at a true `difference`.

    The discordant items m of n follow Binomial(n, ψ), the wins among them Binomial(m, (1 + difference / ψ)
    / 2), with ψ from |difference| to 1. For a given m the score rises with the wins, so that a least b
    does.
    """
    seen = paired_score(b, c, n, difference) - 1e-9
    need = _least_wins(n, difference, seen)
    m = np.arange(n + 1)
    least = max(abs(difference), 1e-9)
    rates = least + (1 - least) * (np.arange(_GRID + 1) / _GRID)[:, None] ** 2
    wins = np.clip((1 + difference / rates) / 2, 0.0, 1.0)
    ways = -betaln(n - m + 1, m + 1) - np.log(n + 1)
    chances = np.exp(ways + xlogy(m, rates) + xlog1py(n - m, -rates))
    row, column = np.nonzero((chances > _NOTHING) & (need <= m))
    # P(Binomial(m, w) >= k) is I_w(k, m - k + 1); of k = 0 it is 1.
    reached = betainc(np.maximum(need, 1e-12)[column], (m - need + 1.0)[column], wins[row, 0])
    tails = np.bincount(row, chances[row, column] * reached)
    return float(min(tails.max(initial=0.0), 1.0))


def _least_wins(n: int, difference: float, seen: float) -> np.ndarray:
    """The fewest wins among m = 0..n discordant items whose score reaches `seen`; m + 1 where none does."""
    m = np.arange(n + 1)
    low, high = np.zeros(n + 1, int), m + 1
    while (going := low < high).any():
        middle = np.minimum((low + high) // 2, m)
        reached = paired_scores(middle, m - middle, n, difference) >= seen
        high = np.where(going & reached, middle, high)
        low = np.where(going & ~reached, middle + 1, low)
    return low
