"""Policy optimisation over groups of answers: the arithmetic, without a model.

Shapes: P prompts with G answers each are N = P x G rows of T tokens, padded; `mask` is 1 where a token was sampled by
the policy and 0 for padding, tool results and other people's turns. An answer out of a closed set is one token of a
vocabulary of its own.

Where the formulas come from:
- group-relative advantages and the clipped surrogate: DeepSeekMath (arXiv 2402.03300), eq. 3 and 19; G - 1 in the
  deviation;
- no scaling by the deviation and a constant length in the denominator: Dr. GRPO (arXiv 2503.20783), section 3.2;
- one mean over all tokens, and a higher upper end of the clip: DAPO (arXiv 2503.14476), eq. 8 to 12;
- one ratio for the whole answer: GSPO (arXiv 2507.18071), eq. 7;
- the divergence from the base: DeepSeek-V3.2 (arXiv 2512.02556), eq. 7, the estimator k3 times the ratio.
"""

from typing import NamedTuple

import torch

from rsi.algorithm import Level, Normalisation, Objective, Scaling


class Advantages(NamedTuple):
    """Advantages [P, G] and which groups carry a signal [P]."""

    values: torch.Tensor
    live: torch.Tensor


class Whole(NamedTuple):
    """The size of a step."""

    answers: int
    """Answers in groups with signal."""
    tokens: int
    """Sampled tokens in them."""
    longest: int
    """Most tokens that an answer may have."""


def advantages(rewards: torch.Tensor, scaling: Scaling = Scaling.GROUP) -> Advantages:
    """Group-relative advantages of rewards [P, G]; zero for groups whose rewards are all equal: they say nothing."""
    deviation = rewards.std(dim=1, keepdim=True)
    live = deviation.squeeze(1) > 0
    values = rewards - rewards.mean(dim=1, keepdim=True)
    if scaling is Scaling.GROUP:
        values = values / deviation.clamp_min(1e-6)
    return Advantages(values * live.unsqueeze(1), live)


def ratios(new: torch.Tensor, old: torch.Tensor, mask: torch.Tensor, level: Level) -> torch.Tensor:
    """exp(new - old) of log-probs [..., T]; at the level of the sequence one value for all of an answer's tokens."""
    difference = (new - old) * mask
    if level is Level.SEQUENCE:
        length = mask.sum(dim=-1, keepdim=True).clamp_min(1)
        difference = (difference.sum(dim=-1, keepdim=True) / length).expand_as(mask)
    return difference.exp()


def loss(
    objective: Objective,
    new: torch.Tensor,
    old: torch.Tensor,
    values: torch.Tensor,
    mask: torch.Tensor,
    *,
    whole: Whole,
    weights: torch.Tensor | None = None,
    reference: torch.Tensor | None = None,
) -> torch.Tensor:
    """The part of a step's loss that comes from some of its answers: the parts add up to the whole.

    Only answers of groups that carry a signal are given; the others are left out by whoever calls.

    Args:
        objective: which loss.
        new: log-probs [N, T] of the sampled tokens under the policy, with a graph.
        old: the same under the policy that was current when they were drawn, as the learner computes it.
        values: advantages [N].
        mask: [N, T].
        whole: the size of the step that these answers are a part of.
        weights: [N, T] from `rsi.update.correction`; null counts every token once.
        reference: log-probs [N, T] under the base; needed where `objective.kl` is not 0.

    Returns:
        A scalar; zero where nothing was sampled.
    """
    ratio = ratios(new, old, mask, objective.level)
    clipped = ratio.clamp(1 - objective.clip_low, 1 + objective.clip_high)
    advantage = values.unsqueeze(-1)
    terms = -torch.minimum(ratio * advantage, clipped * advantage)
    if reference is not None:
        terms = terms + objective.kl * divergence(new, old, reference, mask)
    if weights is not None:
        terms = terms * weights
    return reduced(objective.normalisation, terms * mask, mask, whole)


def divergence(
    new: torch.Tensor, old: torch.Tensor, reference: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    """An estimate [N, T] of KL(policy || base) in nats a token, from tokens that the policy `old` sampled.

    k3 = q/p - ln(q/p) - 1, with p under the policy and q under the base, is never negative, and its mean over samples
    of p is KL(p || q). The mean of its gradient is not the gradient of that but of KL(q || p), since it leaves out that
    the samples themselves depend on p. Times the ratio p/p_old, which is 1 at first, it is the mean of
    ln(p/q) grad ln p, the gradient of KL(p || q).
    """
    away = (reference - new) * mask
    return ((new - old) * mask).exp() * (away.exp() - away - 1) * mask


def reduced(
    normalisation: Normalisation, terms: torch.Tensor, mask: torch.Tensor, whole: Whole
) -> torch.Tensor:
    """Masked terms [N, T] of a part of a step as one number."""
    if normalisation is Normalisation.TOKEN:
        return terms.sum() / max(whole.tokens, 1)
    sums = terms.sum(dim=-1)
    lengths = mask.sum(dim=-1).clamp_min(1) if normalisation is Normalisation.ANSWER else whole.longest
    return (sums / lengths).sum() / max(whole.answers, 1)


def clipped_share(
    objective: Objective, new: torch.Tensor, old: torch.Tensor, values: torch.Tensor, mask: torch.Tensor
) -> float:
    """Share of tokens at which the clip stops the gradient."""
    ratio = ratios(new, old, mask, objective.level)
    advantage = values.unsqueeze(-1)
    over = (advantage > 0) & (ratio > 1 + objective.clip_high)
    under = (advantage < 0) & (ratio < 1 - objective.clip_low)
    return float(((over | under) * mask).sum() / mask.sum().clamp_min(1))
