"""Written answers, one a prompt, judged by the task's own verifier: calls of tools as one text, or words."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch

from rsi.harness import hcp
from rsi.harness.loop import DETAIL, within
from rsi.ids import digest
from rsi.ports import Dialogue
from rsi.records import NOBODYS, Outcome, OutcomeKind, Task
from rsi.settings import Update
from rsi.tasks.prompt import render
from rsi.update.actor import Actor
from rsi.update.guards import looped
from rsi.update.learner import Learner
from rsi.update.practice import Groups, Rollout
from rsi.update.responses import Responses
from rsi.verifiers import gold, verify


class _Answer(NamedTuple):
    task_id: str
    prompt: tuple[int, ...]
    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    stop: str
    outcome: Outcome


class Written:
    """`rsi.update.practice.Practice` of tasks that are answered in one text."""

    def __init__(
        self,
        model: Learner,
        actor: Actor,
        dialogue: Dialogue,
        harness: hcp.Harness,
        settings: Update,
        base: str,
    ) -> None:
        """Ask the actor's engine under a harness; `base` is the base model's digest."""
        self._model, self._actor, self._dialogue = model, actor, dialogue
        self._harness, self._settings, self._base = harness, settings, base

    refills = 1

    def takes(self, task: Task) -> bool:
        """Any; what a verifier then makes of it is seen when it is tried."""
        return bool(task.messages)

    @property
    def longest(self) -> int:
        """Most tokens of an answer."""
        return min(self._harness.sampling.max_tokens, self._settings.answer_tokens)

    def draw(self, tasks: Sequence[Task], step: int, again: int = 0) -> "DrawnAnswers":
        """Ask each task as often as a group is large, with the weights as they are now."""
        adapter = self._actor.follow(self._model, self._base)
        asked = [(one, sample) for one in tasks for sample in range(self._settings.samples)]
        prompts = [self._dialogue.opening(render(one, self._harness)) for one, _ in asked]
        seeds = [
            int(digest([self._settings.seed, step, again, sample, one.task_id])[:8], 16)
            for one, sample in asked
        ]
        temperature = self._harness.agent.temperature
        said = self._actor.generate_tokens(prompts, adapter, self.longest, temperature, seeds)
        answers = [
            _Answer(
                task.task_id,
                prompt,
                one.token_ids,
                one.logprobs,
                one.finish_reason,
                self._judged(task, one.text),
            )
            for (task, _), prompt, one in zip(asked, prompts, said, strict=True)
        ]
        return DrawnAnswers(self._model, self._settings, answers, len(tasks))

    def _judged(self, task: Task, text: str) -> Outcome:
        """By its verifier, which may take no longer than the rules say."""
        try:
            return within(
                self._settings.guard.judge_seconds, lambda: verify(task.verifier, text, task.expected)
            )
        except Exception as fault:  # whatever a verifier raises is its own fault, and this answer's alone
            return Outcome(kind=OutcomeKind.ERROR, detail=f"{type(fault).__name__}: {fault}"[:DETAIL])

    def show(self, tasks: Sequence[Task]) -> "DrawnAnswers":
        """The answer that each task's verifier gives itself; an empty, wrong one where it has none to give."""
        answers = []
        for one in tasks:
            right = gold(one.verifier, one.expected) or ""
            ids = tuple(self._dialogue.answer(right))
            prompt = self._dialogue.opening(render(one, self._harness))
            outcome = verify(one.verifier, right, one.expected)
            answers.append(_Answer(one.task_id, prompt, ids, (0.0,) * len(ids), "stop", outcome))
        return DrawnAnswers(self._model, self._settings, answers, len(tasks))


class DrawnAnswers:
    """Answers that were given, and the policy's say on them."""

    def __init__(self, model: Learner, settings: Update, answers: Sequence[_Answer], tasks: int) -> None:
        """`answers` lie group by group."""
        self.groups = _groups(answers, tasks)
        self._answers = answers
        said = [(one.prompt, one.ids) for one in answers]
        self._responses = Responses(model.decoder, said, whole_prompt=settings.whole_prompt)

    def rollouts(self) -> Iterator[Rollout]:
        """The answers one by one."""
        samples = self.groups.rewards.shape[1]
        for row, one in enumerate(self._answers):
            yield Rollout(
                task_id=one.task_id,
                group=row // samples,
                sample=row % samples,
                prompt=one.prompt,
                response=one.ids,
                sampled=(True,) * len(one.ids),
                logprobs=one.logprobs,
                reward=None if one.outcome.kind in NOBODYS else one.outcome.score or 0.0,
                outcome=one.outcome.kind,
                stop=one.stop,
            )

    def score(self, rows: Sequence[int]) -> Iterator[tuple[list[int], torch.Tensor]]:
        """Log-probs of rows; prompts are captured by the first pass over them."""
        return self._of(self._responses, rows)

    def afresh(self, rows: Sequence[int]) -> Iterator[tuple[list[int], torch.Tensor]]:
        """The same, over prompts that are read again."""
        return self._of(self._responses.afresh(), rows)

    def _of(self, responses: Responses, rows: Sequence[int]) -> Iterator[tuple[list[int], torch.Tensor]]:
        for part, found in responses.score(rows):
            yield part, torch.nn.functional.pad(found, (0, self.groups.mask.shape[1] - found.shape[1]))


def _groups(answers: Sequence[_Answer], tasks: int) -> Groups:
    width = max(len(one.ids) for one in answers)
    actor, mask = torch.zeros(len(answers), width), torch.zeros(len(answers), width)
    for row, one in enumerate(answers):
        actor[row, : len(one.ids)] = torch.tensor(one.logprobs)
        mask[row, : len(one.ids)] = 1.0
    failed = torch.tensor([one.outcome.kind in NOBODYS for one in answers]).view(tasks, -1).any(dim=1)
    rewards = torch.tensor([one.outcome.score or 0.0 for one in answers]).view(tasks, -1)
    return Groups(
        rewards=rewards * ~failed.unsqueeze(1),
        actor=actor,
        mask=mask,
        outcomes=Counter[OutcomeKind](one.outcome.kind for one in answers),
        facts={
            "entropy": float(-(actor * mask).sum() / mask.sum().clamp_min(1)),
            "repeated": sum(looped(one.ids) for one in answers) / len(answers),
        },
        failed=failed,
        counts={"failed_groups": float(failed.sum())},
    )
