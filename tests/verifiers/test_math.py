from concurrent.futures import ThreadPoolExecutor

import pytest

from rsi.records import OutcomeKind
from rsi.verifiers.math import Worker, check

pytest.importorskip("math_verify", reason="the extra math is not installed")


def test_a_comparison_that_takes_too_long_is_an_error_and_the_next_is_answered() -> None:
    """The process is killed and started again; slow machinery is nobody's wrong answer."""
    worker = Worker(seconds=2.0)
    try:
        assert check("3", "3", worker).score == 1.0
        assert check("$9^{9^{9^{9}}}$", "$9^{9^{9^{9}}} + 1$", worker).score != 1.0
        assert check("3", "3", worker).score == 1.0
        hasty = Worker(seconds=0.0)
        assert check("3", "3", hasty).kind is OutcomeKind.ERROR
        hasty.close()
    finally:
        worker.close()


def test_threads_may_ask_at_once() -> None:
    """The bound needs no signal, so any thread may ask; each gets the answer to its own question."""
    worker = Worker()
    try:
        with ThreadPoolExecutor(4) as pool:
            scores = list(pool.map(lambda at: check(str(at % 2), "1", worker).score, range(20)))
    finally:
        worker.close()

    assert scores == [0.0, 1.0] * 10
