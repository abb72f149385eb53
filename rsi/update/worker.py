"""Running a training job: resume, steps, checkpoints, and the adapter at the end. ``python -m rsi.update.worker JOB``.

A job killed at any instant and run again ends in the same adapter: batches and draws depend on (seed, step)
alone, a checkpoint holds weights and optimiser moments, and what was logged after it is cut off and made again.
"""

import argparse
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import orjson

from rsi import faults
from rsi.algorithm import Algorithm
from rsi.assets import base_folder
from rsi.engine.chat import Dialogue
from rsi.engine.local import LocalEngine
from rsi.engine.weights import read_base
from rsi.errors import ContractError, IntegrityError, RsiError
from rsi.harness import hcp
from rsi.harness.loop import Table
from rsi.ids import canonical
from rsi.ports import Progress
from rsi.records import Outcome, OutcomeKind, Task
from rsi.registry import adapters
from rsi.registry.promote import probe_prompts
from rsi.report.progress import TerminalProgress
from rsi.report.words import plural
from rsi.settings import LOCAL, quiet_dependencies
from rsi.store.files import publish_folder, write_whole
from rsi.store.locks import hold
from rsi.tasks.prompt import ROUTE
from rsi.tasks.worlds import HOP as WORLD
from rsi.tasks.worlds import VERIFIER
from rsi.update import job as jobs
from rsi.update import learner, served
from rsi.update.actor import Actor
from rsi.update.batches import batch
from rsi.update.closed import Labels, Texts, Weigh
from rsi.update.guards import Row, Stop, judged
from rsi.update.job import Done, Job
from rsi.update.practice import Practice
from rsi.update.rollouts import Recorded, Rollouts
from rsi.update.step import imitate, take
from rsi.update.worlds import Worlds
from rsi.update.written import Written
from rsi.verifiers import verify

FAILURES = (OutcomeKind.ERROR, OutcomeKind.INVALID)
"""Ends of an answer that say nothing of the model."""


class Run(NamedTuple):
    """One job being worked on."""

    place: Path
    job: Job
    model: learner.Learner
    harness: hcp.Harness
    labels: Labels
    practice: Practice
    rollouts: Rollouts
    tasks: tuple[Task, ...]
    actor: Actor | None
    """Who samples, where that is not the learner itself."""

    @property
    def log(self) -> Path:
        """A line a finished step."""
        return self.place / "metrics.jsonl"

    @property
    def checkpoints(self) -> Path:
        """The last of them is where to go on."""
        return self.place / "checkpoints"


def work(place: Path, base: Path, progress: Progress) -> Done:
    """Train the job in a folder to its end, or find it done.

    Raises:
        BusyError: another worker is at it.
        IntegrityError: something that is frozen changed, or the folder does not hold what the job names.
        RefusedError: the loss is no longer a number.
    """
    job = jobs.read(place)
    with hold(place / "lock", f"job {job.digest[:12]}", datetime.now(UTC).isoformat(timespec="seconds")):
        ended = jobs.done(place)
        return ended if ended is not None else _worked(_run(place, job, base), progress)


def _run(place: Path, job: Job, base: Path) -> Run:
    asked = jobs.tasks(place, job)
    harness = jobs.harness(place, job)
    base_model, tokenizer = read_base(base)
    model = learner.build(place / "adapters", base_model, job.settings, job.warm_start, job.frozen)
    texts = Texts(tokenizer, harness)
    actor, weigh = _actor(place, job, base, model, texts)
    labels = Labels(model.decoder, texts, job.settings, weigh)
    practice = labels if actor is None or job.hop == ROUTE else _sampled(job, actor, model, texts)

    def text(tokens: Sequence[int]) -> str:
        return str(tokenizer.decode(list(tokens)))

    rollouts = Rollouts(place, job.settings.keep, job.settings.seed, job.harness, text)
    return Run(place, job, model, harness, labels, Recorded(practice, rollouts), rollouts, asked, actor)


def _actor(
    place: Path, job: Job, base: Path, model: learner.Learner, texts: Texts
) -> tuple[Actor | None, Weigh | None]:
    """Who samples where the learner does not itself, and how labels are weighed there."""
    if job.settings.actor != LOCAL:
        return served.join(job, place, model, texts)
    if job.hop == ROUTE:
        return None, None
    return Actor(LocalEngine(base, job.base), place / "actor"), None


def _sampled(job: Job, actor: Actor, model: learner.Learner, texts: Texts) -> Practice:
    """Episodes in worlds or written answers, sampled by an actor."""

    def score(state: str, expected: str) -> Outcome:
        return verify(VERIFIER, state, expected)

    dialogue = Dialogue(texts.tokenizer)
    if job.hop != WORLD:
        return Written(model, actor, dialogue, texts.harness, job.settings, job.base)
    return Worlds(model, actor, Table(dialogue, texts.harness.agent, score), job.settings, job.base)


def _worked(run: Run, progress: Progress) -> Done:
    before = learner.fingerprint(run.model)
    try:
        rows, stop = _steps(run, progress)
    finally:
        if run.actor is not None:
            run.actor.close()
    learner.settle(run.model)
    if learner.fingerprint(run.model) != before:
        raise IntegrityError(
            f"job {run.job.digest[:12]} changed the base or an adapter of another role; nothing was kept"
        )
    if not any(row["live"] for row in rows):
        stop = Stop(f"none of {len(rows)} steps found a group of answers with a signal", False)
    name = None if stop is not None and not stop.well else _export(run)
    run.rollouts.finish()
    faults.point("update.before_complete")
    skipped = sum(int(row["skipped"]) for row in rows)
    ended = stop.reason if stop is not None else f"all {len(rows)} steps were taken"
    end = jobs.finish(run.place, Done(adapter=name, steps=len(rows), skipped=skipped, ended=ended))
    run.rollouts.clear()
    with suppress(OSError):
        shutil.rmtree(run.checkpoints)
    return end


def _steps(run: Run, progress: Progress) -> tuple[list[Row], Stop | None]:
    """All steps that are left; the whole log, and why it ends early if it does."""
    settings = run.job.settings
    saved = sorted(run.checkpoints.glob("step-*"))
    first = learner.load_checkpoint(saved[-1], run.model) if saved else 0
    rows = _kept_rows(run.log, first)
    run.rollouts.resume(first)
    stop = judged(settings, rows)
    for step in range(first, settings.steps):
        if stop is not None:
            break
        learn = imitate if settings.algorithm is Algorithm.SFT else take
        rows.append(learn(run.model, run.practice, settings, batch(run.tasks, settings, step), step))
        if step + 1 > settings.steps * (1 - settings.averaged):
            run.model.mean.add(run.model.parameters())
        with run.log.open("ab") as file:
            file.write(canonical(rows[-1]) + b"\n")
        faults.point("update.after_step")
        progress("update", step + 1, settings.steps, _note(rows))
        if (step + 1) % settings.checkpoint_every == 0 and step + 1 < settings.steps:
            learner.save_checkpoint(run.checkpoints / f"step-{step + 1:06d}", run.model, step + 1)
            for old in sorted(run.checkpoints.glob("step-*"))[:-1]:
                shutil.rmtree(old)
            faults.point("update.after_checkpoint")
        stop = judged(settings, rows)
    return rows, stop


def _note(rows: Sequence[Row]) -> str:
    """How it goes: the last step, and what was counted so far."""
    last = rows[-1]
    if "reward" not in last:
        return f"loss {last['loss']:.3f}"
    silent = sum(int(row["skipped"]) for row in rows)
    failed = sum(int(row.get(f"outcome_{kind.value}", 0)) for row in rows for kind in FAILURES)
    return f"reward {last['reward']:.2f}, {plural(silent, 'group')} without signal, {plural(failed, 'answer')} failed"


def _kept_rows(path: Path, steps: int) -> list[Row]:
    """The rows of the first `steps` steps; the others are cut off."""
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    rows = [row for line in lines if (row := orjson.loads(line))["step"] <= steps]
    if len(rows) < len(lines):
        write_whole(path, b"".join(canonical(row) + b"\n" for row in rows))
    return rows


def _export(run: Run) -> str:
    """Put the adapter into the job's folder; its name."""
    settings, base = run.job.settings, run.job.base

    def fill(draft: Path) -> None:
        learner.export(run.model, draft, base)
        card = adapters.Card(
            role=run.job.role,
            base=base,
            rank=settings.rank,
            alpha=settings.alpha,
            files=adapters.hashes(draft),
            harness=run.job.harness,
            probe=run.labels.measure(probe_prompts(run.harness)),
        )
        adapters.seal(draft, card)

    # A worker that was killed after this point comes from the same checkpoint to the same weights.
    return adapters.name_of(publish_folder(run.place / "adapter", fill))


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
    print(f"adapter {end.adapter}: {end.ended}" if end.adapter else f"no adapter: {end.ended}")


if __name__ == "__main__":
    main()
