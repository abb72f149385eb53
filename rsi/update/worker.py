"""Working on a training job: steps, checkpoints, and the adapter at the end. ``python -m rsi.update.worker JOB``.

A job killed at any instant and run again ends in the same adapter: tasks and draws depend on the seed and on what was
learnt before, a checkpoint holds weights, optimiser moments and which tasks come next, and what was logged after it is
cut off and made again.
"""

import argparse
import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from rsi import faults
from rsi.algorithm import Algorithm
from rsi.assets import base_folder
from rsi.errors import ContractError, IntegrityError, RefusedError, RsiError, TransientError
from rsi.harness import hcp
from rsi.ports import Clock, Progress, SystemClock
from rsi.records import NOBODYS
from rsi.registry import adapters
from rsi.registry.promote import probe_prompts
from rsi.report.progress import TerminalProgress
from rsi.report.words import plural
from rsi.settings import quiet_dependencies
from rsi.store.files import publish_folder
from rsi.store.locks import hold
from rsi.update import job as jobs
from rsi.update import learner, log, runs
from rsi.update.backends import backend
from rsi.update.closed import Labels
from rsi.update.guards import Row, Stop, judged
from rsi.update.job import Done, Job, Reason
from rsi.update.run import Run, begin
from rsi.update.runs import Event, event_of
from rsi.update.step import Diverged, imitate, take

PAUSE_S = 5.0
"""How long to wait for an actor that is away, before a step is tried again."""


def work(
    place: Path,
    base: Path,
    progress: Progress,
    clock: Clock | None = None,
    stalled: Callable[[Done], None] = lambda end: None,
) -> Done:
    """Train the job in a folder to its end, or find it done.

    Where nothing moves any more (`rsi.algorithm.Guard.stalled_seconds`) this process ends, once its record is written
    and `stalled` was told.

    Raises:
        BusyError: another worker is at it.
        ContractError: none of its tasks can be tried.
        IntegrityError: something that is frozen changed, or the folder does not hold what the job names.
        TransientError: who samples is away, or the disk is full; the same call goes on from the last checkpoint.
    """
    job, clock = jobs.read(place), clock or SystemClock()
    with hold(place / "lock", f"job {job.digest[:12]}", clock.now().isoformat(timespec="seconds")):
        ended = jobs.done(place)
        if ended is not None:
            return ended
        return backend(job.settings.backend)(place, job, base, progress, clock, stalled)


def train(
    place: Path, job: Job, base: Path, progress: Progress, clock: Clock, stalled: Callable[[Done], None]
) -> Done:
    """The backend `local`: our trainer, in this process."""
    return _told_of(begin(place, job, base, clock, lambda: _stalled(place, job, stalled)), progress)


def _stalled(place: Path, job: Job, tell: Callable[[Done], None]) -> None:
    """End a job in which nothing moves, and the process that is stuck in it."""
    rows = log.rows(place / "metrics.jsonl")
    words = f"nothing moved for {job.settings.guard.stalled_seconds:g} s after step {len(rows)}"
    skipped = sum(int(row["skipped"]) for row in rows)
    end = Done(adapter=None, steps=len(rows), skipped=skipped, ended=words, reason=Reason.STALLED)
    if jobs.done(place) is None:
        try:
            jobs.finish(place, end)
            print(f"rsi: job {job.digest[:12]} was stopped: {words}", file=sys.stderr, flush=True)
            tell(end)
        finally:
            os._exit(RefusedError.exit_code)


def _told_of(run: Run, progress: Progress) -> Done:
    """The job's end, with the run's own in ``runs.jsonl``."""

    def tell(event: Event, detail: str = "") -> None:
        runs.tell(run.place, run.clock.now, event, len(log.rows(run.log)), detail)

    tell(Event.BEGAN)
    try:
        end = _worked(run, progress)
    except BaseException as error:
        event = event_of(error)
        tell(event, f"{type(error).__name__}: {error}")
        if event is Event.DISK_FULL:
            raise TransientError(
                f"no space left for job {run.job.digest[:12]} in {run.place}: free some, and run the same command "
                "again; it goes on from the last checkpoint"
            ) from error
        raise
    tell(Event.COMPLETE, end.reason.value)
    return end


def _worked(run: Run, progress: Progress) -> Done:
    before = learner.fingerprint(run.model)
    try:
        with run.watch:
            rows, stop = _steps(run, progress)
    finally:
        if run.actor is not None:
            run.actor.close()
    learner.settle(run.model)
    if learner.fingerprint(run.model) != before:
        raise IntegrityError(
            f"job {run.job.digest[:12]} changed the base or an adapter of another role; nothing was kept"
        )
    stop = stop or Stop(Reason.STEPS, f"all {len(rows)} steps were taken")
    signal = any(row["live"] for row in rows)
    if not signal and stop.reason in (Reason.STEPS, Reason.NO_SIGNAL):
        stop = Stop(Reason.NO_SIGNAL, f"none of {len(rows)} steps found a group of answers with a signal")
    kept = signal and stop.reason.well
    name = publish(run.place, run.job, run.model, run.labels, run.harness) if kept else None
    run.rollouts.finish()
    faults.point("update.before_complete")
    skipped = sum(int(row["skipped"]) for row in rows)
    end = Done(
        adapter=name,
        steps=len(rows),
        skipped=skipped,
        ended=stop.words,
        reason=stop.reason,
        unusable=run.unusable,
        refused={reason.value: count for reason, count in run.refused.items()},
    )
    jobs.finish(run.place, end)
    run.rollouts.clear()
    with suppress(OSError):
        shutil.rmtree(run.checkpoints)
    return end


def _steps(run: Run, progress: Progress) -> tuple[list[Row], Stop | None]:
    """All steps that are left; the whole log, and why it ends early if it does."""
    settings = run.job.settings
    saved = sorted(run.checkpoints.glob("step-*"))
    first = 0
    if saved:
        there = learner.load_checkpoint(saved[-1], run.model)
        first = there.step
        run.course.restore(there.course)
    rows = log.cut(run.log, first)
    run.rollouts.resume(first)
    stop = judged(settings, rows, run.clock.now())
    for step in range(first, settings.steps):
        if stop is not None:
            break
        try:
            rows.append(_step(run, step))
        except Diverged as error:
            stop = Stop(Reason.DIVERGED, str(error))
            break
        if step + 1 > settings.steps * (1 - settings.averaged):
            run.model.mean.add(run.model.parameters())
        run.watch.move()
        log.add(run.log, rows[-1])
        faults.point("update.after_step")
        progress("update", step + 1, settings.steps, _note(rows))
        if (step + 1) % settings.checkpoint_every == 0 and step + 1 < settings.steps:
            target = run.checkpoints / f"step-{step + 1:06d}"
            learner.save_checkpoint(target, run.model, step + 1, run.course.state())
            for old in sorted(run.checkpoints.glob("step-*"))[:-1]:
                shutil.rmtree(old)
            faults.point("update.after_checkpoint")
        stop = judged(settings, rows, run.clock.now())
    return rows, stop


def _step(run: Run, step: int) -> Row:
    """One step, tried again where who samples is away for a moment: nothing has moved by then but the course."""
    settings, before = run.job.settings, run.course.state()
    learn = imitate if settings.algorithm is Algorithm.SFT else take
    for attempt in range(settings.retries):
        try:
            return learn(run.model, run.practice, settings, run.course, step)
        except TransientError as error:
            detail = f"try {attempt + 1} of step {step + 1}: {error}"
            runs.tell(run.place, run.clock.now, Event.ACTOR_LOST, step, detail)
            run.course.restore(before)
            run.rollouts.resume(step)
            run.watch.move()
            time.sleep(PAUSE_S)
    return learn(run.model, run.practice, settings, run.course, step)


def _note(rows: Sequence[Row]) -> str:
    """How it goes: the last step, and what was counted so far."""
    last = rows[-1]
    moved = f", {last['rehearsal_kl']:.3f} nats a token from the start" if "rehearsal_kl" in last else ""
    if "reward" not in last:
        return f"loss {last['loss']:.3f}{moved}"
    silent = sum(int(row["skipped"]) for row in rows)
    failed = sum(int(row.get(f"outcome_{kind.value}", 0)) for row in rows for kind in NOBODYS)
    counted = f"{plural(silent, 'group')} without signal, {plural(failed, 'answer')} failed"
    return f"reward {last['reward']:.2f}, {counted}{moved}"


def publish(place: Path, job: Job, model: learner.Learner, labels: Labels, harness: hcp.Harness) -> str:
    """Put the trained adapter into the job's folder; its name."""

    def fill(draft: Path) -> None:
        learner.export(model, draft, job.base)
        card = adapters.Card(
            role=job.role,
            base=job.base,
            rank=job.settings.rank,
            alpha=job.settings.alpha,
            files=adapters.hashes(draft),
            harness=job.harness,
            probe=labels.measure(probe_prompts(harness)),
        )
        adapters.seal(draft, card)

    # A worker that was killed after this point comes from the same checkpoint to the same weights.
    return adapters.name_of(publish_folder(place / "adapter", fill))


def base_of(job: Job, said: str | None = None) -> Path:
    """Folder of the base model that a job names, or of the one said, if that is the same.

    Raises:
        ContractError: it is another one.
    """
    base, digest = base_folder(said or job.base_name)
    if digest != job.base:
        raise ContractError(f"{base} is base {digest[:12]}, the job trains on {job.base[:12]}")
    return base


def main() -> None:
    """Work on a job; exit codes are those of `rsi.errors`."""
    from rsi.update.remote import work_on

    quiet_dependencies()
    parser = argparse.ArgumentParser(prog="python -m rsi.update.worker", description=__doc__)
    parser.add_argument("job", help="the job's folder, or an fsspec URL such as s3://bucket/job")
    parser.add_argument("--base", help="folder of the base model; the asset that the job names without it")
    said = parser.parse_args()
    try:
        end = work_on(said.job, said.base, TerminalProgress())
    except RsiError as error:
        print(f"rsi: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    print(end.words)


if __name__ == "__main__":
    main()
