"""Interval of a difference by drawing clusters again: no assumption on the shape of what clusters contribute."""

from collections.abc import Sequence
from math import isfinite
from statistics import NormalDist

import numpy as np

from rsi.errors import ContractError
from rsi.statistics.intervals import Interval

DRAWS = 10_000
_BLOCK = 2_000_000
"""Most numbers drawn at once."""


def bootstrap_difference(
    sums: Sequence[float],
    sizes: Sequence[int],
    confidence: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
) -> Interval:
    """Two-sided bias-corrected and accelerated interval of Σ sums / Σ sizes, clusters drawn with replacement.

    Efron 1987, JASA 82:171-185: the ends are the draws' quantiles at Φ(z0 + (z0 ± z) / (1 - a (z0 ± z))), with z0
    from the share of draws below the estimate (ties by half) and the acceleration a from leaving out one cluster at
    a time. Where every cluster says the same it is a point: use `paired_difference` there. With items for clusters
    it is the plain bootstrap of Miller 2024, arXiv 2411.00640. Below some twenty clusters it is too short; then the
    t-interval of `rsi.statistics.clusters` is the honest one.

    Raises:
        ContractError: fewer than two clusters, an empty one, or as many sums as sizes are not given.
    """
    groups = len(sums)
    if groups < 2 or len(sizes) != groups or min(sizes) < 1 or draws < 1 or not 0 < confidence < 1:
        raise ContractError(
            f"a bootstrap needs at least two sums, each with its size, draws and a confidence in (0, 1); found "
            f"{groups} sums, {len(sizes)} sizes, {draws} draws, confidence {confidence}"
        )
    above, below = np.asarray(sums, float), np.asarray(sizes, float)
    seen = above.sum() / below.sum()
    found = _draws(above, below, draws, np.random.default_rng(seed))
    normal = NormalDist()
    share = float((found < seen).mean() + (found == seen).mean() / 2)
    z0 = normal.inv_cdf(min(max(share, 0.5 / draws), 1 - 0.5 / draws))
    left = (above.sum() - above) / (below.sum() - below)
    gaps = left.mean() - left
    spread = float((gaps**2).sum()) ** 1.5
    pull = float((gaps**3).sum()) / (6 * spread) if spread > 0 else 0.0
    ends = []
    for z in (normal.inv_cdf((1 - confidence) / 2), normal.inv_cdf((1 + confidence) / 2)):
        at = z0 + (z0 + z) / (1 - pull * (z0 + z))
        ends.append(float(np.quantile(found, normal.cdf(at) if isfinite(at) else 0.5)))
    return Interval(min(ends), max(ends))


def _draws(above: np.ndarray, below: np.ndarray, draws: int, random: np.random.Generator) -> np.ndarray:
    """Σ sums / Σ sizes of each draw."""
    groups = len(above)
    rows = max(_BLOCK // groups, 1)
    found = []
    for start in range(0, draws, rows):
        taken = random.integers(0, groups, size=(min(rows, draws - start), groups))
        found.append(above[taken].sum(axis=1) / below[taken].sum(axis=1))
    return np.concatenate(found)
