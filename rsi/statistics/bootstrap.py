"""Interval of a ratio of sums by drawing clusters again: no assumption on the shape of what clusters contribute."""

from collections.abc import Sequence
from math import isfinite
from statistics import NormalDist

import numpy as np

from rsi.errors import ContractError
from rsi.statistics.intervals import Interval

DRAWS = 10_000
_BLOCK = 2_000_000
"""Most numbers drawn at once."""


def bootstrap_ratio(
    above: Sequence[float],
    below: Sequence[float],
    confidence: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
) -> Interval:
    """Two-sided bias-corrected and accelerated interval of Σ above / Σ below, clusters drawn with replacement.

    With wins minus losses over items it is a difference of accuracies, with lengths over lengths a factor. Efron 1987,
    JASA 82:171-185: the ends are the draws' quantiles at Φ(z0 + (z0 ± z) / (1 - a (z0 ± z))), with z0 from the share of
    draws below the estimate (ties by half) and the acceleration a from leaving out one cluster at a time. Where every
    cluster says the same it is a point. With items for clusters it is the plain bootstrap of Miller 2024, arXiv
    2411.00640. Below some twenty clusters it is too short, where the t-interval of `rsi.statistics.clusters` is the
    honest one; and where a few very large clusters make most of a sum, the upper end is missed more often than it says.

    Raises:
        ContractError: fewer than two clusters, one with nothing below, or not as many below as above.
    """
    groups = len(above)
    if groups < 2 or len(below) != groups or min(below) <= 0 or draws < 1 or not 0 < confidence < 1:
        raise ContractError(
            f"a bootstrap needs two clusters, each with something below, draws and a confidence in (0, 1); found "
            f"{groups} above, {len(below)} below, {draws} draws, confidence {confidence}"
        )
    top, base = np.asarray(above, float), np.asarray(below, float)
    seen = top.sum() / base.sum()
    found = _draws(top, base, draws, np.random.default_rng(seed))
    normal = NormalDist()
    share = float((found < seen).mean() + (found == seen).mean() / 2)
    z0 = normal.inv_cdf(min(max(share, 0.5 / draws), 1 - 0.5 / draws))
    left = (top.sum() - top) / (base.sum() - base)
    gaps = left.mean() - left
    spread = float((gaps**2).sum()) ** 1.5
    pull = float((gaps**3).sum()) / (6 * spread) if spread > 0 else 0.0
    ends = []
    for z in (normal.inv_cdf((1 - confidence) / 2), normal.inv_cdf((1 + confidence) / 2)):
        at = z0 + (z0 + z) / (1 - pull * (z0 + z))
        ends.append(float(np.quantile(found, normal.cdf(at) if isfinite(at) else 0.5)))
    return Interval(min(ends), max(ends))


def _draws(above: np.ndarray, below: np.ndarray, draws: int, random: np.random.Generator) -> np.ndarray:
    """Σ above / Σ below of each draw."""
    groups = len(above)
    rows = max(_BLOCK // groups, 1)
    found = []
    for start in range(0, draws, rows):
        taken = random.integers(0, groups, size=(min(rows, draws - start), groups))
        found.append(above[taken].sum(axis=1) / below[taken].sum(axis=1))
    return np.concatenate(found)
