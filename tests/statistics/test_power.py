import numpy as np
import pytest

from rsi.errors import ContractError
from rsi.statistics.paired import mcnemar
from rsi.statistics.power import mde, power


def test_power_by_enumeration() -> None:
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
