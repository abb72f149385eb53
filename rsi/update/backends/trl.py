"""TRL's `GRPOTrainer` as the trainer of a job, in an environment of its own that `RSI_TRL_PYTHON` names.

The two sides share the job's folder and nothing else: `rsi.update.backends.trl_run` reads it in TRL's environment, adds
to ``metrics.jsonl`` and leaves weights, which this side brings into the form in which every adapter of ours is. TRL's
checkpoints hold pickles and not the answers of a step, so none are kept: a job that was killed starts again, and its
seed brings it to the same end.

What differs from our trainer: gradients flow through the prompt, answers are sampled by `generate` and not drawn from a
closed set, groups without a signal count in the denominator, nothing is refilled, and no rollouts are kept.
"""

import os
import shutil
import subprocess
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from rsi.algorithm import LOCAL, Algorithm
from rsi.engine.weights import read_base
from rsi.errors import ContractError, TransientError
from rsi.ports import Clock, Progress
from rsi.settings import OFFLINE
from rsi.tasks.worlds import HOP as WORLD
from rsi.update import job as jobs
from rsi.update import learner, log
from rsi.update.closed import Labels, Texts
from rsi.update.guards import Stop, judged
from rsi.update.job import Done, Job, Reason
from rsi.update.worker import publish

PYTHON = "RSI_TRL_PYTHON"
"""Names the Python of TRL's environment."""
WEIGHTS = "trl"
"""Folder of the job in which TRL leaves its weights."""
RUN = "rsi.update.backends.trl_run"


def train(
    place: Path, job: Job, base: Path, progress: Progress, clock: Clock, stalled: Callable[[Done], None]
) -> Done:
    """Train the job in a folder to its end; TRL's process is not watched, so `stalled` is never told.

    Raises:
        ContractError: TRL cannot do what the job asks for, or there is no environment for it.
        TransientError: TRL's process failed; its last words are in the message.
    """
    _check(job)
    jobs.tasks(place, job)
    _clear(place)
    log.cut(place / "metrics.jsonl", 0)
    for _ in _lines(_python(), place, base):
        rows = log.rows(place / "metrics.jsonl")
        if rows:
            progress("update", len(rows), job.settings.steps, f"reward {rows[-1]['reward']:.2f}, by TRL")
    rows = log.rows(place / "metrics.jsonl")
    stop = judged(job.settings, rows, clock.now()) or Stop(Reason.STEPS, f"all {len(rows)} steps were taken")
    signal = any(row["live"] for row in rows)
    if not signal and stop.reason in (Reason.STEPS, Reason.NO_SIGNAL):
        stop = Stop(Reason.NO_SIGNAL, f"none of {len(rows)} steps found a group of answers with a signal")
    name = _taken(place, job, base) if signal and stop.reason.well else None
    skipped = sum(int(row["skipped"]) for row in rows)
    end = Done(adapter=name, steps=len(rows), skipped=skipped, ended=stop.words, reason=stop.reason)
    jobs.finish(place, end)
    _clear(place)
    return end


def _clear(place: Path) -> None:
    """Take away what TRL left."""
    with suppress(OSError):
        shutil.rmtree(place / WEIGHTS)


def _check(job: Job) -> None:
    """Refuse what would otherwise be left out in silence."""
    asked = job.settings
    lacking = [
        words
        for there, words in (
            (job.hop == WORLD, "tasks in worlds, whose tools and final state are ours"),
            (asked.algorithm is not Algorithm.GRPO, f"algorithm = {asked.algorithm.value!r}"),
            (asked.actor != LOCAL, "an actor on a server (set actor = 'local')"),
            (asked.exploration > 0, f"exploration = {asked.exploration:g} (set 0)"),
            (not asked.whole_prompt, "training over a captured prompt (set whole_prompt = true)"),
            (asked.passes > 1, f"passes = {asked.passes} (set 1)"),
            (asked.averaged > 0, f"averaged = {asked.averaged:g} (set 0)"),
            (bool(asked.refill), f"refill = {asked.refill} (set 0, or leave it out)"),
            (job.shown is not None, "learning from earlier rollouts"),
            (
                asked.correction.alarm is not None,
                f"correction.alarm = {asked.correction.alarm} (leave it out)",
            ),
            (asked.guard.repeated < 1, f"guard.repeated = {asked.guard.repeated:g} (set 1)"),
            (asked.curriculum.share > 0, f"curriculum.share = {asked.curriculum.share:g} (set 0)"),
            (asked.rehearsal.weight > 0, f"rehearsal.weight = {asked.rehearsal.weight:g} (set 0)"),
        )
        if there
    ]
    if lacking:
        raise ContractError(
            f"job {job.digest[:12]} asks its backend 'trl' for what it does not do: {'; '.join(lacking)}. Change the "
            "settings, or take backend = 'local'"
        )


def _python() -> str:
    said = os.environ.get(PYTHON)
    if not said or not Path(said).is_file():
        raise ContractError(
            f"{PYTHON} is {said!r}; it must name the Python of an environment with TRL, made for instance by "
            "`python -m venv trl && trl/bin/pip install -e '.[trl]'`"
        )
    return said


def _lines(python: str, place: Path, base: Path) -> Iterator[str]:
    """What TRL's process says while it runs.

    Its standard input stays open as long as this process lives, and it ends when that is closed: two processes never
    work on one folder.
    """
    command = [python, "-m", RUN, str(place), str(base)]
    child = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **OFFLINE},
    )
    last: deque[str] = deque(maxlen=20)
    try:
        assert child.stdout is not None
        for line in child.stdout:
            last.append(line)
            yield line
        if child.wait():
            raise TransientError(
                f"TRL's process for {place} ended with {child.returncode}; it said last:\n{''.join(last)}"
            )
    finally:
        child.kill()
        child.wait()


def _taken(place: Path, job: Job, base: Path) -> str:
    """TRL's weights as an adapter of ours; its name."""
    base_model, tokenizer = read_base(base)
    model = learner.build(place, base_model, job.settings, WEIGHTS, ())
    harness = jobs.harness(place, job)
    labels = Labels(model.decoder, Texts(tokenizer, harness), job.settings)
    return publish(place, job, model, labels, harness)
