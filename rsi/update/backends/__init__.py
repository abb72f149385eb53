"""Trainers behind the job folder: each takes a folder with a job and leaves an adapter, a log and the marker in it.

Adding one is a module, a line here and a member of `rsi.algorithm.Backend`. A job's settings name it, so that it is
part of the job's digest.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path

from rsi.algorithm import Backend
from rsi.ports import Clock, Progress
from rsi.update.job import Done, Job

Train = Callable[[Path, Job, Path, Progress, Clock, Callable[[Done], None]], Done]
"""(the job's folder, locked and not complete; the job; folder of the base; progress; clock; who is told before a
process that is stuck ends itself) -> how it ended."""

BACKENDS: Mapping[Backend, str] = {
    Backend.LOCAL: "rsi.update.worker:train",
    Backend.TRL: "rsi.update.backends.trl:train",
}
"""Where each lies; imported when a job names it."""


def backend(name: Backend) -> Train:
    """The trainer of that name."""
    module, function = BACKENDS[name].split(":")
    found: Train = getattr(import_module(module), function)
    return found
