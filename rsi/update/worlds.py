"""Rollouts of several turns in a small world: tokens in, tokens out.

What the actor sampled is trained on as it was sampled; the prompt is captured, and what tools said is read with a graph
but masked. A rollout whose world crashed or hung is tried again in a fresh one, `Update.retries` times; if it crashes
once more its group fails and says nothing, since a group is never trimmed.
"""

from collections.abc import Sequence

from rsi.algorithm import Update
from rsi.environments import kind
from rsi.harness.episode import Episode, Speaker, Stop
from rsi.harness.loop import Play, Table, demonstrate, play
from rsi.ids import digest
from rsi.records import Task, WorldTask
from rsi.tasks.manner import looped
from rsi.tasks.worlds import world_of
from rsi.update.actor import Actor
from rsi.update.learner import Learner
from rsi.update.practice import Rollout
from rsi.update.sampled import Sampled


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

    def draw(self, tasks: Sequence[Task], step: int, again: int = 0) -> Sampled:
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

    def _drawn(self, tasks: Sequence[Task], episodes: Sequence[Episode], crashes: int) -> Sampled:
        samples = len(episodes) // len(tasks)
        rollouts = [
            _rollout(row // samples, row % samples, tasks[row // samples], one)
            for row, one in enumerate(episodes)
        ]
        loops = [one.stop is Stop.REPEATED or _looped(one) for one in episodes]
        return Sampled(
            self._model.decoder,
            rollouts,
            len(tasks),
            {
                "turns": sum(_answers(one) for one in episodes) / len(episodes),
                "repeated": sum(loops) / len(episodes),
            },
            {"crashes": float(crashes)},
            whole_prompt=self._settings.whole_prompt,
        )

    def show(self, tasks: Sequence[Task]) -> Sampled:
        """The solution of each task, played."""
        episodes = [demonstrate(_play(world_of(task), "shown"), self._table) for task in tasks]
        return self._drawn(tasks, episodes, 0)


def _play(task: WorldTask, seed: str) -> Play:
    """An episode of a task; its seed has 32 bits, as every engine takes it."""
    return Play(task, int(digest([seed, task.task_id])[:8], 16), kind(task.environment).open)


def _rollout(group: int, sample: int, task: Task, episode: Episode) -> Rollout:
    """An episode up to its last sampled token; one without an answer has an empty response."""
    start = episode.turns[0].end if episode.turns else 0
    end = max((at + 1 for at, mine in enumerate(episode.mask) if mine), default=start)
    return Rollout(
        task_id=task.task_id,
        group=group,
        sample=sample,
        prompt=episode.tokens[:start],
        response=episode.tokens[start:end],
        sampled=episode.mask[start:end],
        logprobs=episode.logprobs,
        reward=episode.reward,
        outcome=episode.outcome.kind,
        stop=episode.stop.value,
    )


def _looped(episode: Episode) -> bool:
    """Whether most of an answer is what it said before."""
    answers = (turn for turn in episode.turns if turn.speaker is Speaker.ANSWER)
    return any(looped(episode.tokens[turn.start : turn.end]) for turn in answers)


def _answers(episode: Episode) -> int:
    return sum(turn.speaker is Speaker.ANSWER for turn in episode.turns)
