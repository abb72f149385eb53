"""Rollouts that were sampled token by token, and the policy's say on them: what written answers and episodes share."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import torch

from rsi.update.practice import Groups, Rollout
from rsi.update.responses import Responses
from rsi.update.scoring import Decoder


class Sampled:
    """`rsi.update.practice.Drawn` of rollouts whose tokens are known."""

    def __init__(
        self,
        model: Decoder,
        rollouts: Sequence[Rollout],
        groups: int,
        facts: Mapping[str, float] | None = None,
        counts: Mapping[str, float] | None = None,
        *,
        whole_prompt: bool,
    ) -> None:
        """Score what was sampled.

        Args:
            rollouts: all of them, group by group, groups alike in size.
            groups: how many groups.
            facts: means over the draw to log, beside what every sampled rollout tells.
            counts: sums over the draw to log.
            whole_prompt: gradients flow through prompts as well.
        """
        self.groups = _groups(rollouts, groups, facts or {}, counts or {})
        self._rollouts = rollouts
        said = [(tuple(one.prompt), tuple(one.response)) for one in rollouts]
        self._responses = Responses(model, said, whole_prompt=whole_prompt)

    def rollouts(self) -> Iterator[Rollout]:
        """Each of them."""
        yield from self._rollouts

    def score(self, rows: Sequence[int]) -> Iterator[tuple[list[int], torch.Tensor]]:
        """Log-probs of rows; prompts are captured by the first pass over them."""
        return self._of(self._responses, rows)

    def afresh(self, rows: Sequence[int]) -> Iterator[tuple[list[int], torch.Tensor]]:
        """The same, over prompts that are read again."""
        return self._of(self._responses.afresh(), rows)

    def _of(self, responses: Responses, rows: Sequence[int]) -> Iterator[tuple[list[int], torch.Tensor]]:
        for part, found in responses.score(rows):
            yield part, torch.nn.functional.pad(found, (0, self.groups.mask.shape[1] - found.shape[1]))


def _groups(
    rollouts: Sequence[Rollout], groups: int, facts: Mapping[str, float], counts: Mapping[str, float]
) -> Groups:
    """A group with a rollout that is nobody's fails as a whole, and none of it is rewarded."""
    width = max([1, *(len(one.response) for one in rollouts)])
    actor, mask = torch.zeros(len(rollouts), width), torch.zeros(len(rollouts), width)
    for row, one in enumerate(rollouts):
        told = iter(one.logprobs)
        actor[row, : len(one.response)] = torch.tensor([next(told) if mine else 0.0 for mine in one.sampled])
        mask[row, : len(one.response)] = torch.tensor(one.sampled, dtype=torch.float32)
    failed = torch.tensor([one.reward is None for one in rollouts]).view(groups, -1).any(dim=1)
    rewards = torch.tensor([one.reward or 0.0 for one in rollouts]).view(groups, -1)
    return Groups(
        rewards=rewards * ~failed.unsqueeze(1),
        actor=actor,
        mask=mask,
        outcomes=Counter(one.outcome for one in rollouts),
        facts={"entropy": float(-(actor * mask).sum() / mask.sum().clamp_min(1)), **facts},
        failed=failed,
        counts={"failed_groups": float(failed.sum()), **counts},
    )
