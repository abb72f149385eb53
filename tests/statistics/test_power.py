import numpy as np
import pytest
from scipy.stats import binom

from rsi.errors import ContractError
from rsi.statistics.noninferiority import noninferior
from rsi.statistics.paired import mcnemar
from rsi.statistics.power import items_needed, mde, noninferior_power, power


def test_61_power_by_enumeration() -> None:
    """Summing over every (b, c) with the test itself gives the same power."""
    from math import comb

    n, psi, gain = 14, 0.5, 0.3
    pb, pc = (psi + gain) / 2, (psi - gain) / 2
    brute = sum(
        comb(n, b) * comb(n - b, c) * pb**b * pc**c * (1 - psi) ** (n - b - c)
        for b in range(n + 1)
        for c in range(n + 1 - b)
        if mcnemar(b, c).mid_p < 0.05
    )

    assert power(n, psi, gain) == pytest.approx(brute)


def test_power_by_simulation() -> None:
    """Seeded nights with a real gain of 4 points pass about as often as the formula says."""
    draw = np.random.default_rng(8)
    m = draw.binomial(760, 0.2, size=1500)
    b = draw.binomial(m, (1 + 0.04 / 0.2) / 2)
    passed = np.mean([mcnemar(int(x), int(y - x)).mid_p < 0.05 for x, y in zip(b, m, strict=True)])

    assert passed == pytest.approx(power(760, 0.2, 0.04), abs=0.035)


SIZES = [(670, 0.1, 0.03), (1360, 0.2, 0.03), (760, 0.2, 0.04)]


@pytest.mark.parametrize(("n", "discordance", "effect"), SIZES)
def test_the_sizes_of_the_facts(n: int, discordance: float, effect: float) -> None:
    """The tabled sizes detect the tabled effects with power 0.8."""
    assert mde(n, discordance) == pytest.approx(effect, abs=0.001)


def test_what_cannot_be_seen_has_no_effect_size() -> None:
    """Ten items of which two differ prove nothing; more items see smaller effects."""
    assert mde(10, 0.2) is None
    few, many = mde(60, 0.3), mde(240, 0.3)
    assert few is not None and many is not None and many < few
    with pytest.raises(ContractError, match="discordance"):
        power(10, 0.1, 0.2)


@pytest.mark.parametrize(("n", "discordance", "effect"), SIZES)
def test_the_items_needed_are_those_of_the_facts(n: int, discordance: float, effect: float) -> None:
    """From the effect back to the size; a tiny effect needs more items than anybody has."""
    needed = items_needed(discordance, effect)

    assert needed == pytest.approx(n, rel=0.03)
    assert needed is not None and power(needed, discordance, effect) >= 0.8
    assert items_needed(0.2, 0.0) is None and items_needed(0.5, 0.001) is None
    assert items_needed(1.0, 0.99) == 4


def test_the_power_of_a_guard_by_enumeration() -> None:
    """Planning by the score comes close to what the exact test does for an equal candidate."""
    n, discordance, margin = 30, 0.15, 0.2
    exact = sum(
        binom.pmf(m, n, discordance) * binom.pmf(b, m, 0.5)
        for m in range(12)
        for b in range(m + 1)
        if noninferior(b, m - b, n, margin).shown
    )

    assert noninferior_power(n, discordance, margin) == pytest.approx(exact, abs=0.08)
    assert noninferior_power(4 * n, discordance, margin) > noninferior_power(n, discordance, margin)
    with pytest.raises(ContractError):
        noninferior_power(n, discordance, 0.0)
