"""Tango's score statistic for the difference of two paired proportions."""

import numpy as np

from rsi.errors import ContractError

Counts = int | np.ndarray


def check_counts(b: int, c: int, n: int) -> None:
    """Refuse counts that no paired comparison can give.

    Raises:
        ContractError: not 0 <= b, c and b + c <= n with n >= 1.
    """
    if n < 1 or b < 0 or c < 0 or b + c > n:
        raise ContractError(f"paired counts need b, c >= 0, b + c <= n, n >= 1; found b={b}, c={c}, n={n}")


def paired_score(b: int, c: int, n: int, difference: float) -> float:
    """z of H0: P(candidate right) - P(champion right) = `difference`, with -1 < `difference` < 1.

    z = (b - c - n d) / sqrt(n (2 q + d (1 - d))), where q, the probability that the champion alone is
    right, is its maximum-likelihood value under H0: the root (sqrt(B² - 4AC) - B) / 2A of A = 2n, B = -b -
    c + (2n - b + c) d, C = -c d (1 - d). Source: Tango 1998, Statistics in Medicine
    17:891-908; the same statistic as Nam 1997, Biometrics 53:1422-1430.
    """
    return float(paired_scores(b, c, n, difference))


def paired_scores(b: Counts, c: Counts, n: int, difference: float) -> np.ndarray:
    """`paired_score` of many counts at once."""
    d = difference
    b, c = np.asarray(b, float), np.asarray(c, float)
    beta = -b - c + (2 * n - b + c) * d
    gamma = -c * d * (1 - d)
    q = (np.sqrt(np.maximum(beta * beta - 8 * n * gamma, 0.0)) - beta) / (4 * n)
    numerator = b - c - n * d
    variance = n * (2 * q + d * (1 - d))
    sure = variance <= 1e-12
    at = numerator / np.sqrt(np.where(sure, 1.0, variance))
    return np.where(sure, np.where(np.abs(numerator) < 1e-12, 0.0, np.copysign(np.inf, numerator)), at)
