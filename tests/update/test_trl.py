"""Our loss beside TRL's; these tests need its environment."""

import pytest

from tests.benchmarks.trl_same import CASES, PYTHON, compare, trl_python

pytestmark = pytest.mark.skipif(
    trl_python() is None,
    reason=f"{PYTHON} names no Python of an environment with trl (pip install 'rsi[trl]')",
)


def test_full_back_propagation_is_what_trl_does(tiny_base, tmp_path):
    """The same loss and adapter gradient on the same tokens, for each way of making one loss of many."""
    assert trl_python() is not None
    found = compare(trl_python(), tiny_base, tmp_path / "both", prompt_tokens=24, rank=4, threads=1)

    assert [one.name for one in found] == list(CASES)
    for one in found:
        assert one.loss < 1e-4
        assert one.gradient < 1e-4
        assert one.clipped > 0
