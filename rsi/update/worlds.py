"""Rollouts of several turns in a small world: tokens in, tokens out.

What the actor sampled is trained on as it was sampled; the prompt is captured, and what tools said is read with a graph
but masked. A rollout whose world crashed or hung is tried again in a fresh one, `Update.retries` times; if it crashes
once more its group fails and says nothing, since a group is never trimmed.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch

from rsi.environments import kind
from rsi.harness.episode import Episode, Speaker, Stop
from rsi.harness.loop import Play, Table, demonstrate, play
from rsi.ids import digest
from rsi.records import OutcomeKind, Task, WorldTask
from rsi.settings import Update
from rsi.tasks.worlds import world_of
from rsi.update.actor import Actor
from rsi.update.guards import looped
from rsi.update.learner import Learner
from rsi.update.practice import Groups, Rollout
from rsi.update.responses import Responses
from rsi.update.scoring import Decoder


class Worlds:
    """`rsi.update.practice.Practice` of tasks in worlds."""

    def __init__(self, model: Learner, actor: Actor, table: Table, settings: Update, base: str) -> None:
        """Try tasks with the actor's engine under the rules of `table`; `base` is the base model's digest."""
        self._model, self._actor, self._table = model, actor, table
        self._settings, self._base = settings, base

    refills = 1

    @property
    def longest(self) -> int:
        """Most tokens that an episode may sample."""
        return self._table.rules.turns * self._table.rules.answer_tokens

    def takes(self, task: Task) -> bool:
        """Whether its world can be opened; what a world then does with it is seen when it is tried."""
        try:
            kind(world_of(task).environment)
        except ValueError:  # no JSON of a task, or an environment that nobody has
            return False
        return True

    def draw(self, tasks: Sequence[Task], step: int, again: int = 0) -> "DrawnEpisodes":
        """Play each task as often as a group is large, with the weights as they are now."""
        adapter = self._actor.follow(self._model, self._base)
        drawn = f"{self._settings.seed}:{step}" + (f":{again}" if again else "")
        plays = [
            _play(world_of(task), f"{drawn}:{sample}")
            for task in tasks
            for sample in range(self._settings.samples)
        ]
        episodes = list(play(plays, self._table, self._actor, adapter))
        crashes = 0
        for _ in range(self._settings.retries):
            again_in = [place for place, one in enumerate(episodes) if one.stop is Stop.CRASH]
            crashes += len(again_in)
            fresh = play([plays[place] for place in again_in], self._table, self._actor, adapter)
            for place, one in zip(again_in, fresh, strict=True):
                episodes[place] = one
        return self._drawn(tasks, episodes, crashes)

    def _drawn(self, tasks: Sequence[Task], episodes: Sequence[Episode], crashes: int) -> "DrawnEpisodes":
        rolled = [Rolled.of(one) for one in episodes]
        groups = _groups(episodes, rolled, len(tasks), crashes)
        return DrawnEpisodes(self._model.decoder, self._settings, tasks, episodes, rolled, groups)

    def show(self, tasks: Sequence[Task]) -> "DrawnEpisodes":
        """The solution of each task, played."""
        episodes = [demonstrate(_play(world_of(task), "shown"), self._table) for task in tasks]
        return self._drawn(tasks, episodes, 0)


class Rolled(NamedTuple):
    """An episode as the learner reads it."""

    prompt: tuple[int, ...]
    response: tuple[int, ...]
    """All behind the prompt, up to the last sampled token."""
    mask: tuple[bool, ...]
    logprobs: tuple[float, ...]
    """Of the response's tokens under the actor; 0 where it did not sample."""

    @classmethod
    def of(cls, episode: Episode) -> "Rolled":
        """Cut an episode; one without an answer has an empty response."""
        start = episode.turns[0].end if episode.turns else 0
        sampled = episode.mask
        end = max((at + 1 for at, one in enumerate(sampled) if one), default=start)
        drawn = iter(episode.logprobs)
        logprobs = tuple(next(drawn) if one else 0.0 for one in sampled[start:end])
        return cls(episode.tokens[:start], episode.tokens[start:end], sampled[start:end], logprobs)


class DrawnEpisodes:
    """Episodes that were played, and the policy's say on them."""

    def __init__(
        self,
        model: Decoder,
        settings: Update,
        tasks: Sequence[Task],
        episodes: Sequence[Episode],
        rolled: Sequence[Rolled],
        groups: Groups,
    ) -> None:
        """`episodes`, and what the learner reads of them, lie group by group, as the rows of `groups`."""
        self.groups = groups
        said = [(one.prompt, one.response) for one in rolled]
        self._responses = Responses(model, said, whole_prompt=settings.whole_prompt)
        self._tasks, self._episodes, self._rolled = tasks, episodes, rolled

    def rollouts(self) -> Iterator[Rollout]:
        """The episodes; what nobody read of them is left out."""
        samples = self.groups.rewards.shape[1]
        for row, (episode, one) in enumerate(zip(self._episodes, self._rolled, strict=True)):
            yield Rollout(
                task_id=self._tasks[row // samples].task_id,
                group=row // samples,
                sample=row % samples,
                prompt=one.prompt,
                response=one.response,
                sampled=one.mask,
                logprobs=episode.logprobs,
                reward=episode.reward,
                outcome=episode.outcome.kind,
                stop=episode.stop.value,
            )

    def score(self, rows: Sequence[int]) -> Iterator[tuple[list[int], torch.Tensor]]:
        """Log-probs of rows; prompts are captured by the first pass over them."""
        return self._of(self._responses, rows)

    def afresh(self, rows: Sequence[int]) -> Iterator[tuple[list[int], torch.Tensor]]:
        """The same, over prompts that are read again."""
        return self._of(self._responses.afresh(), rows)

    def _of(self, responses: Responses, rows: Sequence[int]) -> Iterator[tuple[list[int], torch.Tensor]]:
        for part, found in responses.score(rows):
            yield part, self._padded(found)

    def _padded(self, found: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.pad(found, (0, self.groups.mask.shape[1] - found.shape[1]))


def _play(task: WorldTask, seed: str) -> Play:
    """An episode of a task; its seed has 32 bits, as every engine takes it."""
    return Play(task, int(digest([seed, task.task_id])[:8], 16), kind(task.environment).open)


def _groups(episodes: Sequence[Episode], rolled: Sequence[Rolled], tasks: int, crashes: int) -> Groups:
    actor, mask = _rows(rolled)
    told = [one.reward for one in episodes]
    rewards = torch.tensor([reward or 0.0 for reward in told]).view(tasks, -1)
    failed = torch.tensor([reward is None for reward in told]).view(tasks, -1).any(dim=1)
    rewards[failed] = 0.0
    loops = [one.stop is Stop.REPEATED or _looped(one) for one in episodes]
    return Groups(
        rewards=rewards,
        actor=actor,
        mask=mask,
        outcomes=Counter[OutcomeKind](one.outcome.kind for one in episodes),
        facts={
            "entropy": float(-(actor * mask).sum() / mask.sum().clamp_min(1)),
            "turns": sum(_answers(one) for one in episodes) / len(episodes),
            "repeated": sum(loops) / len(episodes),
        },
        failed=failed,
        counts={"crashes": float(crashes), "failed_groups": float(failed.sum())},
    )


def _rows(rolled: Sequence[Rolled]) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-probs under the actor and mask, [N, T] each."""
    width = max([1, *(len(one.response) for one in rolled)])
    actor, mask = torch.zeros(len(rolled), width), torch.zeros(len(rolled), width)
    for row, one in enumerate(rolled):
        actor[row, : len(one.response)] = torch.tensor(one.logprobs)
        mask[row, : len(one.response)] = torch.tensor(one.mask, dtype=torch.float32)
    return actor, mask


def shown_groups(rolled: Sequence[Rolled]) -> Groups:
    """Groups of one, each right."""
    actor, mask = _rows(rolled)
    right = torch.ones(len(rolled), 1)
    return Groups(right, actor, mask, Counter(), {}, torch.zeros(len(rolled), dtype=torch.bool), {})


def _looped(episode: Episode) -> bool:
    """Whether most of an answer is what it said before."""
    answers = (turn for turn in episode.turns if turn.speaker is Speaker.ANSWER)
    return any(looped(episode.tokens[turn.start : turn.end]) for turn in answers)


def _answers(episode: Episode) -> int:
    return sum(turn.speaker is Speaker.ANSWER for turn in episode.turns)
