"""How much a sample has not shown yet, from what it showed once and twice."""

from collections.abc import Iterable
from typing import NamedTuple

from rsi.errors import ContractError


class Coverage(NamedTuple):
    """What counts of kinds say about kinds that have no count."""

    share: float
    """Probability that the next one seen is of a kind not seen yet."""
    once: int
    """Kinds seen once."""
    total: int
    """All that was seen."""
    kinds: float
    """Estimated number of kinds not seen yet; a lower bound."""


def coverage(counts: Iterable[int]) -> Coverage:
    """Unseen share and unseen kinds, from how often each kind was seen.

    share = f1 / N (Good 1953, Biometrika 40:237-264, Turing's estimate) and kinds = (N - 1) / N · f1 (f1 - 1) /
    (2 (f2 + 1)) (Chao 1984, Scandinavian Journal of Statistics 11:265-270, bias-corrected), with f1 and f2 the
    kinds seen once and twice and N the sum of all counts. Of nothing the share is 1 and the kinds are 0.

    Raises:
        ContractError: a count below one.
    """
    found = list(counts)
    if any(count < 1 for count in found):
        raise ContractError(f"a kind that was seen has a count of at least 1; found {min(found)}")
    total, once, twice = sum(found), found.count(1), found.count(2)
    if not total:
        return Coverage(1.0, 0, 0, 0.0)
    kinds = (total - 1) / total * once * (once - 1) / (2 * (twice + 1))
    return Coverage(once / total, once, total, kinds)
