"""Processes that the demo, a server or a test starts: each in a session of its own, none left behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from rsi.errors import ContractError, RsiError, TransientError

GRACE_S = 15.0
"""Time to end by itself after SIGTERM, before SIGKILL."""


@dataclass(frozen=True)
class Process:
    """One started program and everything it starts in turn."""

    name: str
    popen: "subprocess.Popen[bytes]"
    log: Path
    """Where its output goes."""

    @property
    def ended(self) -> bool:
        """Whether it is gone."""
        return self.popen.poll() is not None

    def died(self) -> TransientError:
        """What to say when it is gone and should not be: the last line it wrote, and where the rest is."""
        lines = self.log.read_text(errors="replace").split("\n") if self.log.exists() else []
        last = next((line.strip() for line in reversed(lines) if line.strip()), "no output")
        return TransientError(
            f"{self.name} ended with exit code {self.popen.poll()}: {last[:300]} (see {self.log})"
        )

    def stop(self, grace_s: float = GRACE_S) -> None:
        """End the program and its session: SIGTERM, then SIGKILL to what is left."""
        self._signal(signal.SIGTERM)
        deadline = time.monotonic() + grace_s
        while time.monotonic() < deadline and not (self.ended and not _session(self.popen.pid)):
            time.sleep(0.05)
        self._signal(signal.SIGKILL)
        for pid in _session(self.popen.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.popen.wait()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.popen.pid, number)


@dataclass
class Processes:
    """All programs of one run, ended in the reverse order of their start."""

    logs: Path
    started: list[Process] = field(default_factory=list)

    def start(self, name: str, command: Sequence[str], env: Mapping[str, str]) -> Process:
        """Start a program with these variables added to ours; its output goes to ``<logs>/<name>.log``."""
        self.logs.mkdir(parents=True, exist_ok=True)
        log = self.logs / f"{name}.log"
        with log.open("ab") as output:
            popen = subprocess.Popen(
                list(command),
                env={**os.environ, **env},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        process = Process(name, popen, log)
        self.started.append(process)
        return process

    def wait(self, process: Process, ready: Callable[[], bool], seconds: float) -> None:
        """Wait until it is ready.

        Raises:
            TransientError: it ended, or took longer.
        """
        deadline = time.monotonic() + seconds
        while not ready():
            if process.ended:
                raise process.died()
            if time.monotonic() > deadline:
                raise TransientError(
                    f"{process.name} was not ready after {seconds:.0f} s (see {process.log})"
                )
            time.sleep(0.2)

    def check(self) -> None:
        """Raise TransientError naming a program that is gone."""
        for process in self.started:
            if process.ended:
                raise process.died()

    def stop(self) -> None:
        """End them all; a second Ctrl-C does not stop this."""
        before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            while self.started:
                self.started.pop().stop()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler or signal.SIG_DFL)

    def __enter__(self) -> "Processes":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self.started and kind is not None and issubclass(kind, KeyboardInterrupt):
            print("stopping what was started here; a few seconds", file=sys.stderr, flush=True)
        self.stop()


def patiently(ready: Callable[[], bool], seconds: float) -> bool:
    """Wait until something holds; whether it does."""
    deadline = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.5)
    return True


def _session(leader: int) -> list[int]:
    """Processes alive in the session that a process leads (``/proc/<pid>/stat``, fields 3 and 6)."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            state, _, _, session = path.read_text().rsplit(")", 1)[1].split()[:4]
            if int(session) == leader and state != "Z":
                found.append(int(path.parent.name))
    return found


@contextmanager
def stoppable() -> Iterator[None]:
    """Make SIGTERM and a closed terminal unwind like Ctrl-C, so that clean-up runs."""

    def stop(number: int, _: FrameType | None) -> None:
        raise KeyboardInterrupt(signal.Signals(number).name)

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)


def told(main: Callable[[], None]) -> int:
    """Run a program of this package; its exit code. An error of ours is one line."""
    try:
        with stoppable():
            main()
    except RsiError as error:
        print(f"rsi: {error}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        print(f"rsi: {error.strerror or error}: {error.filename or 'no file named'}", file=sys.stderr)
        return TransientError.exit_code
    except ImportError as error:
        print(f"rsi: {error.name} is not installed: pip install 'rsi[all]'", file=sys.stderr)
        return ContractError.exit_code
    except KeyboardInterrupt:
        print("rsi: stopped", file=sys.stderr)
        return 130
    return 0
