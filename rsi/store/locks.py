"""The two OS locks: *night*, held to the night's end, and *store*, held for one batch.

A lock is `flock` on a file under ``locks/``; it dies with its process, whatever the file says. The file names
the holder for the message only. The store lock is never held across a model call or a job.
"""

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import orjson

from rsi.errors import BusyError

_held: dict[Path, tuple[str, int]] = {}
"""Lock -> its holder, and the thread that took it."""


def holder(path: Path) -> str:
    """Who holds the lock, in words; "nobody" where the file is empty."""
    try:
        said = orjson.loads(path.read_bytes())
        return f"{said['holder']} (process {said['pid']}, since {said['since']})"
    except (OSError, ValueError, KeyError, TypeError):
        return "nobody that left a name"


@contextmanager
def hold(path: Path, who: str, since: str, wait_s: float = 0.0, *, any_thread: bool = False) -> Iterator[None]:
    """Hold a lock, or raise BusyError naming the holder after `wait_s` seconds.

    The same holder in the same thread may hold it again; with `any_thread` in any thread of the process, as a flow and
    its subflows do.
    """
    path = path.resolve()
    known, thread = _held.get(path), threading.get_ident()
    if known is not None and known[0] == who and (any_thread or known[1] == thread):
        yield
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        _acquire(handle, path, wait_s)
        _say(handle, orjson.dumps({"holder": who, "pid": os.getpid(), "since": since}))
        _held[path] = (who, thread)
        try:
            yield
        finally:
            del _held[path]
            _say(handle, b"")
    finally:
        os.close(handle)


def _say(handle: int, text: bytes) -> None:
    """Write the holder's name; a disk that refuses it takes nothing from the lock."""
    with suppress(OSError):
        os.ftruncate(handle, 0)
        os.pwrite(handle, text, 0)


def _acquire(handle: int, path: Path, wait_s: float) -> None:
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise BusyError(f"the {path.stem} lock is held by {holder(path)}; nothing was done") from None
            time.sleep(0.05)
