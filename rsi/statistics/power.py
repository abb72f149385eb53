"""What a test can see before it is run: its power, the smallest effect it detects, the items it needs."""

from functools import lru_cache
from statistics import NormalDist

import numpy as np
from scipy.stats import binom

from rsi.errors import ContractError
from rsi.statistics.score import paired_scores

_HALVINGS = 40
MANY = 50_000
"""Items beyond which nobody asks whether they would do."""


def power(n: int, discordance: float, difference: float, alpha: float = 0.05) -> float:
    """P(mid-p < alpha) for `n` items of which a share `discordance` differs, at a true `difference`.

    The discordant items m follow Binomial(n, discordance), the wins among them Binomial(m, (1 + difference /
    discordance) / 2); both are summed exactly.

    Raises:
        ContractError: not |difference| <= discordance <= 1, or n < 1.
    """
    if n < 1 or not 0 < discordance <= 1 or abs(difference) > discordance or not 0 < alpha < 1:
        raise ContractError(
            "power needs n >= 1 and |difference| <= discordance <= 1; "
            f"found n={n}, difference={difference}, discordance={discordance}, alpha={alpha}"
        )
    m = np.arange(n + 1)
    wins = (1 + difference / discordance) / 2
    seen = binom.sf(_critical(n, alpha) - 1, m, wins)
    return float((binom.pmf(m, n, discordance) * seen).sum())


@lru_cache(maxsize=4096)
def mde(n: int, discordance: float, alpha: float = 0.05, target: float = 0.8) -> float | None:
    """Minimum detectable effect: the least difference found with power `target`; None where none is.

    Raises:
        ContractError: as `power`.
    """
    if power(n, discordance, discordance, alpha) < target:
        return None
    low, high = 0.0, discordance
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if power(n, discordance, middle, alpha) < target:
            low = middle
        else:
            high = middle
    return high


def items_needed(
    discordance: float, difference: float, alpha: float = 0.05, target: float = 0.8
) -> int | None:
    """The fewest items that find `difference` with power `target`; None where `MANY` would not do.

    Power saws a little up and down as items are added; from the number returned on it stays within half a point.

    Raises:
        ContractError: as `power`.
    """
    if difference <= 0:
        return None
    normal = NormalDist()
    z = normal.inv_cdf(1 - alpha) + normal.inv_cdf(target)
    guess = int(z * z * discordance / difference**2)
    if guess > MANY:
        return None
    low, high = 0, max(guess, 1)
    while power(high, discordance, difference, alpha) < target:
        low, high = high, 2 * high
        if low > MANY:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        if power(middle, discordance, difference, alpha) < target:
            low = middle
        else:
            high = middle
    return high


def noninferior_power(n: int, discordance: float, margin: float, alpha: float = 0.05) -> float:
    """How often a candidate that is as good as the champion is cleared of a loss of `margin`, on `n` items.

    Summed over all outcomes, with Tango's score beyond the normal quantile for the exact test of
    `rsi.statistics.noninferiority`: some points too high on few items, close to it on hundreds; for planning only.

    Raises:
        ContractError: n < 1, or discordance, margin or alpha out of range.
    """
    if n < 1 or not 0 < discordance <= 1 or not 0 < margin < 1 or not 0 < alpha < 0.5:
        raise ContractError(
            "power needs n >= 1, discordance in (0, 1], margin in (0, 1), alpha in (0, 0.5); "
            f"found {n}, {discordance}, {margin}, {alpha}"
        )
    needed = NormalDist().inv_cdf(1 - alpha)
    needed = NormalDist().inv_cdf(1 - alpha)
    m = np.arange(n + 1)
    low, high = np.zeros(n + 1, int), m + 1
    while (low < high).any():
        middle = np.minimum((low + high) // 2, m)
        shown = paired_scores(middle, m - middle, n, -margin) > needed
        going = low < high
        high = np.where(going & shown, middle, high)
        low = np.where(going & ~shown, middle + 1, low)
    return float((binom.pmf(m, n, discordance) * binom.sf(low - 1, m, 0.5)).sum())


@lru_cache(maxsize=32)
def _critical(n: int, alpha: float) -> np.ndarray:
    """For every m of 0..n the fewest wins with mid-p < alpha; m + 1 where none has."""
    m = np.arange(n + 1)
    least = np.maximum(binom.isf(alpha, m, 0.5).astype(int) - 1, 0)
    for _ in range(3):
        mid = binom.sf(least, m, 0.5) + binom.pmf(least, m, 0.5) / 2
        least = np.where((mid < alpha) | (least > m), least, least + 1)
    return np.asarray(np.minimum(least, m + 1))
