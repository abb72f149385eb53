"""How a job's tasks are tried: what every kind of rollout gives the trainer.

Rows: G answers to each of P tasks lie one after the other, N = P x G in all.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import torch

from rsi.harness.loop import DETAIL, within
from rsi.records import Outcome, OutcomeKind, Task
from rsi.verifiers import verify


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
    """Means over the draw that this kind of rollout measures beside, for the log."""
    failed: torch.Tensor
    """[P], whether a group has an answer that is nobody's: such a group says nothing."""
    counts: dict[str, float]
    """Sums over the draw, for the log."""


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


def verdict(task: Task, said: str, seconds: float) -> Outcome:
    """What a task's verifier says of an answer; an error where it raises, or takes longer than `seconds`."""
    try:
        return within(seconds, lambda: verify(task.verifier, said, task.expected))
    except Exception as fault:  # whatever a verifier raises is its own fault, and this answer's alone
        return Outcome(kind=OutcomeKind.ERROR, detail=f"{type(fault).__name__}: {fault}"[:DETAIL])


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

    def afresh(self, rows: Sequence[int]) -> Iterator[tuple[list[int], torch.Tensor]]:
        """`score`, with nothing of what was captured before: for weights that are not those of the draw."""
        ...


class Practice(Protocol):
    """One kind of rollout."""

    @property
    def longest(self) -> int:
        """Most tokens that an answer may have."""
        ...

    @property
    def refills(self) -> int:
        """How often a step draws again for groups without signal, where the settings do not say."""
        ...

    def takes(self, task: Task) -> bool:
        """Whether a task can be tried at all."""
        ...

    def draw(self, tasks: Sequence[Task], step: int, again: int = 0) -> Drawn:
        """Try each task; depends on nothing but its arguments and the weights. `again` counts the draws of a step."""
        ...

    def show(self, tasks: Sequence[Task]) -> Drawn:
        """A right answer to each task, as the model would have sampled it; one row a task."""
        ...


class Around:
    """A `Practice` that does what another does; what stands around it says what it adds."""

    def __init__(self, practice: Practice) -> None:
        """`practice` does the work."""
        self._practice = practice

    @property
    def longest(self) -> int:
        """As the practice says."""
        return self._practice.longest

    @property
    def refills(self) -> int:
        """As the practice says."""
        return self._practice.refills

    def takes(self, task: Task) -> bool:
        """As the practice says."""
        return self._practice.takes(task)

    def draw(self, tasks: Sequence[Task], step: int, again: int = 0) -> Drawn:
        """As the practice does."""
        return self._practice.draw(tasks, step, again)

    def show(self, tasks: Sequence[Task]) -> Drawn:
        """As the practice does."""
        return self._practice.show(tasks)


class Joined:
    """Several draws of one step as one."""

    def __init__(self, parts: Sequence[Drawn]) -> None:
        """`parts` in the order in which they were drawn; at least one."""
        self._parts = parts
        self.groups = _joined([one.groups for one in parts])

    def rollouts(self) -> Iterator[Rollout]:
        """Those of the parts."""
        for part in self._parts:
            yield from part.rollouts()

    def score(self, rows: Sequence[int]) -> Iterator[tuple[list[int], torch.Tensor]]:
        """Part by part."""
        for part, first, own in self._own(rows):
            yield from self._moved(part.score(own), first)

    def afresh(self, rows: Sequence[int]) -> Iterator[tuple[list[int], torch.Tensor]]:
        """Part by part."""
        for part, first, own in self._own(rows):
            yield from self._moved(part.afresh(own), first)

    def _own(self, rows: Sequence[int]) -> Iterator[tuple[Drawn, int, list[int]]]:
        """Each part with its first row, and the rows that are its own, counted from there."""
        first = 0
        for part in self._parts:
            size = part.groups.rewards.numel()
            own = [row - first for row in rows if first <= row < first + size]
            if own:
                yield part, first, own
            first += size

    def _moved(
        self, scored: Iterator[tuple[list[int], torch.Tensor]], first: int
    ) -> Iterator[tuple[list[int], torch.Tensor]]:
        for rows, found in scored:
            yield [row + first for row in rows], _wide(found, self.groups.mask.shape[1])


def _wide(found: torch.Tensor, width: int) -> torch.Tensor:
    return torch.nn.functional.pad(found, (0, width - found.shape[-1]))


def _joined(parts: Sequence[Groups]) -> Groups:
    width = max(one.mask.shape[1] for one in parts)
    sizes = [one.rewards.shape[0] for one in parts]
    return Groups(
        rewards=torch.cat([one.rewards for one in parts]),
        actor=torch.cat([_wide(one.actor, width) for one in parts]),
        mask=torch.cat([_wide(one.mask, width) for one in parts]),
        outcomes=sum((one.outcomes for one in parts), Counter[OutcomeKind]()),
        facts={
            name: sum(one.facts[name] * size for one, size in zip(parts, sizes, strict=True)) / sum(sizes)
            for name in parts[0].facts
        },
        failed=torch.cat([one.failed for one in parts]),
        counts={name: sum(one.counts[name] for one in parts) for name in parts[0].counts},
    )
