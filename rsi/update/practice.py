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


class Rollout(NamedTuple):
    """One answer, as it was drawn."""

    task_id: str
    group: int
    """Place of its task in the draw."""
    sample: int
    """Place in its group."""
    prompt: Sequence[int]
    """Token ids up to where the first answer begins."""
    response: Sequence[int]
    """All behind it, other people's turns included."""
    sampled: Sequence[bool]
    """A value a token of `response`: whether the policy sampled it."""
    logprobs: Sequence[float]
    """Nats under the actor, of the sampled tokens in order; of a label out of a closed set one, of all of it."""
    reward: float | None
    """None where the answer was nobody's: its world crashed, or the task cannot be done."""
    outcome: OutcomeKind
    stop: str
    """Why it ended: a value of `rsi.harness.episode.Stop`, or `label`."""


class Drawn(Protocol):
    """Answers that were drawn, and the policy's say on them."""

    @property
    def groups(self) -> Groups:
        """What was drawn."""
        ...

    def rollouts(self) -> Iterator[Rollout]:
        """The answers one by one, in the order of the rows."""
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

    def draw(self, tasks: Sequence[Task], step: int, again: int = 0) -> Drawn:
        """Try each task; depends on nothing but its arguments and the weights. `again` counts the draws of a step."""
        ...

    def show(self, tasks: Sequence[Task]) -> Drawn:
        """A right answer to each task, as the model would have sampled it; one row a task."""
        ...
