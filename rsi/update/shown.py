"""Successful rollouts of earlier jobs, shown to a job that learns by example (FireAct, arXiv 2310.05915).

What is shown is what the model itself once sampled, token by token, and what made it right was the verifier: rejection
sampling. A rollout that was made under another harness than the job's would teach words that its model will never
read; it is refused, and so is whatever is no success of one of the job's tasks. Refusals are counted by reason.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, TypedDict

import pyarrow.parquet as pq

from rsi.algorithm import Algorithm, Update
from rsi.errors import ContractError, IntegrityError
from rsi.ids import digest_file
from rsi.records import OutcomeKind, Task
from rsi.tasks.prompt import ROUTE
from rsi.update.job import SHOWN, Job
from rsi.update.practice import Around, Drawn, Practice, Rollout
from rsi.update.sampled import Sampled
from rsi.update.scoring import Decoder

SOLVED = 1.0
"""Reward of a success."""


class Refused(StrEnum):
    """Why a rollout is not shown."""

    HARNESS = "another_harness"
    TASK = "another_task"
    UNSOLVED = "unsolved"
    TOKENS = "no_tokens"
    """Its tokens were not kept: see `rsi.algorithm.Keep`."""
    DOUBLE = "double"
    """The same tokens as one before it."""


class Shown(Around):
    """A `Practice` whose examples are successes of earlier jobs."""

    def __init__(
        self, practice: Practice, model: Decoder, settings: Update, by_task: Mapping[str, Sequence[Rollout]]
    ) -> None:
        """`practice` draws as before; of each task at most as many successes are shown as a group is large."""
        super().__init__(practice)
        self._model, self._settings, self._by_task = model, settings, by_task

    def takes(self, task: Task) -> bool:
        """Whether there is a success of it."""
        return task.task_id in self._by_task

    def show(self, tasks: Sequence[Task]) -> Drawn:
        """All of their successes."""
        most = self._settings.samples
        shown = [one for task in tasks for one in self._by_task[task.task_id][:most]]
        return Sampled(self._model, shown, len(shown), whole_prompt=self._settings.whole_prompt)


class Row(TypedDict):
    """A row of `rsi.update.rollouts.SCHEMA`, as far as it is read here."""

    task_id: str
    group: int
    sample: int
    harness: str
    prompt: list[int] | None
    response: list[int] | None
    sampled: list[bool] | None
    logprobs: list[float] | None
    reward: float | None
    outcome: str
    stop: str


class Admitted(NamedTuple):
    """What may be shown."""

    by_task: Mapping[str, Sequence[Rollout]]
    """Task id -> its successes, in the order of the file."""
    refused: Mapping[Refused, int]


def admitted(path: Path, harness: str, tasks: Sequence[str]) -> Admitted:
    """The rollouts of a file that a job under a harness may be shown; `tasks` are the ids of the job's tasks."""
    wanted, found, refused = set(tasks), dict[str, list[Rollout]](), Counter[Refused]()
    seen: set[tuple[str, tuple[int, ...]]] = set()
    for row in pq.read_table(path).to_pylist():
        reason = _reason(row, harness, wanted)
        if reason is None and (row["task_id"], tuple(row["response"] or ())) in seen:
            reason = Refused.DOUBLE
        if reason is not None:
            refused[reason] += 1
            continue
        seen.add((row["task_id"], tuple(row["response"])))
        found.setdefault(row["task_id"], []).append(_rollout(row))
    return Admitted(found, dict(sorted(refused.items())))


def given(place: Path, job: Job, asked: Sequence[Task]) -> Admitted:
    """The successes that a job is shown.

    Raises:
        ContractError: its algorithm or its tasks have no use for them.
        IntegrityError: the folder holds other ones.
    """
    if job.shown is None:
        return Admitted({}, {})
    if job.settings.algorithm is not Algorithm.SFT or job.hop == ROUTE:
        raise ContractError("rollouts are shown to jobs of algorithm sft on tasks in worlds, to no others")
    if digest_file(place / SHOWN) != job.shown:
        raise IntegrityError(f"{place / SHOWN} is not what the job names; submit the job again")
    return admitted(place / SHOWN, job.harness, [one.task_id for one in asked])


def _reason(row: Row, harness: str, tasks: set[str]) -> Refused | None:
    if row["harness"] != harness:
        return Refused.HARNESS
    if row["task_id"] not in tasks:
        return Refused.TASK
    if row["reward"] is None or row["reward"] < SOLVED:
        return Refused.UNSOLVED
    return None if row["prompt"] and row["response"] else Refused.TOKENS


def _rollout(row: Row) -> Rollout:
    return Rollout(
        task_id=row["task_id"],
        group=row["group"],
        sample=row["sample"],
        prompt=tuple(row["prompt"] or ()),
        response=tuple(row["response"] or ()),
        sampled=tuple(row["sampled"] or ()),
        logprobs=tuple(row["logprobs"] or ()),
        reward=row["reward"],
        outcome=OutcomeKind(row["outcome"]),
        stop=row["stop"],
    )
