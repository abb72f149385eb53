from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import bootstrap

from rsi.errors import ContractError
from rsi.statistics.bootstrap import bootstrap_ratio
from rsi.statistics.clusters import clustered_difference
from rsi.statistics.intervals import paired_difference


def test_it_agrees_with_scipy_on_items() -> None:
    """The same bias-corrected and accelerated ends as scipy's, within the noise of drawing."""
    steps = [1] * 25 + [-1] * 9 + [0] * 86
    theirs = bootstrap(
        (steps,), np.mean, n_resamples=10_000, rng=np.random.default_rng(1)
    ).confidence_interval

    assert bootstrap_ratio(steps, [1] * 120) == pytest.approx((theirs.low, theirs.high), abs=0.012)


def test_every_draw_of_three_clusters() -> None:
    """With enough draws the ends are quantiles among the 27 means that there are, and both ends are such means."""
    sums, sizes = [3, -1, 1], [3, 2, 4]
    means = {
        round(sum(sums[i] for i in taken) / sum(sizes[i] for i in taken), 9)
        for taken in product(range(3), repeat=3)
    }
    found = bootstrap_ratio(sums, sizes, draws=20_000)

    assert {round(end, 9) for end in found} <= means
    assert found.low < 1 / 3 < found.high


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(3, 5)), min_size=4, max_size=30), st.integers(0, 9))
def test_the_other_way_round_is_the_mirror_image(clusters: list[tuple[int, int]], seed: int) -> None:
    """Champion and candidate exchanged change the sign of the interval; the same seed gives the same ends."""
    sums, sizes = zip(*clusters, strict=True)
    found = bootstrap_ratio(sums, sizes, seed=seed, draws=500)
    mirrored = bootstrap_ratio([-one for one in sums], sizes, seed=seed, draws=500)

    assert (-mirrored.high, -mirrored.low) == pytest.approx(found, abs=0.02)
    assert found == bootstrap_ratio(sums, sizes, seed=seed, draws=500)
    assert -1 <= found.low <= found.high <= 1


def test_clusters_widen_it() -> None:
    """Copies of an item add nothing when they share a cluster, and would if they did not."""
    steps = [1] * 20 + [-1] * 6 + [0] * 54
    once = bootstrap_ratio(steps, [1] * 80)
    copied = bootstrap_ratio([4 * one for one in steps], [4] * 80)

    assert copied == pytest.approx(once, abs=1e-12)
    assert once == pytest.approx(paired_difference(20, 6, 80), abs=0.02)


def test_coverage_by_simulation() -> None:
    """Forty clusters of unequal size around a gain of 10 points: 95% intervals hold it about that often."""
    random = np.random.default_rng(11)
    held = {"bootstrap": 0, "t": 0}
    for seed in range(300):
        sizes = random.integers(1, 6, size=40)
        sums = [int(random.binomial(size, min(max(random.normal(0.35, 0.2), 0), 1))) for size in sizes]
        sums = [one - int(random.binomial(size, 0.25)) for one, size in zip(sums, sizes, strict=True)]
        sums = [min(max(one, -int(size)), int(size)) for one, size in zip(sums, sizes, strict=True)]
        ends = (
            bootstrap_ratio(sums, sizes, draws=800, seed=seed),
            clustered_difference(sums, sizes.tolist()),
        )
        for name, (low, high) in zip(held, ends, strict=True):
            held[name] += low <= 0.1 <= high

    assert {name: round(count / 300, 2) for name, count in held.items()} == pytest.approx(
        {"bootstrap": 0.94, "t": 0.95}, abs=0.035
    )


def test_one_cluster_is_none() -> None:
    """The message says what was given."""
    with pytest.raises(ContractError, match="1 above, 1 below"):
        bootstrap_ratio([1], [2])
    with pytest.raises(ContractError, match="with something below"):
        bootstrap_ratio([1, 2], [2, 0])


@given(st.lists(st.floats(0.1, 1e4), min_size=2, max_size=40), st.floats(0.01, 100))
def test_what_grows_by_one_factor_everywhere_has_no_doubt(before: list[float], factor: float) -> None:
    """Lengths over lengths: both ends are the factor."""
    found = bootstrap_ratio([factor * one for one in before], before, draws=50)

    assert found == pytest.approx((factor, factor), rel=1e-6)


def test_a_factor_of_lengths_is_held_about_as_often_as_it_says() -> None:
    """Sixty answers of log-normal length, each made longer or shorter by chance around 1.3 times."""
    random, held = np.random.default_rng(7), 0
    for seed in range(300):
        before = np.exp(random.normal(3, 0.8, 60))
        after = 1.3 * before * np.exp(random.normal(-0.125, 0.5, 60))
        low, high = bootstrap_ratio(after.tolist(), before.tolist(), 0.9, draws=800, seed=seed)
        held += low <= 1.3 <= high

    # A few long answers make much of a sum: short of the 0.9 that is said.
    assert held / 300 == pytest.approx(0.85, abs=0.03)
