"""Rollouts over a closed set of answers: the policy's log-probs, the draw, and its rewards.

Plain sampling starves labels: one that is no longer drawn is no longer rewarded. Three measures end that. Batches hold
every expected answer equally often (`rsi.update.batches`). Answers are drawn from a mixture of the policy with uniform
exploration (`behaviour`). And what was drawn counts by rule TOPR of `rsi.update.correction`: weighting a rare right
answer back by policy over behaviour would make it vanish, which is the very starvation that exploration is there to
end; but not weighting a rare wrong one back pushes labels down that the policy never says, until its entropy is gone.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch
from transformers import PreTrainedTokenizerBase

from rsi.algorithm import Update
from rsi.engine import chat
from rsi.harness import hcp
from rsi.ids import digest
from rsi.ports import Prompt
from rsi.records import NOBODYS, Outcome, Task
from rsi.update.practice import Groups, Rollout, verdict
from rsi.update.prefix import Captured, capture, replay
from rsi.update.scoring import Decoder

Weigh = Callable[[Sequence[Sequence[int]]], Sequence[Sequence[float]]]
"""Prompts, as tokens -> log-probs of all labels by an actor elsewhere that has the policy's weights of now."""


class Texts(NamedTuple):
    """What turns prompts and labels into tokens."""

    tokenizer: PreTrainedTokenizerBase
    harness: hcp.Harness

    def prompts(self, asked: Sequence[Prompt]) -> list[list[int]]:
        """Tokens of conversations up to the answer."""
        return [chat.tokens(self.tokenizer, one) for one in asked]

    def choices(self) -> list[list[int]]:
        """Tokens of every label."""
        return [chat.encode(self.tokenizer, word) for word in self.harness.words]


def policy(model: Decoder, captured: Captured, choices: Sequence[Sequence[int]]) -> torch.Tensor:
    """Log-probabilities [prompts, choices] of each choice: softmax over the choices of summed token log-probs.

    Choices that share all but their last token share one replayed row; with one-token choices that is one row
    of one position a prompt.
    """
    starts = sorted({tuple(choice[:-1]) for choice in choices})
    prompts = len(captured.last)
    rows = [row for row in range(prompts) for _ in starts]
    hidden = replay(model.body, captured, rows, [[*start, 0] for _ in range(prompts) for start in starts])
    logprobs = torch.log_softmax(model.head(hidden), dim=-1).view(prompts, len(starts), hidden.shape[1], -1)
    scores = []
    for choice in choices:
        place = starts.index(tuple(choice[:-1]))
        at = torch.arange(len(choice))
        scores.append(logprobs[:, place][:, at, torch.tensor(list(choice))].sum(dim=1))
    return torch.log_softmax(torch.stack(scores, dim=1), dim=1)


def behaviour(policy: torch.Tensor, exploration: float) -> torch.Tensor:
    """Probabilities that answers are drawn from: the policy mixed with the uniform; `policy` is log-probs [..., K]."""
    return (1 - exploration) * policy.exp() + exploration / policy.shape[-1]


class Labels:
    """`rsi.update.practice.Practice` of routing: the answer is one of the harness's labels."""

    longest = 1
    refills = 0

    def __init__(self, model: Decoder, texts: Texts, settings: Update, weigh: Weigh | None = None) -> None:
        """Try tasks with the policy that `model` is; where `weigh` is given, answers are drawn by what it says."""
        self._model, self._texts, self._settings, self._weigh = model, texts, settings, weigh
        self.choices = texts.choices()
        self._known: dict[str, tuple[Outcome, ...]] = {}

    def takes(self, task: Task) -> bool:
        """Whether it expects one of the labels."""
        return task.expected in self._texts.harness.roles

    def draw(self, tasks: Sequence[Task], step: int, again: int = 0) -> "DrawnLabels":
        """Draw from the policy with exploration, and have the answers verified."""
        prompts = self._texts.prompts([self._texts.harness.route_prompt(one.messages) for one in tasks])
        captured = capture(self._model.body, prompts)
        scores: torch.Tensor | None = None
        if self._weigh is None:
            scores = policy(self._model, captured, self.choices)
            said = scores.detach()
        else:
            said = torch.tensor(self._weigh(prompts))
        mixture = behaviour(said, self._settings.exploration)
        drawn = f"{self._settings.seed}:{step}" + (f":{again}" if again else "")
        generator = torch.Generator().manual_seed(int(digest(drawn)[:15], 16))
        chosen = torch.multinomial(mixture, self._settings.samples, replacement=True, generator=generator)
        judged = self._judged(tasks)
        rewards = torch.tensor([[one.score or 0.0 for one in row] for row in judged]).gather(1, chosen)
        failed = torch.tensor([any(one.kind in NOBODYS for one in row) for row in judged])
        groups = Groups(
            rewards=rewards * ~failed.unsqueeze(1),
            actor=mixture.log().gather(1, chosen).view(-1, 1),
            mask=torch.ones(chosen.numel(), 1),
            outcomes=Counter(judged[row][label].kind for row, label in _places(chosen)),
            facts={**self._facts(tasks, said), "repeated": _commonest(chosen)},
            failed=failed,
            counts={"prompt_tokens": float(sum(map(len, prompts))), "failed_groups": float(failed.sum())},
        )
        asked = tuple(map(Asked, (one.task_id for one in tasks), prompts, judged))
        return DrawnLabels(self, captured, chosen, groups, scores, asked)

    def show(self, tasks: Sequence[Task]) -> "DrawnLabels":
        """The label that each task expects."""
        prompts = self._texts.prompts([self._texts.harness.route_prompt(one.messages) for one in tasks])
        captured = capture(self._model.body, prompts)
        scores = policy(self._model, captured, self.choices)
        right = torch.tensor([[self._texts.harness.roles.index(one.expected)] for one in tasks])
        shape = right.shape
        groups = Groups(
            torch.ones(shape),
            torch.zeros(shape),
            torch.ones(shape),
            Counter(),
            self._facts(tasks, scores.detach()),
            torch.zeros(len(tasks), dtype=torch.bool),
            {},
        )
        return DrawnLabels(self, captured, right, groups, scores)

    def captured(self, prompts: Sequence[Sequence[int]]) -> Captured:
        """Prompts as the policy reads them now."""
        return capture(self._model.body, prompts)

    def scores(self, captured: Captured) -> torch.Tensor:
        """The policy [prompts, choices] as it is now, with a graph."""
        return policy(self._model, captured, self.choices)

    def measure(self, asked: Sequence[Prompt]) -> tuple[tuple[float, ...], ...]:
        """Log-probs of the labels on prompts, without a graph."""
        with torch.no_grad():
            found = self.scores(capture(self._model.body, self._texts.prompts(asked)))
        return tuple(tuple(round(value, 5) for value in row) for row in found.tolist())

    def _judged(self, tasks: Sequence[Task]) -> list[tuple[Outcome, ...]]:
        """What each label would be worth as an answer to each task."""
        for one in tasks:
            if one.task_id not in self._known:
                self._known[one.task_id] = self._of(one)
        return [self._known[one.task_id] for one in tasks]

    def _of(self, task: Task) -> tuple[Outcome, ...]:
        """By its verifier; labels are few, so each is asked once a job."""
        seconds = self._settings.guard.judge_seconds
        return tuple(verdict(task, role, seconds) for role in self._texts.harness.roles)

    def _facts(self, tasks: Sequence[Task], scores: torch.Tensor) -> dict[str, float]:
        chances = scores.exp()
        right = torch.tensor([self._texts.harness.roles.index(one.expected) for one in tasks])
        return {
            "p_right": float(chances[torch.arange(len(tasks)), right].mean()),
            "entropy": float(-(chances * scores).sum(dim=1).mean()),
        }


def _commonest(chosen: torch.Tensor) -> float:
    """Share of the label that was drawn most."""
    return int(chosen.flatten().bincount().max()) / int(chosen.numel())


def _places(chosen: torch.Tensor) -> Iterator[tuple[int, int]]:
    """(row of its prompt, label) of each answer."""
    for row, labels in enumerate(chosen.tolist()):
        for label in labels:
            yield row, label


class Asked(NamedTuple):
    """A task that was asked, and what each label would have been worth."""

    task_id: str
    prompt: Sequence[int]
    judged: Sequence[Outcome]


class DrawnLabels:
    """Labels that were drawn for some prompts."""

    def __init__(
        self,
        practice: Labels,
        captured: Captured,
        chosen: torch.Tensor,
        groups: Groups,
        scores: torch.Tensor | None,
        asked: Sequence[Asked] = (),
    ) -> None:
        """`scores` are the policy's at the time, with their graph, and None where an actor elsewhere drew.

        `asked` has a value a prompt.
        """
        self.groups = groups
        self._asked = asked
        self._practice, self._captured, self._chosen = practice, captured, chosen
        self._scores = scores

    def rollouts(self) -> Iterator[Rollout]:
        """Each label as the one answer it was; none for labels that were shown."""
        if not self._asked:
            return
        samples = self._chosen.shape[1]
        logprobs = self.groups.actor[:, 0].tolist()
        for place, (row, label) in enumerate(_places(self._chosen)):
            asked, response = self._asked[row], self._practice.choices[label]
            outcome = asked.judged[label]
            yield Rollout(
                task_id=asked.task_id,
                group=row,
                sample=place % samples,
                prompt=asked.prompt,
                response=response,
                sampled=[True] * len(response),
                logprobs=[logprobs[place]],
                reward=None if outcome.kind in NOBODYS else outcome.score or 0.0,
                outcome=outcome.kind,
                stop="label",
            )

    def afresh(self, rows: Sequence[int]) -> Iterator[tuple[list[int], torch.Tensor]]:
        """All rows at once, over prompts that are read again."""
        scores = self._practice.scores(self._practice.captured([one.prompt for one in self._asked]))
        yield list(rows), scores.gather(1, self._chosen).view(-1, 1)[torch.tensor(list(rows))]

    def score(self, rows: Sequence[int]) -> Iterator[tuple[list[int], torch.Tensor]]:
        """All rows at once: a label is one position."""
        scores, self._scores = self._scores, None
        if scores is None:
            scores = self._practice.scores(self._captured)
        yield list(rows), scores.gather(1, self._chosen).view(-1, 1)[torch.tensor(list(rows))]
