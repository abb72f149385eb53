"""What the mid-p McNemar test can see: its power, and the smallest effect it detects."""

from functools import lru_cache

import numpy as np
from scipy.stats import binom

from rsi.errors import ContractError

_HALVINGS = 40


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
    seen = binom.sf(np.array(_critical(n, alpha)) - 1, m, wins)
    return float((binom.pmf(m, n, discordance) * seen).sum())


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


@lru_cache(maxsize=32)
def _critical(n: int, alpha: float) -> tuple[int, ...]:
    """For every m of 0..n the fewest wins with mid-p < alpha; m + 1 where none has."""
    found = []
    for m in range(n + 1):
        wins = np.arange(m + 1)
        mid = binom.sf(wins, m, 0.5) + binom.pmf(wins, m, 0.5) / 2
        below = np.flatnonzero(mid < alpha)
        found.append(int(below[0]) if below.size else m + 1)
    return tuple(found)
