"""A disk on which one operation goes wrong, or is the last one of its process."""

import builtins
import io
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, NoReturn

import pytest

ASKED = ("write", "fsync", "replace", "rename", "link", "truncate", "ftruncate", "pwrite")
"""What the code asks of `os` that a disk may refuse; writes of files come on top."""
CLEARED = ("unlink", "rmdir")
"""What a process may also die at."""
PATIENCE_S = 300
"""After which a child counts as hung."""


def failing(number: int) -> Callable[..., NoReturn]:
    """Raise what the system says with that errno, with the names that it was asked about."""

    def fail(name: str, *said: object) -> NoReturn:
        paths = [one for one in said if isinstance(one, str | os.PathLike)]
        raise OSError(number, os.strerror(number), *paths[:1], *((None, paths[1]) if len(paths) > 1 else ()))

    return fail


def dying(*_: object) -> None:
    """SIGKILL this process."""
    os.kill(os.getpid(), signal.SIGKILL)


class Raw(io.FileIO):
    """A file whose writes are counted."""

    count: Callable[..., None]

    def write(self, data: object, /) -> int:
        self.count("write")
        return super().write(data)  # type: ignore[arg-type]


@contextmanager
def disk(at: int, how: Callable[..., object] = dying, *, also: tuple[str, ...] = ()) -> Iterator[list[str]]:
    """Count operations of Python code on files; the one with number `at` goes wrong as `how` says; 0 for none.

    DuckDB and Arrow write past this: what a full disk does to them is tested where they are used.
    """
    seen: list[str] = []

    def count(name: str, *said: object) -> None:
        seen.append(name)
        if len(seen) == at:
            how(name, *said)

    real_open = io.open

    def opened(
        file: int | str | os.PathLike[str],
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Callable[[str, int], int] | None = None,
    ) -> IO[str] | IO[bytes]:
        if not set(mode) & set("wax"):
            return real_open(file, mode, buffering, encoding, errors, newline, closefd, opener)
        raw = Raw(file, mode.replace("b", ""), closefd, opener)  # type: ignore[arg-type]
        raw.count = count
        whole = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        return whole if "b" in mode else io.TextIOWrapper(whole, encoding or "utf-8", errors, newline)

    with pytest.MonkeyPatch.context() as patch:
        for name in (*ASKED, *also):
            patch.setattr(os, name, _counted(name, getattr(os, name), count))
        patch.setattr(io, "open", opened)
        patch.setattr(builtins, "open", opened)
        yield seen


def _counted(name: str, real: Callable[..., object], count: Callable[..., None]) -> Callable[..., object]:
    def asked(*said: object, **more: object) -> object:
        count(name, *said)
        return real(*said, **more)

    return asked


def killed(work: Callable[[], object], fault: str = "", at: int = 0) -> bool:
    """Do work in a forked child; whether it was killed at a fault point, or at its operation number `at`."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.environ["RSI_FAULT"] = fault
            with disk(at, also=CLEARED):
                work()
            code = 0
        finally:
            os._exit(code)
    return not finished(child)


def finished(child: int) -> bool:
    """Wait for a forked child; whether it came to its end, and not to a SIGKILL of its own."""
    deadline = time.monotonic() + PATIENCE_S
    while not (found := os.waitpid(child, os.WNOHANG))[0]:
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise AssertionError("a child hung")
        time.sleep(0.002)
    status = found[1]
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return False
    assert os.WEXITSTATUS(status) == 0, "the child failed"
    return True
