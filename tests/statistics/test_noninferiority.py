from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rsi.errors import ContractError
from rsi.statistics.clusters import clustered_difference, spread
from rsi.statistics.noninferiority import noninferior, noninferior_clustered
from rsi.statistics.score import paired_score


def chance(b: int, c: int, n: int, pb: float, pc: float) -> float:
    return comb(n, b) * comb(n - b, c) * pb**b * pc**c * (1 - pb - pc) ** (n - b - c)


def outcomes(n: int) -> list[tuple[int, int]]:
    return [(b, c) for b in range(n + 1) for c in range(n + 1 - b)]


@pytest.mark.parametrize(("n", "margin"), [(6, 0.2), (9, 0.08), (12, 0.1)])
def test_p_is_the_largest_tail_by_brute_force(n: int, margin: float) -> None:
    """Listing every outcome and a fine grid of nuisance rates gives the same p for every outcome."""
    z = {(b, c): paired_score(b, c, n, -margin) for b, c in outcomes(n)}
    rates = np.linspace(0, (1 - margin) / 2, 1501)
    table = {(b, c): chance(b, c, n, rates, rates + margin) for b, c in outcomes(n)}
    for seen in outcomes(n):
        tail = sum(table[o] for o in outcomes(n) if z[o] >= z[seen] - 1e-9)
        assert noninferior(*seen, n, margin).p == pytest.approx(tail.max(), abs=2e-3)


@pytest.mark.parametrize(("n", "margin"), [(8, 0.15), (14, 0.2), (20, 0.08)])
def test_a_candidate_that_loses_the_margin_or_more_passes_at_most_alpha(n: int, margin: float) -> None:
    """The level holds over all of H0, its inside included, by enumeration; at small n too."""
    passed = [o for o in outcomes(n) if noninferior(*o, n, margin).shown]
    worst = 0.0
    for loss in (margin, margin + 0.05, margin + 0.2):
        for pb in np.linspace(0, (1 - loss) / 2, 60):
            worst = max(worst, sum(chance(*o, n, float(pb), float(pb) + loss) for o in passed))

    assert passed
    assert worst <= 0.0505


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 60), st.data())
def test_the_bound_and_the_p_value_tell_one_story(n: int, data: st.DataObject) -> None:
    """The lower bound reaches -margin exactly when p < alpha, and never lies above the estimate."""
    b = data.draw(st.integers(0, n))
    c = data.draw(st.integers(0, n - b))
    result = noninferior(b, c, n, data.draw(st.sampled_from([0.03, 0.08, 0.2])))

    assert result.shown == (result.lower >= -result.margin)
    assert -1 <= result.lower <= result.difference + 1e-12
    assert result.difference == (b - c) / n


def test_wins_help_losses_hurt_and_size_helps() -> None:
    """p moves the right way with each count."""
    p = noninferior(5, 8, 150, 0.08).p

    assert noninferior(6, 8, 150, 0.08).p < p < noninferior(5, 9, 150, 0.08).p
    assert noninferior(0, 0, 20, 0.08).p > 0.05 > noninferior(0, 0, 60, 0.08).p


def test_the_loss_of_everything_is_never_non_inferior() -> None:
    """All champion's right answers lost: p near 1, bound far below; the other way round: nearly 0."""
    assert noninferior(0, 90, 150, 0.08).p > 0.999
    assert noninferior(0, 90, 150, 0.08).lower < -0.6
    assert noninferior(90, 0, 150, 0.08).p < 1e-9


def test_power_where_nothing_changed() -> None:
    """Seeded simulation: an equal candidate with 12% discordant answers is usually cleared on 200 items."""
    draw = np.random.default_rng(4)
    shown = 0
    for _ in range(20):
        m = int(draw.binomial(200, 0.12))
        b = int(draw.binomial(m, 0.5))
        shown += noninferior(b, m - b, 200, 0.08).shown

    assert shown >= 16


def test_clusters_of_one_come_close_to_the_plain_test() -> None:
    """On many items in clusters of one the t-test and the exact test agree on the bound."""
    sums = [1] * 12 + [-1] * 15 + [0] * 273
    clustered = noninferior_clustered(sums, [1] * 300, 0.08)

    assert clustered.lower == pytest.approx(noninferior(12, 15, 300, 0.08).lower, abs=0.01)


def test_copies_of_an_item_add_no_evidence() -> None:
    """Each item written down four times gives the same bound as once, when the copies share a cluster."""
    once = [1] * 5 + [-1] * 6 + [0] * 49
    single = noninferior_clustered(once, [1] * 60, 0.1)
    copied = noninferior_clustered([4 * s for s in once], [4] * 60, 0.1)

    assert copied.lower == pytest.approx(single.lower)
    assert copied.p == pytest.approx(single.p)


def test_a_clustered_interval_by_hand() -> None:
    """Two clusters of two, sums 2 and 0: D = 1/2, residuals 1 and -1, SE = sqrt(2 * 2) / 4 = 1/2."""
    assert spread([2, 0], [2, 2]) == (0.5, 0.5, 1)
    assert clustered_difference([2, 0], [2, 2]) == (-1.0, 1.0)
    low, high = clustered_difference([1] * 30 + [0] * 70, [1] * 100)
    assert (low, high) == pytest.approx((0.3 - 1.984 * 0.0460566, 0.3 + 1.984 * 0.0460566), abs=1e-4)


def test_nonsense_is_refused() -> None:
    """The message says what was found; clusters that all agree leave no doubt."""
    with pytest.raises(ContractError, match="two sums"):
        noninferior_clustered([1], [1], 0.1)
    with pytest.raises(ContractError, match="margin"):
        noninferior(1, 1, 10, 0.0)
    assert noninferior_clustered([0, 0], [3, 3], 0.1).shown
    assert not noninferior_clustered([-3, -3], [3, 3], 0.1).shown
