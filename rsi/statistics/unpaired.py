"""One-sided exact test that one proportion is smaller than another, on independent items."""

from scipy.stats import hypergeom

from rsi.errors import ContractError


def fisher_less(k: int, n: int, before: int, chances: int) -> float:
    """P(as few hits or fewer | H0: both proportions are equal), for `k` of `n` against `before` of `chances`.

    Given all k + before hits among n + chances items, the hits among the n follow the hypergeometric
    distribution. Source: Fisher 1935, JRSS 98:39-54. One of two empty samples says nothing: p is 1.

    Raises:
        ContractError: impossible counts.
    """
    if not (0 <= k <= n and 0 <= before <= chances):
        raise ContractError(
            f"two proportions need 0 <= hits <= items; found {k} of {n} and {before} of {chances}"
        )
    if not n or not chances:
        return 1.0
    return min(float(hypergeom.cdf(k, n + chances, k + before, n)), 1.0)
