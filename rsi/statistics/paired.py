"""One-sided paired tests that the candidate is better, exact by counting in whole numbers.

H0: an item on which the two versions differ is as likely to go one way as the other. Whole-number arithmetic
keeps the p-value, and with it a verdict's digest, the same on every machine.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from rsi.errors import ContractError


@dataclass(frozen=True)
class PairedTest:
    """Result of a one-sided paired test; small p speaks for the candidate."""

    wins: int
    """Items (or points of clusters) that only the candidate got right."""
    losses: int
    """Those that only the champion got right."""
    exact: float
    """P(as many wins or more | H0)."""
    mid_p: float
    """The same, with the observed outcome counted by half."""


def mcnemar(b: int, c: int) -> PairedTest:
    """Exact and mid-p McNemar test on `b` wins and `c` losses.

    exact = Σ_{k=b}^{m} C(m, k) / 2^m with m = b + c; mid-p takes off half of the term k = b. With no
    discordant item they are 1 and ½. Source: Fagerland, Lydersen and Laake 2013, BMC Medical Research
    Methodology 13:91, who recommend mid-p over the exact conditional test and over the continuity
    correction.

    Raises:
        ContractError: a negative count.
    """
    if b < 0 or c < 0:
        raise ContractError(f"counts of wins and losses cannot be negative; found b={b}, c={c}")
    m = b + c
    term = 1
    for k in range(m - b):
        term = term * (m - k) // (k + 1)
    at, tail, k = term, 0, b
    while k <= m:
        tail += term
        term = term * (m - k) // (k + 1)
        k += 1
    return PairedTest(wins=b, losses=c, exact=tail / 2**m, mid_p=(2 * tail - at) / 2 ** (m + 1))


def sign_flip(sums: Iterable[int]) -> PairedTest:
    """The same test on clusters: `sums` holds wins minus losses of each cluster, which change sign as one.

    Every choice of signs is equally likely under H0; their totals are counted by convolution, not sampled.
    With clusters of one item this is `mcnemar`. Source: randomisation test of Fisher 1935; for evaluation
    items see Bowyer, Aitchison and Ivanova 2025, arXiv 2503.01747.
    """
    kept = [value for value in sums if value]
    seen = sum(kept)
    ways = {0: 1}
    for value in kept:
        after: dict[int, int] = {}
        for total, count in ways.items():
            for step in (value, -value):
                after[total + step] = after.get(total + step, 0) + count
        ways = after
    at = ways.get(seen, 0)
    tail = sum(count for total, count in ways.items() if total >= seen)
    return PairedTest(
        wins=sum(value for value in kept if value > 0),
        losses=-sum(value for value in kept if value < 0),
        exact=tail / 2 ** len(kept),
        mid_p=(2 * tail - at) / 2 ** (len(kept) + 1),
    )
