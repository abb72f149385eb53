import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from rsi.errors import ContractError
from rsi.statistics.rare import items_for, upper_bound


@given(st.integers(1, 400), st.data())
def test_the_bound_is_that_of_clopper_and_pearson(n: int, data: st.DataObject) -> None:
    """Agreement with scipy's one-sided exact interval; it grows with failures."""
    k = data.draw(st.integers(0, n))
    theirs = binomtest(k, n, alternative="less").proportion_ci(0.95, method="exact").high

    assert upper_bound(k, n) == pytest.approx(theirs, abs=1e-9)
    assert upper_bound(k, n) >= k / n
    assert k == n or upper_bound(k, n) < upper_bound(k + 1, n) + 1e-12


@pytest.mark.parametrize("rate", [0.003, 0.05, 0.3])
@pytest.mark.parametrize("n", [10, 60, 300])
def test_the_bound_lies_below_the_rate_at_most_as_often_as_it_says(rate: float, n: int) -> None:
    """By enumeration of every number of failures."""
    missed = sum(binom.pmf(k, n, rate) for k in range(n + 1) if upper_bound(k, n) < rate)

    assert missed <= 0.05


def test_the_rule_of_three() -> None:
    """No failure in n items leaves at most about 3 / n; 299 items show less than one in a hundred."""
    assert upper_bound(0, 300) == pytest.approx(3 / 300, rel=0.01)
    assert (items_for(0.01), items_for(0.05), upper_bound(0, 0)) == (299, 59, 1.0)
    assert all(
        upper_bound(0, items_for(r)) <= r < upper_bound(0, items_for(r) - 1) for r in (0.002, 0.02, 0.4)
    )
    for call in (lambda: upper_bound(3, 2), lambda: items_for(0.0)):
        with pytest.raises(ContractError):
            call()
