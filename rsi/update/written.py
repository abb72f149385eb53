"""Written answers, one a prompt, judged by the task's own verifier: calls of tools as one text, or words."""

from collections.abc import Sequence

from rsi.algorithm import Update
from rsi.harness import hcp
from rsi.ids import digest
from rsi.ports import Dialogue, Generation
from rsi.records import NOBODYS, Outcome, Task
from rsi.tasks.manner import looped
from rsi.tasks.prompt import render
from rsi.update.actor import Actor
from rsi.update.learner import Learner
from rsi.update.practice import Rollout, verdict
from rsi.update.sampled import Sampled
from rsi.verifiers import gold, verify


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

    def draw(self, tasks: Sequence[Task], step: int, again: int = 0) -> Sampled:
        """Ask each task as often as a group is large, with the weights as they are now."""
        adapter = self._actor.follow(self._model, self._base)
        asked = [(one, sample) for one in enumerate(tasks) for sample in range(self._settings.samples)]
        prompts = [self._dialogue.opening(render(task, self._harness)) for (_, task), _ in asked]
        seeds = [
            int(digest([self._settings.seed, step, again, sample, task.task_id])[:8], 16)
            for (_, task), sample in asked
        ]
        temperature = self._harness.agent.temperature
        said = self._actor.generate_tokens(prompts, adapter, self.longest, temperature, seeds)
        rollouts = [
            _rollout(
                place, sample, task, prompt, one, verdict(task, one.text, self._settings.guard.judge_seconds)
            )
            for ((place, task), sample), prompt, one in zip(asked, prompts, said, strict=True)
        ]
        return self._drawn(rollouts, len(tasks))

    def show(self, tasks: Sequence[Task]) -> Sampled:
        """The answer that each task's verifier gives itself; an empty, wrong one where it has none to give."""
        rollouts = []
        for place, one in enumerate(tasks):
            right = gold(one.verifier, one.expected) or ""
            ids = tuple(self._dialogue.answer(right))
            prompt = self._dialogue.opening(render(one, self._harness))
            shown = Generation(right, ids, (0.0,) * len(ids), "stop")
            outcome = verify(one.verifier, right, one.expected)
            rollouts.append(_rollout(place, 0, one, prompt, shown, outcome))
        return self._drawn(rollouts, len(tasks))

    def _drawn(self, rollouts: Sequence[Rollout], tasks: int) -> Sampled:
        repeated = sum(looped(one.response) for one in rollouts) / len(rollouts)
        return Sampled(
            self._model.decoder,
            rollouts,
            tasks,
            {"repeated": repeated},
            whole_prompt=self._settings.whole_prompt,
        )


def _rollout(
    group: int, sample: int, task: Task, prompt: Sequence[int], said: Generation, outcome: Outcome
) -> Rollout:
    """An answer; all of it was sampled."""
    return Rollout(
        task_id=task.task_id,
        group=group,
        sample=sample,
        prompt=prompt,
        response=said.token_ids,
        sampled=(True,) * len(said.token_ids),
        logprobs=said.logprobs,
        reward=None if outcome.kind in NOBODYS else outcome.score or 0.0,
        outcome=outcome.kind,
        stop=said.finish_reason,
    )
