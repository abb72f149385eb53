"""Working on a job at a URL: fetched to a folder here, its checkpoints published as it runs, its results at the end.

A worker that was killed is followed by another one, on any machine, that goes on from the last checkpoint published.
The folder is removed when the results are delivered; where they could not be, the same call delivers them.
"""

import shutil
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from rsi import faults
from rsi.errors import TransientError
from rsi.ids import digest
from rsi.ports import Progress
from rsi.settings import cache_dir
from rsi.store.locks import hold
from rsi.update import depot as depots
from rsi.update import job as jobs
from rsi.update.claim import EVERY_S, Claim, claim
from rsi.update.depot import Depot
from rsi.update.job import Done
from rsi.update.worker import base_of, work


def work_on(place: str, base: str | None, progress: Progress) -> Done:
    """Train the job in a folder or at a URL to its end, or find it done; raises as `work_at` and `work` do."""
    if depots.is_url(place):
        return work_at(place, base, progress)
    folder = depots.here(place)
    return work(folder, base_of(jobs.read(folder), base), progress)


def work_at(url: str, base: str | None, progress: Progress, every_s: float = EVERY_S) -> Done:
    """Train the job at a URL to its end, or find it done.

    Args:
        url: where it lies.
        base: folder or name of the base model; the one that the job names where it is None.
        progress: is told each step.
        every_s: seconds between two signs of life (`rsi.update.claim`).

    Raises:
        BusyError: another worker is at it.
        TransientError: the URL cannot be reached; nothing is lost.
    """
    depot = Depot(url)
    job, ended = depots.asked(depot), depots.done(depot)
    if ended is not None:
        return ended
    model = base_of(job, base)
    place = cache_dir() / "jobs" / digest(depot.url)[:16]
    now = datetime.now(UTC).isoformat(timespec="seconds")
    with ExitStack() as held:
        held.enter_context(hold(place.with_name(f"{place.name}.lock"), f"job {job.digest[:12]}", now))
        mine = held.enter_context(claim(depot, every_s))
        if not _ended(place, job):
            _clear(place)
            place.mkdir(parents=True)
            depots.fetch(depot, place)

        def deliver(end: Done) -> None:
            mine.check()
            depots.deliver(depot, place, end)

        end = work(place, model, Mirror(depot, place, mine, progress), stalled=deliver)
        deliver(end)
        _clear(place)
    return end


def _clear(place: Path) -> None:
    if place.exists():
        shutil.rmtree(place)


def _ended(place: Path, job: jobs.Job) -> bool:
    """Whether the folder holds the results of this very job, which could not be delivered."""
    return (place / "complete.json").exists() and jobs.read(place).digest == job.digest


class Mirror:
    """A `Progress` that publishes each new checkpoint before it passes on what it is told."""

    def __init__(self, depot: Depot, place: Path, mine: Claim, progress: Progress) -> None:
        """Watch the folder `place` for checkpoints."""
        self._depot, self._place, self._mine, self._progress = depot, place, mine, progress
        self._published = self._newest()

    def __call__(self, what: str, done: int, total: int, note: str = "") -> None:
        """Publish, and tell; a store that is away for a moment costs a checkpoint, never the run."""
        self._mine.check()
        newest = self._newest()
        if newest is not None and newest != self._published:
            try:
                depots.publish(self._depot, self._place)
                self._published = newest
                faults.point("remote.after_publish")
            except TransientError as away:
                note = f"{note}, not published: {away}"
        self._progress(what, done, total, note)

    def _newest(self) -> str | None:
        return max((path.name for path in (self._place / "checkpoints").glob("step-*")), default=None)
