"""A training job: one folder, named by the digest of what it is asked to do.

``job.json`` and ``tasks.parquet`` say what to do; ``metrics.jsonl`` and ``checkpoints/`` grow while it runs, and the
latter goes at the end; ``complete.json`` is written last and names the adapter, if any group carried a signal.
"""

import random
import shutil
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from rsi.errors import ContractError, IntegrityError
from rsi.ids import canonical
from rsi.records import Record, Task
from rsi.settings import Home, Update
from rsi.store.files import publish_folder, write_whole
from rsi.tasks import bank

TRAINED = "route"
"""Hop of the tasks that the trainer can train; others stay in the bank."""


class Job(Record):
    """What to train, on what, how; its digest names the folder."""

    schema_version: int = 1
    base: str
    """Digest of the base model."""
    base_name: str
    """Asset name or folder of it."""
    role: str
    """The role whose adapter is trained."""
    warm_start: str | None
    """Adapter to start from; null for fresh weights."""
    frozen: tuple[str, ...]
    """Adapters of other roles, present in memory and never to change."""
    bank: str
    """Digest of the bank."""
    harness: str
    """Digest of the harness whose prompts are trained under."""
    settings: Update


class Done(Record):
    """``complete.json``."""

    adapter: str | None
    """Name of the adapter; null when no group ever carried a signal."""
    steps: int
    skipped: int
    """Groups without signal."""


def folder(home: Home, job: Job) -> Path:
    """Where a job lies."""
    return home.jobs / job.digest


def submit(home: Home, job: Job) -> Path:
    """Make the job's folder, or find it."""

    def fill(target: Path) -> None:
        (target / "job.json").write_bytes(canonical(job.model_dump(mode="json")))
        shutil.copyfile(home.banks / job.bank / "tasks.parquet", target / "tasks.parquet")

    bank.manifest(home, job.bank)
    return publish_folder(folder(home, job), fill)


def done(home: Home, job: Job) -> Done | None:
    """How it ended, or None while it has not."""
    path = folder(home, job) / "complete.json"
    return Done.parse(path.read_bytes()) if path.exists() else None


def finish(home: Home, job: Job, end: Done) -> Done:
    """Write the marker that makes a job complete."""
    write_whole(folder(home, job) / "complete.json", canonical(end.model_dump(mode="json")))
    return end


def tasks_of(home: Home, job: Job) -> tuple[Task, ...]:
    """The job's tasks for the hop it trains.

    Raises:
        ContractError: there are none.
    """
    place = folder(home, job)
    if not (place / "tasks.parquet").exists():
        raise IntegrityError(f"job {job.digest[:12]} lacks its tasks: expected {place / 'tasks.parquet'}")
    found = tuple(one for one in bank.read(place / "tasks.parquet") if one.hop == TRAINED)
    if not found:
        raise ContractError(f"bank {job.bank[:12]} has no routing task to train role {job.role} on")
    return found


def batch(tasks: Sequence[Task], settings: Update, step: int) -> list[Task]:
    """The tasks of one step (from 0): every expected answer equally often, each list in a seeded order.

    Depends on nothing but its arguments, so a resumed job asks the same.
    """
    by_answer: dict[str, list[Task]] = defaultdict(list)
    for one in sorted(tasks, key=lambda task: task.task_id):
        by_answer[one.expected].append(one)
    answers = sorted(by_answer)
    chosen = []
    for slot in range(step * settings.prompts, (step + 1) * settings.prompts):
        answer, turn = answers[slot % len(answers)], slot // len(answers)
        pool = by_answer[answer]
        order = list(range(len(pool)))
        random.Random(f"{settings.seed}:{answer}:{turn // len(pool)}").shuffle(order)
        chosen.append(pool[order[turn % len(pool)]])
    return chosen
