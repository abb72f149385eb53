"""Group-relative policy optimisation over a closed set of answers: the arithmetic, without a model.

For a prompt, G answers are drawn and scored; an answer's advantage is its reward less the group's mean, divided
by the group's standard deviation (DeepSeekMath, arXiv 2402.03300, eq. 3; G - 1 in the deviation). A group whose
rewards are all equal says nothing: it is counted and left out. The loss is the clipped surrogate of the same
paper without the KL term; with one optimiser step a batch the ratio is one where it is evaluated.

What was tried on real requests (SmolLM2-135M, 8 prompts a step, rank 16): plain sampling rose from 17.5% to 50% in 30
steps and then starved two of the four labels, whose answers were no longer drawn and so no longer rewarded. Three
measures ended that. Batches hold every expected answer equally often (`rsi.update.job.batch`). Answers are drawn from a
mixture of the policy with uniform exploration (`behaviour`). And the drawn answers are weighted as in TOPR (`weights`;
Le Roux et al., arXiv 2503.14286): weighting a rare right answer back by policy over behaviour would make it
vanish, which is the very starvation that exploration is there to end; but not weighting a rare wrong one back pushes
labels down that the policy never says: after 60 steps of such a run its ``metrics.jsonl`` had 0.03 nats of entropy
at 69% right.
"""

from typing import NamedTuple

import torch


class Advantages(NamedTuple):
    """Advantages [prompts, samples] and which groups carry a signal [prompts]."""

    values: torch.Tensor
    live: torch.Tensor


def advantages(rewards: torch.Tensor) -> Advantages:
    """Group-relative advantages of rewards [prompts, samples]; zero for groups without signal."""
    deviation = rewards.std(dim=1, keepdim=True)
    live = deviation.squeeze(1) > 0
    values = (rewards - rewards.mean(dim=1, keepdim=True)) / deviation.clamp_min(1e-6)
    return Advantages(values * live.unsqueeze(1), live)


def behaviour(policy: torch.Tensor, exploration: float) -> torch.Tensor:
    """Probabilities answers are drawn from: the policy mixed with the uniform; `policy` is log-probs [..., K]."""
    return (1 - exploration) * policy.exp() + exploration / policy.shape[-1]


def weights(policy: torch.Tensor, drawn: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """What each drawn answer counts: 1 where it was better than its group, min(1, policy / behaviour) where worse.

    `policy` and `drawn` are log-probs of the answers under the policy and under the distribution they were drawn
    from, `values` their advantages, all [prompts, samples].
    """
    return torch.where(values > 0, torch.ones_like(values), (policy - drawn).exp().clamp(max=1.0))


def loss(
    logprobs: torch.Tensor, old: torch.Tensor, values: torch.Tensor, live: torch.Tensor, clip: float = 0.2
) -> torch.Tensor:
    """Clipped surrogate over the groups with signal.

    Args:
        logprobs: [prompts, samples], of the drawn answers under the policy, with a graph.
        old: the same under the policy that was current when they were drawn.
        values: weighted advantages, [prompts, samples].
        live: groups with signal, [prompts].
        clip: half-width of the trust interval of the ratio.

    Returns:
        A scalar: the mean over the live groups of the mean over their samples; zero without a live group.
    """
    ratio = (logprobs - old).exp()
    surrogate = torch.minimum(ratio * values, ratio.clamp(1 - clip, 1 + clip) * values)
    return -(surrogate.mean(dim=1) * live).sum() / live.sum().clamp_min(1)
