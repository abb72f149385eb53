"""Which tasks a job asks next. What follows depends on the seed and on what was asked and learnt before, and on nothing
else: the state lies in each checkpoint, and a resumed job asks the same.
"""

import random
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

from pydantic import Field

from rsi.algorithm import Curriculum, Update
from rsi.errors import IntegrityError
from rsi.ids import digest
from rsi.records import Record, Task
from rsi.update.batches import slots


class Course(Protocol):
    """An order of tasks."""

    def following(self, count: int) -> list[Task]:
        """The next tasks."""
        ...

    def learnt(self, tasks: Sequence[Task], solved: Sequence[float | None]) -> None:
        """How well each of them was done: a group's mean reward, None where the group failed."""
        ...

    def facts(self) -> dict[str, float]:
        """What the log says of it."""
        ...

    def state(self) -> "State":
        """All that the next tasks follow from."""
        ...

    def restore(self, state: "State") -> None:
        """Go on from a state.

        Raises:
            IntegrityError: it tells of other tasks.
        """
        ...


class Known(Record):
    """What is known of a task."""

    rate: float = 0.0
    """Running mean of the rewards of its groups."""
    groups: int = 0
    """Groups that it is the mean of; 0: untried."""
    asked: int = 0
    """Turn at which it was asked last, from 1; 0: never."""


class State(Record):
    """Where a course stands."""

    turn: int = 0
    """Tasks asked so far."""
    known: dict[str, Known] = Field(default_factory=dict)
    """By task id."""


class Rota:
    """Every expected answer equally often, each list in a seeded order: `rsi.update.batches`."""

    def __init__(self, tasks: Sequence[Task], seed: int) -> None:
        """From the first turn on."""
        self._tasks, self._seed, self._turn = tasks, seed, 0

    def following(self, count: int) -> list[Task]:
        """The next turns."""
        chosen = slots(self._tasks, self._seed, self._turn, count)
        self._turn += count
        return chosen

    def learnt(self, tasks: Sequence[Task], solved: Sequence[float | None]) -> None:
        """Nothing depends on it."""

    def facts(self) -> dict[str, float]:
        """Nothing that a step does not know."""
        return {}

    def state(self) -> State:
        """The turn."""
        return State(turn=self._turn)

    def restore(self, state: State) -> None:
        """Go on from a turn."""
        self._turn = state.turn


class Pool(StrEnum):
    """How hard a task is at the moment."""

    UNTRIED = "untried"
    HARD = "hard"
    INSTRUCTIVE = "instructive"
    EASY = "easy"


class Pools:
    """Tasks in pools by how often they are solved; most turns go to those that are solved now and then.

    A group says something only where some of its answers are right and some wrong: at a pass rate p that is so with
    1 - p^G - (1 - p)^G, which is next to nothing at both ends. A task moves between pools as its rate does, and none is
    given up: the turns that are left go to the others, and the longest unasked comes first.
    """

    def __init__(self, tasks: Sequence[Task], rules: Curriculum, seed: int) -> None:
        """Begin with the pass rates that the bank knows."""
        self._tasks = {one.task_id: one for one in sorted(tasks, key=lambda one: one.task_id)}
        self._rules, self._seed, self._turn = rules, seed, 0
        self._ties = {name: digest([seed, name]) for name in self._tasks}
        self._known = {
            name: Known(rate=one.passed / one.samples, groups=1) if one.samples else Known()
            for name, one in self._tasks.items()
        }

    def following(self, count: int) -> list[Task]:
        """Each turn draws a side of the pools, and takes its longest unasked task; ties fall by the seed."""
        return [self._next() for _ in range(count)]

    def _next(self) -> Task:
        self._turn += 1
        draw = random.Random(f"{self._seed}:{self._turn}")
        inner = [name for name in self._tasks if self.pool(name) in (Pool.INSTRUCTIVE, Pool.UNTRIED)]
        outer = [name for name in self._tasks if self.pool(name) in (Pool.HARD, Pool.EASY)]
        side = inner if draw.random() < self._rules.share else outer
        name = min(side or inner or outer, key=lambda one: (self._known[one].asked, self._ties[one]))
        self._known[name] = self._known[name].model_copy(update={"asked": self._turn})
        return self._tasks[name]

    def pool(self, name: str) -> Pool:
        """Where a task lies at the moment."""
        known = self._known[name]
        if not known.groups:
            return Pool.UNTRIED
        if known.rate < self._rules.low:
            return Pool.HARD
        return Pool.EASY if known.rate > self._rules.high else Pool.INSTRUCTIVE

    def learnt(self, tasks: Sequence[Task], solved: Sequence[float | None]) -> None:
        """Move the rates; a group that failed says nothing of its task."""
        for one, reward in zip(tasks, solved, strict=True):
            known = self._known[one.task_id]
            if reward is None:
                continue
            kept = self._rules.memory if known.groups else 0.0
            rate = kept * known.rate + (1 - kept) * reward
            self._known[one.task_id] = known.model_copy(update={"rate": rate, "groups": known.groups + 1})

    def facts(self) -> dict[str, float]:
        """Tasks in each pool."""
        held = Counter(self.pool(name) for name in self._tasks)
        return {f"pool_{pool.value}": float(held[pool]) for pool in Pool}

    def state(self) -> State:
        """All rates, and the turn."""
        return State(turn=self._turn, known=dict(self._known))

    def restore(self, state: State) -> None:
        """Go on from there."""
        if state.known.keys() != self._tasks.keys():
            raise IntegrityError(
                f"a checkpoint knows {len(state.known)} tasks, the job's bank holds {len(self._tasks)} others; "
                "remove the job's folder and submit it again"
            )
        self._turn, self._known = state.turn, dict(state.known)


def course(tasks: Sequence[Task], settings: Update) -> Course:
    """The one that the settings ask for."""
    if settings.curriculum.share:
        return Pools(tasks, settings.curriculum, settings.seed)
    return Rota(tasks, settings.seed)
