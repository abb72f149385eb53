"""``runs.jsonl``: each run of a worker on a job, when it began and how it ended. A run that was killed has no end.

Nothing depends on it: it is for whoever asks why a job took so long, or does not end.
"""

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from rsi.errors import TransientError
from rsi.ids import canonical
from rsi.records import Record

DETAIL = 300
"""Most characters of a detail."""


class Event(StrEnum):
    """What happened to a run."""

    BEGAN = "began"
    COMPLETE = "complete"
    """The job is over: ``complete.json`` says how."""
    ACTOR_LOST = "actor_lost"
    """Who samples did not answer; the step is tried again, or the run ends and can be started again."""
    DISK_FULL = "disk_full"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


class Told(Record):
    """A line."""

    at: datetime
    event: Event
    step: int
    """Steps finished by then."""
    detail: str = ""


def tell(place: Path, now: Callable[[], datetime], event: Event, step: int, detail: str = "") -> None:
    """Add a line; a disk that is full loses it."""
    line = Told(at=now(), event=event, step=step, detail=detail[:DETAIL])
    with suppress(OSError), (place / "runs.jsonl").open("ab") as file:
        file.write(canonical(line.model_dump(mode="json")) + b"\n")


def read(place: Path) -> tuple[Told, ...]:
    """All lines that are whole, of the first run on."""
    path = place / "runs.jsonl"
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    return tuple(Told.parse(line) for line in lines)


def event_of(error: BaseException) -> Event:
    """What ended a run."""
    full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    # Safetensors has an error of its own, which keeps the system's words and not its number.
    if full or os.strerror(errno.ENOSPC) in str(error):
        return Event.DISK_FULL
    if isinstance(error, TransientError):
        return Event.ACTOR_LOST
    return Event.FAILED if isinstance(error, Exception) else Event.INTERRUPTED
