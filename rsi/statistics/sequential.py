"""Asking items one after the other in an order fixed beforehand, and stopping when the answer is known.

Three rules, of which the first that speaks ends the asking:

1. gain: the capital of `rsi.statistics.betting.log_capital` reaches 1 / alpha;
2. futility: either winning every item left would not do, or the capital bet against a gain of `effect` or more
   reaches 1 / beta, so that a candidate with such a gain is stopped with probability at most beta;
3. last look: all items were asked, and there are so many wins that rules 1 and 3 together pass a candidate without
   gain with probability at most alpha. Capital alone leaves much of alpha unused by then; what it used is counted
   exactly on the walk of a fair coin, given the number of items that differ.

An early stop for futility can only lower the error. Whoever looks less often than after every item errs less.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from math import log
from typing import NamedTuple

import numpy as np

from rsi.errors import ContractError
from rsi.statistics.betting import log_capital, log_capitals


class Stop(StrEnum):
    """Where the asking stands."""

    GOING = "going"
    GAIN = "gain"
    FUTILE = "futile"
    NO_GAIN = "no gain"
    """All items were asked, and the last look saw too little."""


@dataclass(frozen=True)
class Plan:
    """All that is fixed before the first item."""

    items: int
    """Items that are asked at most."""
    alpha: float
    effect: float
    """The gain that must not be missed, as a share of items."""
    beta: float = 0.1
    """Most often that a candidate with such a gain is stopped for futility."""

    def __post_init__(self) -> None:
        inside = 0 < self.alpha < 0.5 and 0 < self.beta < 0.5 and 0 < self.effect < 1 and self.items >= 1
        if not inside:
            raise ContractError(
                "a plan needs items >= 1, alpha and beta in (0, 0.5), effect in (0, 1); "
                f"found {self.items}, {self.alpha}, {self.beta}, {self.effect}"
            )


@dataclass(frozen=True)
class Look:
    """What a look at some items says."""

    stop: Stop
    asked: int
    wins: int
    losses: int
    capital: float
    """Natural logarithm, against no gain; the most it was so far."""
    doubt: float
    """The same, against a gain of the plan's effect or more."""


def look(steps: Sequence[int], plan: Plan) -> Look:
    """Where the asking stands after `steps`: 1 for each win, -1 for each loss, 0 for the rest, in the order asked.

    Raises:
        ContractError: more steps than items, or another number among them.
    """
    return _at(_paths(steps, plan), len(steps), plan)


def ended(steps: Sequence[int], plan: Plan, every: int) -> Look:
    """Where the asking ends when all steps are known and every so many of them are looked at.

    Raises:
        ContractError: not as many steps as items, or another number among them.
    """
    if len(steps) != plan.items:
        raise ContractError(f"the plan asks {plan.items} items; found {len(steps)} steps")
    paths = _paths(steps, plan)
    looks = (_at(paths, upto, plan) for upto in (*range(every, plan.items, every), plan.items))
    return next(one for one in looks if one.stop is not Stop.GOING)


class _Paths(NamedTuple):
    """Wins, losses and both capitals at their highest, after none, one, two … steps."""

    wins: np.ndarray
    losses: np.ndarray
    capital: np.ndarray
    doubt: np.ndarray


def _paths(steps: Sequence[int], plan: Plan) -> _Paths:
    walk = np.asarray(steps, int)
    if walk.size > plan.items or not np.isin(walk, (-1, 0, 1)).all():
        raise ContractError(f"steps are 1, 0 or -1, at most {plan.items} of them; found {walk.size}")
    wins, losses = (np.concatenate([[0], np.cumsum(walk == end)]) for end in (1, -1))
    doubt = np.concatenate([[0.0], log_capitals(-walk, -plan.effect)])
    highest = np.maximum.accumulate
    return _Paths(wins, losses, highest(log_capital(wins, losses)), highest(doubt))


def _at(paths: _Paths, asked: int, plan: Plan) -> Look:
    wins, losses = int(paths.wins[asked]), int(paths.losses[asked])
    capital, doubt = float(paths.capital[asked]), float(paths.doubt[asked])
    return Look(_stop(wins, losses, asked, capital, doubt, plan), asked, wins, losses, capital, doubt)


def _stop(wins: int, losses: int, asked: int, capital: float, doubt: float, plan: Plan) -> Stop:
    if capital >= -log(plan.alpha):
        return Stop.GAIN
    left = plan.items - asked
    if not left:
        return Stop.GAIN if wins >= last_wins(wins + losses, plan.alpha) else Stop.NO_GAIN
    if doubt >= -log(plan.beta) or not _could_pass(wins, losses, left, plan.alpha):
        return Stop.FUTILE
    return Stop.GOING


def _could_pass(wins: int, losses: int, left: int, alpha: float) -> bool:
    """Whether winning every item left would do; more wins help both rules, so that is the best that can come."""
    best = wins + left
    if best >= last_wins(best + losses, alpha):
        return True
    ahead = np.arange(1, left + 1)
    return bool(log_capital(wins + ahead, losses).max() >= -log(alpha))


@lru_cache(maxsize=4096)
def last_wins(differing: int, alpha: float) -> int:
    """The fewest wins that pass at the last look, among `differing` items on which the versions differ.

    The least k for which a fair coin's walk reaches capital 1 / alpha on the way, or k wins at the end, with
    probability at most alpha; `differing` + 1 where no number of wins does.
    """
    crossed, ends = _walk(differing, alpha)
    room = alpha - crossed + 1e-12
    tail = np.cumsum(ends[::-1])[::-1]
    fits = np.flatnonzero(tail <= room)
    return int(fits[0]) if fits.size else differing + 1


@lru_cache(maxsize=4096)
def _walk(steps: int, alpha: float) -> tuple[float, np.ndarray]:
    """Probability of having crossed within `steps` tosses, and of each number of wins without having crossed."""
    if steps == 0:
        return 0.0, np.ones(1)
    crossed, before = _walk_before(steps, alpha)
    ends = np.zeros(steps + 1)
    ends[1:] += before / 2
    ends[:-1] += before / 2
    wins = np.arange(steps + 1)
    out = log_capital(wins, steps - wins) >= -log(alpha)
    return crossed + float(ends[out].sum()), np.where(out, 0.0, ends)


def _walk_before(steps: int, alpha: float) -> tuple[float, np.ndarray]:
    """The walk one toss before, reached from the start so that no recursion runs deep."""
    for known in range(1, steps - 1):
        _walk(known, alpha)
    return _walk(steps - 1, alpha)
