from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi.errors import ContractError
from rsi.statistics.multiplicity import holm

PS = st.lists(st.floats(0, 1), min_size=1, max_size=6)


@given(PS, st.floats(0.001, 0.4))
def test_holm_is_the_step_down_procedure(ps: list[float], alpha: float) -> None:
    """An adjusted p at or below alpha is what going up from the smallest p rejects, until one does not fit."""
    rejected = set()
    for rank, at in enumerate(sorted(range(len(ps)), key=lambda at: ps[at])):
        if ps[at] * (len(ps) - rank) > alpha:
            break
        rejected.add(at)

    assert {at for at, p in enumerate(holm(ps)) if p <= alpha} == rejected


@given(PS)
def test_holm_never_helps_and_keeps_the_order(ps: list[float]) -> None:
    """Adjusted values are at least the plain ones, at most m times those, and equally ordered."""
    found = holm(ps)

    assert all(p <= q <= min(len(ps) * p, 1.0) for p, q in zip(ps, found, strict=True))
    assert all((ps[i] <= ps[j]) <= (found[i] <= found[j]) for i, j in product(range(len(ps)), repeat=2))
    assert holm(ps[:1]) == (ps[0],)


def test_the_error_of_the_whole_family_by_simulation() -> None:
    """Four true hypotheses, 20,000 times: at least one is rejected in about 5%, where plain tests make it 18%."""
    draws = np.random.default_rng(3).random((20_000, 4))
    wrong = np.mean([min(holm(row)) <= 0.05 for row in draws.tolist()])

    assert wrong == pytest.approx(0.0491, abs=0.005)
    assert (draws.min(axis=1) <= 0.05).mean() > 0.17
    with pytest.raises(ContractError, match="between 0 and 1"):
        holm([0.2, 1.2])
