import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi.errors import ContractError
from rsi.statistics.ratio import Ratio, ratio

SIZES = st.lists(st.floats(0.1, 1e4), min_size=2, max_size=40)


@given(SIZES, st.floats(0.01, 100))
def test_what_grows_by_one_factor_everywhere_has_no_doubt(before: list[float], factor: float) -> None:
    """And the bounds enclose what was seen."""
    found = ratio(before, [factor * one for one in before])

    assert (found.seen, found.low, found.high) == pytest.approx((factor, factor, factor), rel=1e-6)


@given(SIZES, st.data())
def test_the_other_way_round_the_ratio_is_its_inverse(before: list[float], data: st.DataObject) -> None:
    """As is natural for a factor; a wider level has closer bounds."""
    after = data.draw(st.lists(st.floats(0.1, 1e4), min_size=len(before), max_size=len(before)))
    there, back, closer = ratio(before, after), ratio(after, before), ratio(before, after, 0.2)

    assert there.seen * back.seen == pytest.approx(1)
    assert there.low <= closer.low <= there.seen <= closer.high <= there.high


@pytest.mark.parametrize(("units", "noise"), [(20, 0.3), (60, 0.5), (400, 0.5)])
def test_the_bounds_miss_about_as_often_as_they_say(units: int, noise: float) -> None:
    """Lengths of answers, log-normal, each made longer or shorter by chance; 4,000 draws."""
    random = np.random.default_rng(7)
    low = high = 0
    for _ in range(4000):
        before = np.exp(random.normal(3, 0.8, units))
        after = 1.3 * before * np.exp(random.normal(-(noise**2) / 2, noise, units))
        found = ratio(before.tolist(), after.tolist())
        low += found.low > 1.3
        high += found.high < 1.3

    assert low / 4000 < 0.07
    # Few very long answers make much of a sum, and often none of them is drawn.
    assert high / 4000 < 0.1


def test_what_cannot_be_a_ratio_is_refused() -> None:
    """One unit has no error, nothing before has no ratio; nothing after is zero times as much."""
    assert ratio([3, 4], [0, 0]) == Ratio(0.0, 0.0, 0.0)
    for before, after in (([3], [3]), ([0, 0], [1, 2]), ([1, 2], [1]), ([1, -2], [1, 2])):
        with pytest.raises(ContractError, match="two or more pairs"):
            ratio(before, after)
