"""How many times as large a sum became, of units that were measured before and after."""

from collections.abc import Sequence
from math import exp, sqrt
from typing import NamedTuple

from scipy.stats import t as student

from rsi.errors import ContractError


class Ratio(NamedTuple):
    """Sum after over sum before, with one-sided bounds."""

    seen: float
    low: float
    high: float


def ratio(before: Sequence[float], after: Sequence[float], alpha: float = 0.05) -> Ratio:
    """Ratio R = Σ after / Σ before over G units that stand alone, each bound at level `alpha`.

    The error of R is that of its linear form, sqrt(G / (G - 1) Σ (after_g - R before_g)²) / Σ before (Cochran 1977,
    Sampling Techniques, section 6.4); the bounds are R exp(±t error / R), t-quantiles with G - 1 degrees of freedom, on
    the logarithm because a ratio is never below zero. Where few very large units make most of a sum, the upper bound is
    missed more often than it says.

    Raises:
        ContractError: fewer than two units, not as many before as after, a negative one, or nothing before.
    """
    units, start = len(before), sum(before)
    if units < 2 or len(after) != units or min(*before, *after) < 0 or not start:
        raise ContractError(f"a ratio needs two or more pairs, none negative and not all zero before; found {units}")
    seen = sum(after) / start
    if not seen:
        return Ratio(0.0, 0.0, 0.0)
    squares = sum((new - seen * old) ** 2 for old, new in zip(before, after, strict=True))
    error = sqrt(units / (units - 1) * squares) / start
    wide = exp(float(student.isf(alpha, units - 1)) * error / seen)
    return Ratio(seen, seen / wide, seen * wide)
