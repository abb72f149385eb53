"""Named crash points, off unless armed.

``RSI_FAULT=expand.before_freeze`` kills the process (SIGKILL) the first time that point is reached;
``RSI_FAULT=expand.before_freeze:enospc`` raises "no space left on device" there instead, and
``RSI_FAULT=expand.before_freeze#3`` waits for the third time. Tests collect the points from the source text
(`points`), so that a new point is covered from the day it is written.
"""

import errno
import os
import re
import signal
from collections import Counter
from pathlib import Path

_reached: Counter[str] = Counter()
"""How often a point was reached, by how it was armed: who is forked from a process that failed there dies there too."""
_POINT = re.compile(r'faults\.point\("([a-z_.]+)"\)')


def point(name: str) -> None:
    """Do nothing, or fail in the armed way when `name` is armed."""
    armed = os.environ.get("RSI_FAULT", "")
    if not armed:
        return
    where, _, how = armed.partition(":")
    where, _, turn = where.partition("#")
    if where != name:
        return
    _reached[armed] += 1
    if _reached[armed] != int(turn or 1):
        return
    if how == "enospc":
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), name)
    os.kill(os.getpid(), signal.SIGKILL)


def points() -> tuple[str, ...]:
    """Every point named in the package's source, in order of file and place."""
    root = Path(__file__).parent
    return tuple(
        name
        for path in sorted(root.rglob("*.py"))
        if path != Path(__file__)
        for name in _POINT.findall(path.read_text())
    )
