"""How a job's tasks are tried: what every kind of rollout gives the trainer.

Rows: G answers to each of P tasks lie one after the other, N = P x G in all.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import torch

from rsi.records import OutcomeKind, Task


class Groups(NamedTuple):
    """Answers drawn for the tasks of a step."""

    rewards: torch.Tensor
    """[P, G], 0 to 1; what was not scored counts 0."""
    actor: torch.Tensor
    """[N, T], log-probs (nats) of the tokens under the distribution they were drawn from."""
    mask: torch.Tensor
    """[N, T], 1 at sampled tokens."""
    outcomes: Counter[OutcomeKind]
    """How the answers ended."""
    facts: dict[str, float]
    """What this kind of rollout measures beside, for the log."""


class Drawn(Protocol):
    """Answers that were drawn, and the policy's say on them."""

    @property
    def groups(self) -> Groups:
        """What was drawn."""
        ...

    def score(self, rows: Sequence[int]) -> Iterator[tuple[list[int], torch.Tensor]]:
        """Log-probs [n, T] of rows under the policy as it is now, with a graph; part by part, all rows once.

        The graph of a part is free once the next is asked for.
        """
        ...


class Practice(Protocol):
    """One kind of rollout."""

    @property
    def longest(self) -> int:
        """Most tokens that an answer may have."""
        ...

    def draw(self, tasks: Sequence[Task], step: int) -> Drawn:
        """Try each task; depends on nothing but its arguments and the weights."""
        ...

    def show(self, tasks: Sequence[Task]) -> Drawn:
        """A right answer to each task, as the model would have sampled it; one row a task."""
        ...
