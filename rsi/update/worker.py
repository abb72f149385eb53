"""Running a training job: resume, steps, checkpoints, and the adapter at the end.

A job killed at any instant and run again ends in the same adapter: batches and draws depend on (seed, step)
alone, a checkpoint holds weights and optimiser moments, and what was logged after it is cut off and made again.
"""

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import orjson

from rsi import faults
from rsi.engine.weights import read_base
from rsi.errors import IntegrityError
from rsi.harness import hcp
from rsi.ids import canonical
from rsi.ports import Progress
from rsi.records import Task
from rsi.registry import adapters
from rsi.registry.promote import probe_prompts
from rsi.settings import Home
from rsi.store.files import write_whole
from rsi.update import learner
from rsi.update.closed import Labels, Texts
from rsi.update.job import Done, Job, batch, done, finish, folder, tasks_of
from rsi.update.step import take


class Run(NamedTuple):
    """One job being worked on."""

    home: Home
    job: Job
    model: learner.Learner
    harness: hcp.Harness
    practice: Labels
    tasks: tuple[Task, ...]


def work(home: Home, job: Job, base: Path, progress: Progress) -> Done:
    """Train to the end, or find it done.

    Raises:
        IntegrityError: something that is frozen changed.
        RefusedError: the loss is no longer a number.
    """
    ended = done(home, job)
    if ended is not None:
        return ended
    tasks = tasks_of(home, job)
    base_model, tokenizer = read_base(base)
    model = learner.build(home, base_model, job.settings, job.warm_start, job.frozen)
    harness = hcp.load(home.harnesses, job.harness)
    practice = Labels(model.decoder, Texts(tokenizer, harness), job.settings)
    run = Run(home, job, model, harness, practice, tasks)
    before = learner.fingerprint(run.model)
    skipped = _steps(run, progress)
    if learner.fingerprint(run.model) != before:
        raise IntegrityError(
            f"job {job.digest[:12]} changed the base or an adapter of another role; nothing was kept"
        )
    groups = job.settings.steps * job.settings.prompts
    name = None if skipped == groups else _export(run)
    faults.point("update.before_complete")
    end = finish(home, job, Done(adapter=name, steps=job.settings.steps, skipped=skipped))
    with suppress(OSError):
        shutil.rmtree(folder(home, job) / "checkpoints")
    return end


def _steps(run: Run, progress: Progress) -> int:
    place, settings = folder(run.home, run.job), run.job.settings
    first, skipped = 0, 0
    saved = sorted((place / "checkpoints").glob("step-*"))
    if saved:
        first, skipped = learner.load_checkpoint(saved[-1], run.model)
    _cut_metrics(place / "metrics.jsonl", first)
    for step in range(first, settings.steps):
        row = take(run.model, run.practice, settings, batch(run.tasks, settings, step), step)
        skipped += int(row["skipped"])
        with (place / "metrics.jsonl").open("ab") as file:
            file.write(canonical(row) + b"\n")
        faults.point("update.after_step")
        progress(
            "update", step + 1, settings.steps, f"reward {row['reward']:.2f}, {skipped} groups without signal"
        )
        if (step + 1) % settings.checkpoint_every == 0 and step + 1 < settings.steps:
            learner.save_checkpoint(
                place / "checkpoints" / f"step-{step + 1:06d}", run.model, step + 1, skipped
            )
            for old in sorted((place / "checkpoints").glob("step-*"))[:-1]:
                shutil.rmtree(old)
            faults.point("update.after_checkpoint")
    return skipped


def _cut_metrics(path: Path, steps: int) -> None:
    """Keep the rows of finished steps only."""
    if not path.exists():
        return
    rows = [line for line in path.read_bytes().split(b"\n")[:-1] if orjson.loads(line)["step"] <= steps]
    write_whole(path, b"".join(line + b"\n" for line in rows))


def _export(run: Run) -> str:
    settings = run.job.settings
    with tempfile.TemporaryDirectory(dir=folder(run.home, run.job)) as draft:
        learner.export(run.model, Path(draft), run.job.base)
        card = adapters.Card(
            role=run.job.role,
            base=run.job.base,
            rank=settings.rank,
            alpha=settings.alpha,
            files=adapters.hashes(Path(draft)),
            harness=run.job.harness,
            probe=run.practice.measure(probe_prompts(run.harness)),
        )
        return adapters.freeze(run.home, Path(draft), card).name
