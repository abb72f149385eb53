from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from rsi.errors import ContractError
from rsi.statistics.paired import mcnemar, sign_flip


@given(st.integers(0, 60), st.integers(0, 60))
def test_exact_is_the_binomial_test_and_mid_p_takes_off_half_a_term(b: int, c: int) -> None:
    """Agreement with scipy's sign test; mid-p lies between the tail with and without the outcome seen."""
    test = mcnemar(b, c)
    tail = binomtest(b, b + c, 0.5, alternative="greater").pvalue if b + c else 1.0
    beyond = binomtest(b + 1, b + c, 0.5, alternative="greater").pvalue if c else 0.0

    assert test.exact == pytest.approx(tail, abs=1e-12)
    assert test.mid_p == pytest.approx((tail + beyond) / 2, abs=1e-12)


@given(st.integers(0, 40), st.integers(0, 40))
def test_mid_p_of_both_directions_adds_up_to_one(b: int, c: int) -> None:
    """What is not in favour of the candidate is in favour of the champion."""
    assert mcnemar(b, c).mid_p + mcnemar(c, b).mid_p == pytest.approx(1.0)


@given(st.integers(0, 40), st.integers(0, 40))
def test_one_more_win_never_weakens_the_case(b: int, c: int) -> None:
    """p falls with wins and rises with losses."""
    assert mcnemar(b + 1, c).mid_p < mcnemar(b, c).mid_p < mcnemar(b, c + 1).mid_p


def test_the_example_of_the_facts() -> None:
    """20 wins and 8 losses: exact 0.0178, mid-p 0.0121; huge counts neither overflow nor lose the tail."""
    assert (round(mcnemar(20, 8).exact, 4), round(mcnemar(20, 8).mid_p, 4)) == (0.0178, 0.0121)
    assert 0 < mcnemar(600, 0).exact == 0.5**600
    with pytest.raises(ContractError):
        mcnemar(-1, 0)


@given(st.lists(st.integers(-3, 3), max_size=9))
def test_61_sign_flip_counts_every_choice_of_signs(sums: list[int]) -> None:
    """Convolution gives what listing all 2^G flips gives."""
    seen = sum(sums)
    every = product((1, -1), repeat=len(sums))
    totals = [sum(s * f for s, f in zip(sums, flips, strict=True)) for flips in every]
    exact = sum(t >= seen for t in totals) / len(totals)
    mid = exact - sum(t == seen for t in totals) / len(totals) / 2
    test = sign_flip(sums)

    assert (test.exact, test.mid_p) == pytest.approx((exact, mid))
    assert test.wins - test.losses == seen


@given(st.integers(0, 25), st.integers(0, 25))
def test_clusters_of_one_are_the_plain_test(b: int, c: int) -> None:
    """With one item a cluster the two tests are one."""
    assert sign_flip([1] * b + [-1] * c) == mcnemar(b, c)


def test_clusters_weigh_less_than_their_items() -> None:
    """Twelve wins in two clusters prove less than twelve independent wins."""
    assert sign_flip([6, 6]).mid_p > 0.1 > mcnemar(12, 0).mid_p


def test_the_error_rate_of_mid_p_under_no_difference() -> None:
    """Seeded simulation, 4,000 nights without a gain: about one in twenty passes at 0.05."""
    draw = np.random.default_rng(20)
    wins = draw.binomial(draw.binomial(200, 0.15, size=4000), 0.5)
    again = np.random.default_rng(20)
    total = again.binomial(200, 0.15, size=4000)
    passed = sum(mcnemar(int(b), int(m - b)).mid_p < 0.05 for b, m in zip(wins, total, strict=True))

    assert 0.03 < passed / 4000 < 0.062
