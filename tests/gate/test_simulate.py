"""The simulation of the gate: what it draws, and that it uses the rules it is about."""

import numpy as np
import pytest

from rsi.gate import simulate
from rsi.gate.terms import Budget, Items
from rsi.statistics.paired import mcnemar
from rsi.statistics.sequential import Plan


@pytest.mark.parametrize("world", simulate.WORLDS)
def test_both_versions_are_drawn_alike(world: str) -> None:
    """As often right the one as the other, whichever way items hang together."""
    random = np.random.default_rng(3)
    draws = [simulate.WORLDS[world](random) for _ in range(400)]
    before, after = (np.array([pair[side] for pair in draws]) for side in (0, 1))

    assert before.shape == (400, simulate.ITEMS)
    assert before.mean() == pytest.approx(after.mean(), abs=0.02)
    assert 0.05 < (before != after).mean() < 0.5


@pytest.mark.slow
def test_42_the_champion_against_itself_passes_rarely() -> None:
    """A hundred gates a world: near alpha, and a promotion needs the gain and the guard."""
    rates = list(simulate.against_itself(100, 4))

    assert all(one.within and one.hits / one.of < 0.15 for one in rates)
    assert all(promoted.hits <= shown.hits for shown, promoted in zip(rates[::2], rates[1::2], strict=True))


def test_items_of_one_template_would_fool_a_test_that_ignores_them() -> None:
    """Counting items of a cluster as if they stood alone passes far too often: the clause does not."""
    random = np.random.default_rng(5)
    fooled = 0
    for _ in range(300):
        before, after = simulate.clustered(random)
        fooled += mcnemar(int((after & ~before).sum()), int((before & ~after).sum())).mid_p < 0.05

    assert fooled / 300 > 0.12


def test_48_the_account_is_what_keeps_many_nights_honest() -> None:
    """Forty runs of 200 nights: few promotions with it, on fresh items and on the same; without it all are fooled."""
    fresh, few, none = simulate.nights(40, 6)

    assert fresh.hits <= 6 and few.hits <= 3
    assert none.hits >= 39
    assert Budget(items=Items.REUSED, questions=200, accepts=3).level(1) < 0.05 / 1_000_000


@pytest.mark.slow
def test_48_a_gain_is_found_as_often_as_the_power_says() -> None:
    """Simulated and summed agree; more points are found more often."""
    found = simulate.found(300, 7, 500)

    assert all(share == pytest.approx(exact, abs=0.08) for _, share, exact in found)
    assert [share for _, share, _ in found] == sorted(share for _, share, _ in found)
    assert {one.items: one.at[1] > 0.8 for one in simulate.powers() if one.alpha == 0.05}[1000]


def test_looking_early_saves_items() -> None:
    """Most where the gain is large or there is none; the error stays."""
    none, *_, large = simulate.savings(150, 8, Plan(400, 0.05, 0.08, 0.1))

    assert none.passed <= 0.12 and none.asked < 0.75
    assert large.passed > 0.8 and large.asked < 0.75


def test_the_same_seed_gives_the_same_figures() -> None:
    """All that is drawn comes from it."""
    assert list(simulate.against_itself(10, 9)) == list(simulate.against_itself(10, 9))
    assert simulate.nights(10, 9) == simulate.nights(10, 9)
