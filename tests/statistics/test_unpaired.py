"""Fisher's exact test, and how much a sample has not shown."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import fisher_exact

from rsi.errors import ContractError
from rsi.statistics.unpaired import fisher_less
from rsi.statistics.unseen import coverage


@given(st.integers(1, 60), st.integers(1, 60), st.data())
def test_the_test_is_fishers(n: int, chances: int, data: st.DataObject) -> None:
    """The p-value is the one of scipy's table test."""
    k, before = data.draw(st.integers(0, n)), data.draw(st.integers(0, chances))
    theirs = fisher_exact([[k, n - k], [before, chances - before]], alternative="less").pvalue

    assert fisher_less(k, n, before, chances) == pytest.approx(theirs, abs=1e-9)


def test_nothing_says_nothing() -> None:
    """An empty sample has p = 1; impossible counts are refused."""
    assert fisher_less(0, 0, 3, 4) == fisher_less(3, 4, 0, 0) == 1.0
    with pytest.raises(ContractError, match="0 <= hits"):
        fisher_less(5, 4, 0, 1)


def test_turings_estimate_is_near_what_is_unseen() -> None:
    """Over many samples of a known population the mean estimate is near the mean share that no sample showed."""
    draw, kinds = random.Random(3), range(200)
    weights = [1 / (kind + 1) for kind in kinds]
    total, estimated, true, low = sum(weights), 0.0, 0.0, 0
    for _ in range(300):
        seen = Counter(draw.choices(kinds, weights, k=150))
        found = coverage(seen.values())
        estimated += found.share / 300
        true += (
            sum(weight for kind, weight in zip(kinds, weights, strict=True) if kind not in seen) / total / 300
        )
        low += found.kinds <= len(kinds) - len(seen)
    assert estimated == pytest.approx(true, abs=0.02)
    assert low > 200


def test_known_figures_of_coverage() -> None:
    """Three kinds once, one twice, one five times: 3 of 10 unseen; none of nothing; no count below one."""
    found = coverage([1, 1, 1, 2, 5])
    assert (found.share, found.once, found.total) == (0.3, 3, 10)
    assert found.kinds == pytest.approx(0.9 * 3 * 2 / (2 * 2))
    assert coverage([]) == (1.0, 0, 0, 0.0)
    with pytest.raises(ContractError, match="at least 1"):
        coverage([1, 0])
