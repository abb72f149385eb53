"""What a sampled token counts where actor and learner do not agree on its probability.

The actor that sampled (another engine, another precision, an older adapter) and the learner give the same token other
probabilities. With k = p_learner / p_actor, of a token or of a whole answer:

| rule | weight | source |
| --- | --- | --- |
| none | 1 | |
| truncate | min(k, high) | TIS: Yao et al., "Your efficient RL framework secretly brings you off-policy RL", 2025 |
| icepop | k where low <= k <= high, else 0 | IcePop: Ring-1T report (arXiv 2510.18855), section on training stability |
| mask | 1 where low <= k <= high, else 0 | the same, without the weight |
| reject | all of an answer 0 where the geometric mean of its k lies outside [low, high] | |
| topr | 1 where the answer was better than its group, min(k, 1) where worse | TOPR: arXiv 2503.14286 |

In every rule a token that the actor gave far less than the learner (k > `VETO`) or the reverse takes its whole answer
with it when `veto` is set. The measures tell how far apart the two are: `Mismatch`.
"""

import math
from typing import NamedTuple

import torch

from rsi.algorithm import Correction, Level, Rule

VETO = 1e4
"""A token this many times likelier to one of the two was not sampled from what the learner believes."""


class Mismatch(NamedTuple):
    """How far apart actor and learner are, over the sampled tokens of a step."""

    k3: float
    """Mean of k - ln k - 1 in nats: an estimate of KL(actor || learner) that is never negative."""
    chi_square: float
    """Mean of k^2, less 1."""
    effective: float
    """Effective sample size as a share: (sum w)^2 / (n sum w^2) of the weights; 1 where all count the same."""
    masked: float
    """Share of tokens whose weight is 0."""
    largest: float
    """Largest |ln k| of a token."""
    mean: float = 0.0
    """Mean |ln k|."""

    @property
    def finite(self) -> bool:
        """Whether all of it are numbers."""
        return all(map(math.isfinite, self))


def weights(
    correction: Correction,
    learner: torch.Tensor,
    actor: torch.Tensor,
    mask: torch.Tensor,
    values: torch.Tensor,
) -> torch.Tensor:
    """Weights [N, T], without a graph.

    Args:
        correction: the rule and its bounds.
        learner: log-probs [N, T] of the sampled tokens, as the learner gives them.
        actor: the same as the actor gave them when it sampled.
        mask: [N, T], 1 at sampled tokens.
        values: advantages [N].
    """
    difference = ((learner - actor) * mask).detach()
    k = difference.exp() if correction.level is Level.TOKEN else _of_answers(difference).exp()
    k = k.expand_as(mask)
    inside = ((k >= correction.low) & (k <= correction.high)).to(k.dtype)
    if correction.rule is Rule.TRUNCATE:
        found = k.clamp(max=correction.high)
    elif correction.rule is Rule.ICEPOP:
        found = torch.where(inside > 0, k, torch.zeros_like(k))
    elif correction.rule is Rule.MASK:
        found = inside
    elif correction.rule is Rule.REJECT:
        found = _rejected(correction, difference, mask)
    elif correction.rule is Rule.TOPR:
        found = torch.where(values.unsqueeze(-1) > 0, torch.ones_like(k), k.clamp(max=1.0))
    else:
        found = torch.ones_like(k)
    if correction.veto:
        far = (difference.abs() > math.log(VETO)).any(dim=-1, keepdim=True)
        found = torch.where(far, torch.zeros_like(found), found)
    return found * mask


def mismatch(
    learner: torch.Tensor, actor: torch.Tensor, mask: torch.Tensor, weighted: torch.Tensor
) -> Mismatch:
    """The measures of a step; `weighted` is what `weights` gave."""
    chosen = mask > 0
    if not bool(chosen.any()):
        return Mismatch(0.0, 0.0, 1.0, 0.0, 0.0)
    difference = (learner - actor).detach()[chosen].double()
    k, w = difference.exp(), weighted.detach()[chosen].double()
    total = w.square().sum() * len(w)
    return Mismatch(
        k3=float((k - difference - 1).mean()),
        chi_square=float(k.square().mean() - 1),
        effective=float(w.sum().square() / total) if float(total) > 0 else 0.0,
        masked=float((w == 0).double().mean()),
        largest=float(difference.abs().max()),
        mean=float(difference.abs().mean()),
    )


def _of_answers(difference: torch.Tensor) -> torch.Tensor:
    """Log-ratio of each answer [N, 1]: the sum over its tokens."""
    return difference.sum(dim=-1, keepdim=True)


def _rejected(correction: Correction, difference: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    mean = (_of_answers(difference) / mask.sum(dim=-1, keepdim=True).clamp_min(1)).exp()
    kept = ((mean >= correction.low) & (mean <= correction.high)).to(mask.dtype)
    return kept.expand_as(mask)
