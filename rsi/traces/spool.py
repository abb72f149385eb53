"""A spool: append-only NDJSON segments in the inbox, written by one process; the gateway and the receiver have one.

A segment is ``<name>-<utc stamp>-<pid>-<n>.ndjson.open`` while it grows and loses ``.open`` when it is
full, old or closed. Each record is one line, handed to the OS before `append` returns, so that the death of
the process costs at most the line it was writing; fsync comes with the rename, or with `sync`. The writer
holds `flock` on its segment: a segment that can be locked has lost its writer, whatever became of the pid in its
name (pids come back, in a container always).
"""

import fcntl
import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import orjson

from rsi.errors import TransientError
from rsi.ports import Clock, SystemClock
from rsi.store.files import sync_folder

OPEN = ".open"
"""Suffix of a segment that is being written."""


class Spool:
    """Appends records to segments; safe to share between threads."""

    def __init__(
        self,
        inbox: Path,
        name: str = "gateway",
        max_bytes: int = 8 * 1024 * 1024,
        max_age_s: float = 300.0,
        clock: Clock | None = None,
    ) -> None:
        """Make the folder; the first record opens the first segment.

        `max_bytes` is the size past which a segment is closed (a single longer record gets one of its own),
        `max_age_s` the age at which `rotate_if_old` closes it.
        """
        self._inbox, self._name, self._max_bytes, self._max_age_s = inbox, name, max_bytes, max_age_s
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._segment: _Segment | None = None
        self._opened = 0
        self._unsynced = False
        """Whether a segment was closed without its fsync."""
        self._unnamed = False
        """Whether the folder was not synced since a segment was opened."""
        inbox.mkdir(parents=True, exist_ok=True)

    @property
    def path(self) -> Path | None:
        """The segment being written, if one is open."""
        segment = self._segment
        return segment.path if segment else None

    def append(self, record: Mapping[str, object]) -> None:
        """Write one line and hand it to the OS.

        Raises:
            TransientError: the disk refused (full, gone); the segment ends with the last whole line.
        """
        self.append_line(orjson.dumps(record))

    def append_line(self, line: bytes) -> None:
        """`append` for a record that is JSON on one line already."""
        line += b"\n"
        with self._lock:
            if self._segment and self._segment.size and self._segment.size + len(line) > self._max_bytes:
                self._finish()
            try:
                self._segment = self._segment or self._open()
                self._segment.write(line)
            except OSError as error:
                raise self._refused(len(line), error) from error

    def sync(self) -> None:
        """Return when all that was appended before is on the disk, and would be found there after a power cut.

        Raises:
            TransientError: that is not known of some of it.
        """
        with self._lock:
            failed, self._unsynced = self._unsynced, False
            unnamed, self._unnamed = self._unnamed, False
            # Another thread may close the segment meanwhile, which syncs it too.
            handle = self._segment.duplicate() if self._segment else None
        try:
            if handle is not None:
                os.fsync(handle)
            if unnamed:
                sync_folder(self._inbox)
        except OSError as error:
            self._unnamed = self._unnamed or unnamed
            raise TransientError(f"could not sync the spool in {self._inbox}: {error.strerror}") from error
        finally:
            if handle is not None:
                os.close(handle)
        if failed:
            raise TransientError(f"a segment in {self._inbox} was closed without being synced")

    def rotate(self) -> Path | None:
        """Close the open segment; the next record opens another. Its path, if there was one."""
        with self._lock:
            return self._finish()

    def rotate_if_old(self) -> Path | None:
        """`rotate`, if the open segment is older than `max_age_s`."""
        with self._lock:
            segment = self._segment
            if segment is None or (self._clock.now() - segment.since).total_seconds() < self._max_age_s:
                return None
            return self._finish()

    def close(self) -> None:
        """Close the open segment."""
        self.rotate()

    def _finish(self) -> Path | None:
        segment, self._segment = self._segment, None
        try:
            return segment.finish() if segment else None
        except OSError as error:
            self._unsynced = True
            raise TransientError(
                f"could not close {segment.path if segment else self._inbox}: {error.strerror}; its lines "
                "are written, and the next start of the gateway hands it to ingest"
            ) from error

    def _refused(self, size: int, error: OSError) -> TransientError:
        segment = self._segment
        if segment and segment.torn:
            segment.abandon()
            self._segment, self._unsynced = None, True
        where = segment.path if segment else self._inbox
        return TransientError(
            f"could not write a record of {size} bytes to {where}: {error.strerror}; the lines before it are "
            "whole. Free space on that disk"
        )

    def _open(self) -> "_Segment":
        now = self._clock.now()
        while True:
            self._opened += 1
            stem = f"{self._name}-{now:%Y%m%dT%H%M%SZ}-{os.getpid()}-{self._opened}.ndjson"
            segment = _Segment.create(self._inbox / stem, now)
            if segment:
                self._unnamed = True
                return segment


class _Segment:
    """One open file, unbuffered, with the number of bytes that are whole lines."""

    def __init__(self, target: Path, handle: int, since: datetime) -> None:
        self._target, self._handle, self.since = target, handle, since
        self.path = target.with_name(target.name + OPEN)
        self.size = 0
        self.torn = False
        """A half line could not be cut off."""

    @classmethod
    def create(cls, target: Path, since: datetime) -> "_Segment | None":
        """A new segment; None where the name was used, or `recover` took it before it was locked."""
        path = target.with_name(target.name + OPEN)
        if target.exists():
            return None
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            return None
        fcntl.flock(handle, fcntl.LOCK_EX)
        if not path.exists():
            os.close(handle)
            return None
        return cls(target, handle, since)

    def write(self, line: bytes) -> None:
        """Append a line whole, or leave the file as it was."""
        left = memoryview(line)
        try:
            while left:
                left = left[os.write(self._handle, left) :]
        except OSError:
            try:
                os.ftruncate(self._handle, self.size)
            except OSError:
                self.torn = True
            raise
        self.size += len(line)

    def duplicate(self) -> int:
        """Another handle of the file."""
        return os.dup(self._handle)

    def finish(self) -> Path | None:
        """Sync, close and give the final name; a segment without a record is removed."""
        try:
            if not self.size:
                self.path.unlink(missing_ok=True)
                return None
            os.fsync(self._handle)
            self.path.rename(self._target)
            return self._target
        finally:
            os.close(self._handle)

    def abandon(self) -> None:
        """Hand a segment that ends in half a line to ingest, which says so."""
        os.close(self._handle)
        with suppress(OSError):
            self.path.rename(self._target)


def recover(inbox: Path) -> tuple[Path, ...]:
    """Give segments whose writer is gone their final names, and say which; empty ones are removed.

    A last line may be cut: it stays as it is, and ingest puts it in quarantine.
    """
    found = []
    for path in sorted(inbox.glob(f"*.ndjson{OPEN}")):
        try:
            handle = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        else:
            if os.fstat(handle).st_size == 0:
                path.unlink(missing_ok=True)
            elif path.exists():
                found.append(path.rename(path.with_name(path.name.removesuffix(OPEN))))
        finally:
            os.close(handle)
    return tuple(found)
