import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi.errors import ContractError
from rsi.statistics.spending import even, harmonic, pasts, reused


@given(st.floats(0.001, 0.4), st.integers(1, 400))
def test_no_number_of_nights_spends_more_than_there_is(alpha: float, nights: int) -> None:
    """Shares sum to alpha over the horizon, or in the limit, and never beyond."""
    assert sum(even(alpha, nights, night) for night in range(1, nights + 50)) == pytest.approx(alpha)
    spent = sum(harmonic(alpha, night) for night in range(1, nights + 1))
    assert spent == pytest.approx(alpha * nights / (nights + 1))
    assert even(alpha, nights, nights + 1) == 0.0


def tree(nights: int, accepts: int) -> int:
    """Tests that can happen at all, by walking every past of passes and refusals."""
    if not nights or not accepts:
        return 0
    return 1 + tree(nights - 1, accepts) + tree(nights - 1, accepts - 1)


@given(st.integers(1, 9), st.data())
def test_reuse_counts_every_past(nights: int, data: st.DataObject) -> None:
    """The number by which alpha is divided is that of the tests in the whole tree of answers."""
    accepts = data.draw(st.integers(1, nights))

    assert pasts(nights, accepts) == tree(nights, accepts)
    assert reused(0.05, nights, accepts) * tree(nights, accepts) == pytest.approx(0.05)


def test_the_figures_of_thirty_nights() -> None:
    """Thirty nights with up to three passes: 4,525 pasts; one pass: a share for each night, as with fresh items."""
    assert (pasts(30, 3), pasts(30, 1)) == (4525, 30)
    assert reused(0.05, 30, 1) == even(0.05, 30, 7)
    for call in (lambda: reused(0.05, 3, 4), lambda: even(0.7, 3, 1), lambda: harmonic(0.05, 0)):
        with pytest.raises(ContractError):
            call()


def test_reused_items_by_simulation() -> None:
    """Fifty fixed items, eight nights, two passes: whoever keeps what passed and chooses the next by it errs rarely."""
    random = np.random.default_rng(2)
    level = reused(0.2, 8, 2)
    wrong = 0
    for _ in range(4000):
        z, kept = 0.0, 0
        for _ in range(8):
            # The next candidate leans on the one that passed as far as its answers on these items showed it right.
            score = 0.9 * z + np.sqrt(1 - 0.81) * random.normal() if kept else random.normal()
            if kept < 2 and score > 0 and 0.5 * np.exp(-0.717 * score - 0.416 * score**2) < level:
                z, kept = score, kept + 1
        wrong += kept > 0
    assert wrong / 4000 <= 0.2
