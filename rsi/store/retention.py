"""What a home holds and needs no more, by the ages that the deployment file names.

Nothing that a record names is ever among it: versions, adapters, banks, verdicts, raw and held-out text stay. A file of
the inbox goes only where the store says that all of it was read; of a job that is over go what it sampled and what it
worked with.
"""

import shutil
from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from rsi.ids import digest_file
from rsi.ports import Clock
from rsi.settings import Home, Retention
from rsi.store.database import store_batch
from rsi.store.files import size_of

DAY_S = 86_400.0
WORKED_WITH = ("actor", "adapters", "checkpoints", "rehearsal.json", "rollouts", "rollouts.parquet", "shown.parquet")
"""Names in a job's folder that go."""
LEFTOVERS = (".snapshot.*", ".migrate.*", ".restore.*", ".store.*", "store.v*.duckdb")
"""Names in the home of what is there beside store and snapshot."""
_READ = "select distinct sha256 from ingest_files where read = loaded + duplicates + quarantined + heldout"
WHO = "tidy"


class Kind(StrEnum):
    """What it is."""

    SPOOL = "spool"
    JOBS = "jobs"
    SNAPSHOTS = "snapshots"


class Old(NamedTuple):
    """A file or folder that may go."""

    kind: Kind
    path: Path
    bytes: int


def old(home: Home, retention: Retention, clock: Clock) -> tuple[Old, ...]:
    """What is older than the deployment wants to keep it; nothing is removed.

    Raises:
        BusyError: the store is held by somebody else for longer than half a minute.
    """
    now = clock.now()
    found: list[Old] = []
    if retention.spool_days is not None:
        found += _spool(home, clock, _before(now, retention.spool_days))
    if retention.jobs_days is not None:
        found += _jobs(home, _before(now, retention.jobs_days))
    if retention.snapshots_days is not None:
        found += _leftovers(home, _before(now, retention.snapshots_days))
    return tuple(found)


def tidy(home: Home, retention: Retention, clock: Clock) -> tuple[Old, ...]:
    """Remove what `old` finds; what went."""
    found = old(home, retention, clock)
    for one in found:
        if one.path.is_dir():
            shutil.rmtree(one.path)
        else:
            one.path.unlink(missing_ok=True)
    return found


def _before(now: datetime, days: int) -> float:
    return now.timestamp() - days * DAY_S


def _spool(home: Home, clock: Clock, before: float) -> Iterator[Old]:
    files = [path for path in sorted(home.inbox.rglob("*")) if path.is_file() and not path.is_symlink()]
    aged = [path for path in files if path.stat().st_mtime < before and path.suffix != ".open"]
    if not aged:
        return
    with store_batch(home, clock, WHO) as connection:
        read = {str(sha256) for (sha256,) in connection.execute(_READ).fetchall()}
    for path in aged:
        if digest_file(path) in read:
            yield Old(Kind.SPOOL, path, path.stat().st_size)


def _jobs(home: Home, before: float) -> Iterator[Old]:
    for marker in sorted(home.jobs.glob("*/complete.json")):
        if marker.stat().st_mtime < before:
            for path in sorted(marker.parent.iterdir()):
                if path.name in WORKED_WITH and not path.is_symlink():
                    yield Old(Kind.JOBS, path, size_of(path))


def _leftovers(home: Home, before: float) -> Iterator[Old]:
    for pattern in LEFTOVERS:
        for path in sorted(home.root.glob(pattern)):
            if path.stat().st_mtime < before and not path.is_symlink():
                yield Old(Kind.SNAPSHOTS, path, size_of(path))
