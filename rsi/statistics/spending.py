"""What one night may spend of an error that has to last for many.

`alpha` is the chance, over all nights together, that a candidate passes that is not better.
"""

from math import comb

from rsi.errors import ContractError


def even(alpha: float, nights: int, night: int) -> float:
    """alpha / nights for each of the first `nights` nights, counted from 1; 0 after them.

    Each night's items must be new, so that its test holds whatever the nights before showed.
    """
    _check(alpha, night)
    return alpha / nights if night <= nights else 0.0


def harmonic(alpha: float, night: int) -> float:
    """alpha / (t (t + 1)) in night t: the nights never run out, and the shares sum to alpha.

    The items must be new each night, as with `even`.
    """
    _check(alpha, night)
    return alpha / (night * (night + 1))


def reused(alpha: float, nights: int, accepts: int) -> float:
    """What each night may spend on items that are asked again and again, while nothing but pass or not leaves.

    With at most `accepts` passes in `nights` nights whoever makes candidates can have seen Σ_{i=1..accepts}
    C(nights, i) different pasts before a test, so that so many candidates at most can ever be tested; each is
    tested at alpha over that number. Source: the description-length argument behind Blum and Hardt 2015, arXiv
    1502.04585, and Dwork et al. 2015, Science 349:636-638.
    """
    _check(alpha, nights)
    if not 1 <= accepts <= nights:
        raise ContractError(f"accepts must lie between 1 and the nights; found {accepts} of {nights}")
    return alpha / pasts(nights, accepts)


def pasts(nights: int, accepts: int) -> int:
    """How many candidates can be tested in all, over every way that passes and refusals may fall."""
    return sum(comb(nights, count) for count in range(1, accepts + 1))


def _check(alpha: float, night: int) -> None:
    if not 0 < alpha < 0.5 or night < 1:
        raise ContractError(f"alpha must lie in (0, 0.5) and nights count from 1; found {alpha} and {night}")
