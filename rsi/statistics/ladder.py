"""A score on items that are looked at again and again, told so that it stays worth something.

The Ladder: what is told is the best so far, and it moves only when a score beats it by a step; then it is the score,
rounded to the step. Whoever asks learns nothing from all that does not. Source: Blum and Hardt 2015, "The Ladder: a
reliable leaderboard for machine learning competitions", arXiv 1502.04585, algorithm 1.
"""

from math import ceil, comb, log, sqrt

from rsi.errors import ContractError


def step_of(items: int) -> float:
    """The step for a share of so many items: the largest standard error that it can have, fixed before any is seen."""
    if items < 1:
        raise ContractError(f"a share wants items, found {items}")
    return 0.5 / sqrt(items)


def climb(best: float | None, score: float, step: float) -> float:
    """What is told after a score: the best before it, or the score in whole steps where it is better by one.

    Args:
        best: told before; None where nothing was.
        score: a share of right answers.
        step: between 0 and 1.
    """
    if not 0 < step < 1 or not 0 <= score <= 1:
        raise ContractError(f"a score of {score} in steps of {step}: both are shares, and a step is more than nothing")
    if best is not None and score <= best + step:
        return best
    return step * round(score / step)


def excess(items: int, queries: int, step: float, doubt: float) -> float:
    """How far the told score may lie above what its candidate is worth, but for a chance of `doubt`.

    Whoever asks, and however each query is chosen by what was told before: the told score moves at most M = 1 / step
    times, each time up to another of M + 1 values and with one bit beside it (`rsi.gate.gap`), so that there are
    N = Σ_i C(queries, i) C(M + 1, i) 2^i pasts and queries · N candidates. Hoeffding's bound over all of them is
    sqrt(ln(queries N / doubt) / (2 items)); rounding adds half a step.
    """
    most = ceil(1 / step)
    pasts = sum(comb(queries, moves) * comb(most + 1, moves) * 2**moves for moves in range(min(most, queries) + 1))
    return sqrt((log(queries) + log(pasts) - log(doubt)) / (2 * items)) + step / 2
