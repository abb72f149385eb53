from itertools import product
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import binomtest

from rsi.errors import ContractError
from rsi.statistics.intervals import paired_difference, wilson
from rsi.statistics.score import paired_score


@st.composite
def counts(draw, most: int = 200) -> tuple[int, int, int]:
    n = draw(st.integers(1, most))
    b = draw(st.integers(0, n))
    return b, draw(st.integers(0, n - b)), n


@given(st.integers(1, 500), st.data())
def test_wilson_agrees_with_scipy_and_holds_the_estimate(n: int, data: st.DataObject) -> None:
    """The formula is the one scipy has, and k / n lies inside."""
    k = data.draw(st.integers(0, n))
    ours, theirs = wilson(k, n), binomtest(k, n).proportion_ci(0.95, method="wilson")

    assert (theirs.low, theirs.high) == pytest.approx(ours, abs=1e-12)
    assert 0 <= ours.low <= k / n <= ours.high <= 1


def test_wilson_of_nothing_says_nothing() -> None:
    """Without data every proportion is possible; impossible counts are refused."""
    assert wilson(0, 0) == (0, 1)
    for k, n in ((3, 2), (-1, 2), (0, -1)):
        with pytest.raises(ContractError, match="0 <= k <= n"):
            wilson(k, n)
    with pytest.raises(ContractError, match="confidence"):
        wilson(1, 2, confidence=1.0)


@given(counts())
def test_a_paired_interval_holds_its_estimate_and_mirrors(seen: tuple[int, int, int]) -> None:
    """The difference lies inside; swapping the versions turns the interval around; it has a width."""
    b, c, n = seen
    low, high = paired_difference(b, c, n)
    mirror = paired_difference(c, b, n)

    assert -1 <= low <= (b - c) / n <= high <= 1
    assert (-mirror.high, -mirror.low) == pytest.approx((low, high), abs=1e-9)
    assert high > low


@given(counts(60), st.floats(-0.9, 0.9))
def test_the_score_uses_the_maximum_likelihood_nuisance(seen: tuple[int, int, int], d: float) -> None:
    """Tango's closed form gives what maximising the likelihood by search gives."""
    from math import log, sqrt

    b, c, n = seen

    def loss(q: float) -> float:
        parts = ((b, q + d), (c, q), (n - b - c, 1 - 2 * q - d))
        return -sum(k * log(max(p, 1e-300)) for k, p in parts if k)

    least, most = max(0.0, -d), (1 - d) / 2
    q = minimize_scalar(loss, bounds=(least, most), method="bounded", options={"xatol": 1e-10}).x
    by_search = (b - c - n * d) / sqrt(n * (2 * q + d - d * d))

    assert paired_score(b, c, n, d) == pytest.approx(by_search, abs=2e-3)


@pytest.mark.parametrize("n", [10, 25])
def test_the_paired_interval_covers_the_truth_about_as_often_as_it_says(n: int) -> None:
    """Coverage by enumeration of every outcome, over a grid of true rates, stays near 95%."""
    cover = []
    intervals = {(b, c): paired_difference(b, c, n) for b in range(n + 1) for c in range(n + 1 - b)}
    for pb, pc in product((0.05, 0.15, 0.3, 0.45), repeat=2):
        inside = 0.0
        for (b, c), (low, high) in intervals.items():
            chance = comb(n, b) * comb(n - b, c) * pb**b * pc**c * (1 - pb - pc) ** (n - b - c)
            inside += chance * (low <= pb - pc <= high)
        cover.append(inside)

    assert min(cover) > 0.92
    assert 0.945 < sum(cover) / len(cover) < 0.985


@given(counts())
def test_the_score_is_critical_at_both_ends(seen: tuple[int, int, int]) -> None:
    """An end inside (-1, 1) is where |z| is 1.96, a little further out it is more."""
    b, c, n = seen
    low, high = paired_difference(b, c, n)
    if low > -0.999:
        assert paired_score(b, c, n, low) == pytest.approx(1.959964, abs=1e-4)
        assert paired_score(b, c, n, low - 5e-4) > 1.959964
    if high < 0.999:
        assert paired_score(b, c, n, high) == pytest.approx(-1.959964, abs=1e-4)


def test_impossible_counts_are_refused() -> None:
    """More discordant items than items is nobody's experiment."""
    for b, c, n in ((5, 6, 10), (-1, 0, 10), (0, 0, 0)):
        with pytest.raises(ContractError, match="paired counts"):
            paired_difference(b, c, n)
