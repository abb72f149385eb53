"""A formula that equals the expected one, by Math-Verify (extra `math`) in a killable process.

`expected` is a formula, in LaTeX or as plain numbers. The answer's last formula counts, one in ``\\boxed{}`` first.
The process is confined like that of tested code, serves many answers and is killed when one takes too long:
that is an *error* of the machinery and not a wrong answer, as simplification may hang on a right one. The bound
is kept from outside, so that it holds in any thread.
"""

import atexit
import importlib.util
import os
import select
import shutil
import socket
import subprocess
import sysconfig
import tempfile
import threading
from contextlib import suppress

from rsi.records import Outcome
from rsi.verifiers.outcomes import empty, error, invalid, scored, wrong_format
from rsi.verifiers.sandbox.confine import Limits
from rsi.verifiers.sandbox.process import kill, start
from rsi.verifiers.sandbox.wire import GoneError, Line

LONGEST = 20_000
"""Most characters of an answer or an expectation."""
SECONDS = 10.0
"""For one comparison."""
_START_SECONDS = 60.0


class Worker:
    """The process, started at the first question and again after each that killed it; one question at a time."""

    def __init__(self, seconds: float = SECONDS) -> None:
        """`seconds` bound one comparison."""
        self._seconds = seconds
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._line: Line | None = None
        self._folder = ""
        self._owner = 0

    def ask(self, answer: str, expected: str) -> str:
        """right, wrong, unread or broken.

        Raises:
            TimeoutError: it took too long; the process is gone.
            GoneError: the process ended.
            OSError: no process could be started.
        """
        with self._lock:
            try:
                line = self._ready()
                line.send([answer, expected])
                return self._receive(line, self._seconds)
            except (OSError, GoneError):
                self._end()
                raise

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._end()

    def _ready(self) -> Line:
        if self._line is not None and self._owner == os.getpid():
            return self._line
        here, there = socket.socketpair()
        self._socket, self._owner, self._folder = here, os.getpid(), tempfile.mkdtemp(prefix="rsi-math-")
        paths = tuple(sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}))
        limits = Limits(cpu_seconds=1 << 20, memory=2 << 30, readable=paths)
        order = {"folder": self._folder, "calls": there.fileno()}
        self._child = start("mathematics", order, limits, (there.fileno(),))
        there.close()
        line = Line(here.fileno())
        self._receive(line, _START_SECONDS)
        self._line = line
        return line

    def _receive(self, line: Line, seconds: float) -> str:
        assert self._socket
        if not select.select([self._socket], [], [], seconds)[0]:
            raise TimeoutError(f"no answer in {seconds:g} s")
        return str(line.receive())

    def _end(self) -> None:
        child, self._child, self._line = self._child, None, None
        if child and self._owner == os.getpid():
            kill(child)
            with suppress(OSError):
                shutil.rmtree(self._folder)
        if self._socket:
            self._socket.close()
            self._socket = None


_WORKER = Worker()
atexit.register(_WORKER.close)


def check(answer: str, expected: str, worker: Worker = _WORKER) -> Outcome:
    """Right when both formulas are equal."""
    if not expected.strip() or len(expected) > LONGEST:
        return invalid("expected is no formula")
    if not answer.strip():
        return empty()
    if len(answer) > LONGEST:
        return wrong_format(f"the answer has {len(answer)} characters, at most {LONGEST} are read")
    if importlib.util.find_spec("math_verify") is None:
        return error("Math-Verify is not installed: pip install 'rsi[math]'")
    try:
        said = worker.ask(answer, expected)
    except TimeoutError as late:
        return error(f"the comparison was given up: {late}")
    except (OSError, GoneError) as problem:
        return error(f"the process for formulas failed: {problem}")
    if said == "broken":
        return invalid("expected holds no formula that can be read")
    return wrong_format("the answer holds no formula") if said == "unread" else scored(said == "right")


def gold(expected: str) -> str | None:
    """The formula itself, delimited."""
    if not expected.strip() or len(expected) > LONGEST:
        return None
    return expected if any(mark in expected for mark in ("$", "\\boxed", "\\(", "\\[")) else f"${expected}$"
