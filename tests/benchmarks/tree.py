"""Time and memory of a command with all the processes that it starts."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

EVERY_S = 0.1


class Cost(NamedTuple):
    """What a command took."""

    seconds: float
    peak_mb: float
    """Largest sum, over the processes of the tree, of memory that is not shared (PSS), seen every `EVERY_S`."""
    output: str


def run(arguments: Sequence[str], environment: Mapping[str, str]) -> Cost:
    """Run ``python …`` to its end."""
    begun = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, *arguments], env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True
    ) as process:
        peak = [0.0]
        over = threading.Event()
        watcher = threading.Thread(target=_watch, args=(process.pid, peak, over))
        watcher.start()
        output, _ = process.communicate()
        over.set()
        watcher.join()
    if process.returncode:
        raise RuntimeError(f"{' '.join(arguments)} ended with {process.returncode}")
    return Cost(time.perf_counter() - begun, peak[0], output)


def _watch(pid: int, peak: list[float], over: threading.Event) -> None:
    while not over.wait(EVERY_S):
        peak[0] = max(peak[0], sum(map(_pss_mb, _tree(pid))))


def _tree(pid: int) -> list[int]:
    found = [pid]
    for one in found:
        for tasks in Path(f"/proc/{one}/task").glob("*/children"):
            try:
                found.extend(int(child) for child in tasks.read_text().split())
            except OSError:
                continue
    return found


def _pss_mb(pid: int) -> float:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    return next(int(line.split()[1]) / 1024 for line in text.splitlines() if line.startswith("Pss:"))
