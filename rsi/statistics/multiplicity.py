"""Several tests at once: p-values that may be read side by side."""

from collections.abc import Sequence

from rsi.errors import ContractError


def holm(ps: Sequence[float]) -> tuple[float, ...]:
    """Adjusted p-values, in the order given: each below alpha is shown, and all of them together err at most alpha.

    The k-th smallest of m is multiplied by m - k + 1, capped at 1 and never below the one before it. Source: Holm
    1979, Scandinavian Journal of Statistics 6:65-70; no assumption on how the tests depend on each other.

    Raises:
        ContractError: a p-value outside 0 to 1.
    """
    if any(not 0 <= p <= 1 for p in ps):
        raise ContractError(f"a p-value lies between 0 and 1; found {list(ps)}")
    adjusted = [0.0] * len(ps)
    least = 0.0
    for rank, at in enumerate(sorted(range(len(ps)), key=lambda at: ps[at])):
        least = max(least, min((len(ps) - rank) * ps[at], 1.0))
        adjusted[at] = least
    return tuple(adjusted)
