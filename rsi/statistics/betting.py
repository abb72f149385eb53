"""Evidence that may be looked at after every item: test martingales (e-processes) for a gain.

A test martingale bets a capital of 1 against a hypothesis and is worth more than 1 / alpha at any time with
probability at most alpha while that is true (Ville 1939); Ramdas, Grünwald, Vovk and Shafer 2023, Statistical Science
38:576-601. Capitals are natural logarithms here.
"""

from collections.abc import Sequence

import numpy as np
from scipy.special import betainc, betaln

from rsi.errors import ContractError

MOST = 0.75
"""Share of the capital that a bet may lose at most."""


def log_capital(b: int | np.ndarray, c: int | np.ndarray) -> np.ndarray:
    """Capital after `b` wins and `c` losses, in any order, against P(win | the versions differ) <= 1/2.

    Mixture over a uniform prior of the win rate on (1/2, 1): 2 · 2^(b+c) · B(b+1, c+1) · (1 - I_{1/2}(b+1, c+1)).
    It grows with wins and falls with losses, so that the hypothesis's worst case is the fair coin.
    """
    wins, losses = np.asarray(b, float), np.asarray(c, float)
    upper = betainc(losses + 1, wins + 1, 0.5)
    m = wins + losses
    # Where the tail underflows nobody passes; its largest term alone understates it.
    term = -np.log(m + 2) - betaln(m + 2 - wins, wins + 1) - (m + 1) * np.log(2)
    tail = np.where(upper > 0, np.log(np.maximum(upper, 1e-300)), term)
    return np.asarray((m + 1) * np.log(2) + betaln(wins + 1, losses + 1) + tail)


def log_capitals(differences: Sequence[float] | np.ndarray, mean: float = 0.0) -> np.ndarray:
    """Capital after each of some differences, which lie between -1 and 1, against E[d | past] <= `mean`.

    Π (1 + λ_i (d_i - mean)) with λ_i = clip((μ - mean) / (σ² + (μ - mean)²), 0, `MOST` / (1 + mean)), μ and σ² the
    mean and variance of the differences before i, shrunk by one at `mean` and a variance of 1/4. Source: the
    approximate growth-optimal bet of Waudby-Smith and Ramdas 2024, JRSS B 86:1-27, section 4. Where clusters count
    as one, give the mean difference of each cluster.

    Raises:
        ContractError: a difference outside -1 to 1, or a mean that is not inside.
    """
    steps = np.asarray(differences, float)
    if not -1 < mean < 1 or (steps.size and np.abs(steps).max() > 1 + 1e-12):
        raise ContractError(f"differences and mean must lie between -1 and 1; found mean {mean}")
    seen = np.arange(1, steps.size + 1)
    centre = (mean + np.concatenate([[0.0], np.cumsum(steps)[:-1]])) / seen
    squares = np.concatenate([[0.0], np.cumsum((steps - centre) ** 2)[:-1]])
    spread = (0.25 + squares) / seen
    ahead = centre - mean
    bets = np.clip(ahead / (spread + ahead**2), 0.0, MOST / (1 + mean))
    return np.asarray(np.cumsum(np.log1p(bets * (steps - mean))))
