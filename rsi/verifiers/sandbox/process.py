"""The parent's side: start confined interpreters, wait for a verdict, kill them whatever they do."""

import json
import os
import secrets
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from rsi.verifiers.sandbox.confine import Limits

SLICE = 0.1
"""Seconds between two looks at the processes. A longer pause (a suspended machine) counts as one."""
DISK = 16 << 20
"""Most bytes that may lie in the folder; looked at every slice."""
ENTRIES = 1000
"""Most files that may lie there."""
_VERDICT = 4096


class Bounds(NamedTuple):
    """What one trial may take."""

    wall_seconds: float = 20.0
    limits: Limits = Limits()


class Ended(NamedTuple):
    """How a trial ended."""

    kind: str
    """passed, failed, broken, or late."""
    why: str


def bare() -> list[str]:
    """A Python without site packages, user folder or script folder, that writes no byte code."""
    return [sys.executable, "-s", "-P", "-S", "-B"]


def try_out(code: str, tests: str, bounds: Bounds) -> Ended:
    """Run tests against code, each in a process of its own.

    Raises:
        OSError: a process, pipe or folder could not be made.
    """
    with _folders() as (ours, theirs):
        (theirs / "solution.py").write_text(code, "utf-8")
        (ours / "tests.py").write_text(tests, "utf-8")
        nonce = secrets.token_hex(16)
        here, there = socket.socketpair()
        reader, writer = os.pipe()
        running: list[subprocess.Popen[bytes]] = []
        try:
            tested = {"file": str(theirs / "solution.py"), "calls": there.fileno(), "folder": str(theirs)}
            running.append(start("tested", tested, bounds.limits, (there.fileno(),)))
            trial = {"file": str(ours / "tests.py"), "calls": here.fileno(), "folder": str(ours)}
            trial |= {"verdict": writer, "nonce": nonce}
            running.append(start("trial", trial, bounds.limits, (here.fileno(), writer)))
            here.close()
            there.close()
            os.close(writer)
            said = _verdict(reader, bounds.wall_seconds, theirs)
        finally:
            for one in running:
                kill(one)
            os.close(reader)
            with suppress(OSError):
                here.close()
                there.close()
    return _ended(said, nonce, running[0])


def start(
    role: str, order: Mapping[str, object], limits: Limits, handles: tuple[int, ...]
) -> subprocess.Popen[bytes]:
    """A child in a session of its own, with an empty environment, told its order."""
    child = subprocess.Popen(
        [*bare(), str(Path(__file__).parent)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE if role == "probe" else subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=str(order["folder"]),
        env={"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"},
        pass_fds=handles,
        start_new_session=True,
    )
    assert child.stdin
    with suppress(BrokenPipeError):
        child.stdin.write(json.dumps({"role": role, "limits": limits._asdict(), **order}).encode())
        child.stdin.close()
    return child


def kill(child: "subprocess.Popen[bytes]") -> None:
    """End a child and every process of its session's group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def guards() -> tuple[str, ...]:
    """What confines a child on this machine: limits, and landlock, seccomp or the weaker audit hook."""
    with _folders() as (ours, _):
        child = start("probe", {"folder": str(ours)}, Limits(), ())
        assert child.stdout
        said = child.stdout.read()
        child.wait()
    return tuple(json.loads(said))


@contextmanager
def _folders() -> Iterator[tuple[Path, Path]]:
    root = Path(tempfile.mkdtemp(prefix="rsi-trial-"))
    try:
        for name in ("tests", "code"):
            (root / name).mkdir()
        yield root / "tests", root / "code"
    finally:
        with suppress(OSError):
            shutil.rmtree(root)


def _verdict(reader: int, wall_seconds: float, folder: Path) -> bytes | None:
    """What comes out of the pipe; None where the time or the disk runs out first."""
    left, said = wall_seconds, b""
    while left > 0:
        before = time.monotonic()
        if select.select([reader], [], [], SLICE)[0]:
            part = os.read(reader, _VERDICT)
            said += part
            if not part or said.endswith(b"\n") or len(said) > _VERDICT:
                return said
        left -= min(time.monotonic() - before, 2 * SLICE)
        if _full(folder):
            return None
    return None


def _full(folder: Path) -> bool:
    """Whether more lies in the folder than may."""
    size = entries = 0
    for root, folders, files in os.walk(folder):
        entries += len(files) + len(folders)
        if entries > ENTRIES:
            return True
        for name in files:
            with suppress(OSError):
                size += (Path(root) / name).lstat().st_size
    return size > DISK


def _ended(said: bytes | None, nonce: str, tested: "subprocess.Popen[bytes]") -> Ended:
    if said is None:
        return Ended("late", "it ran past its time or filled its folder")
    try:
        found = json.loads(said)
    except ValueError:
        return Ended("failed", "the tests' process ended without a verdict")
    if not secrets.compare_digest(found["nonce"], nonce):
        return Ended("failed", "the verdict is not that of the tests")
    code = tested.returncode
    ended_by = f" ({signal.Signals(-code).name})" if code < 0 and code != -signal.SIGKILL else ""
    return Ended(found["kind"], found["why"] + ended_by)
