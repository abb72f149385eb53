"""How often something may still happen that was never, or hardly ever, seen."""

from scipy.stats import beta

from rsi.errors import ContractError


def upper_bound(k: int, n: int, confidence: float = 0.95) -> float:
    """One-sided upper bound of a rate after `k` failures in `n` items; 1 where nothing was seen.

    The quantile of Beta(k + 1, n - k) (Clopper and Pearson 1934, Biometrika 26:404-413). For k = 0 it is
    1 - (1 - confidence)^(1 / n), which at 95% is close to 3 / n: the rule of three (Hanley and Lippman-Hand 1983,
    JAMA 249:1743-1745).

    Raises:
        ContractError: not 0 <= k <= n, or a confidence outside 0 to 1.
    """
    if not 0 <= k <= n or not 0 < confidence < 1:
        raise ContractError(
            f"a rate needs 0 <= k <= n and a confidence in (0, 1); found {k}, {n}, {confidence}"
        )
    if k == n:
        return 1.0
    if k == 0:
        return float(1 - (1 - confidence) ** (1 / n))
    return float(beta.ppf(confidence, k + 1, n - k))


def items_for(rate: float, confidence: float = 0.95) -> int:
    """The fewest items whose passing without a failure shows that failures are rarer than `rate`.

    Raises:
        ContractError: a rate or confidence outside 0 to 1.
    """
    if not 0 < rate < 1 or not 0 < confidence < 1:
        raise ContractError(f"rate and confidence must lie in (0, 1); found {rate} and {confidence}")
    n = max(int(3 / rate) - 2, 1)
    while upper_bound(0, n, confidence) > rate:
        n += 1
    while n > 1 and upper_bound(0, n - 1, confidence) <= rate:
        n -= 1
    return n
