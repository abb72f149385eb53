"""Progress of long work for a person: how far, how it goes, how long it will take; a bar in a terminal."""

import atexit
import re
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console

from rsi.report.words import duration, inert_terminal

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

err = Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)
"""Where progress and warnings go."""


_TOLD = re.compile(r"(.+?): (\d+) of (\d+)(?: \((.*)\))?(?:, [^()]+ left)?", re.DOTALL)


class _Began(NamedTuple):
    at: float
    done: int


class Pace:
    """How fast each kind of work goes."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` counts seconds."""
        self._clock = clock
        self._began: dict[str, _Began] = {}

    def left(self, what: str, done: int, total: int) -> float | None:
        """Seconds that the rest takes at the mean speed since it was first asked; None where that is not known yet.

        Work that came to its end begins anew when it is told of again.
        """
        if done >= total:
            self._began.pop(what, None)
            return None
        now = self._clock()
        began = self._began.get(what)
        if began is None or done < began.done:
            began = self._began[what] = _Began(now, done)
        gone = done - began.done
        return (now - began.at) / gone * (total - done) if gone else None


def told(what: str, done: int, total: int, note: str = "", left: float | None = None) -> str:
    """``update: 12 of 160 (reward 0.52), 4 min left``."""
    noted = f" ({note})" if note else ""
    return f"{what}: {done} of {total}{noted}" + ("" if left is None else f", {duration(left)} left")


def heard(description: str) -> tuple[str, int, int, str] | None:
    """What a text of `told` says: what, done, total and note; None for another text."""
    said = _TOLD.fullmatch(description)
    return (said[1], int(said[2]), int(said[3]), said[4] or "") if said else None


class TerminalProgress:
    """A bar on a terminal; elsewhere a line every tenth of the way."""

    def __init__(self, console: Console = err) -> None:
        """Draw on `console`."""
        self._console, self._pace = console, Pace()
        self._tenths: dict[str, int] = {}
        self._bars: dict[str, TaskID] = {}
        self._drawn: Progress | None = None

    def __call__(self, what: str, done: int, total: int, note: str = "") -> None:
        left = self._pace.left(what, done, total)
        if self._console.is_terminal:
            self._draw(what, done, total, note, left)
            return
        tenth = 10 * done // max(total, 1)
        if self._tenths.get(what) != tenth:
            self._tenths[what] = tenth
            self._console.print(inert_terminal(told(what, done, total, note, left)))

    def _draw(self, what: str, done: int, total: int, note: str, left: float | None) -> None:
        """Move the bar of `what`; the display ends with the last bar, and leaves it standing."""
        if self._drawn is None:
            self._drawn = _bars(self._console)
            self._drawn.start()
            atexit.register(self._end)
        if what not in self._bars:
            self._bars[what] = self._drawn.add_task(inert_terminal(what), total=total, said="")
        rest = f"{duration(left)} left" if left is not None else ""
        said = " · ".join(filter(None, (rest, inert_terminal(note))))
        self._drawn.update(self._bars[what], completed=done, total=total, said=said)
        self._drawn.refresh()
        if all(task.finished for task in self._drawn.tasks):
            self._end()

    def _end(self) -> None:
        """Give the terminal back, also where the work was given up."""
        if self._drawn is not None:
            self._drawn.stop()
            atexit.unregister(self._end)
            self._drawn, self._bars = None, {}


def _bars(console: Console) -> "Progress":
    """What, a bar, how far, and the rest; drawn only when something is told.

    What is printed meanwhile goes above the bars where it goes to a terminal, and else where it was sent.
    """
    from rich.progress import BarColumn, Progress, TextColumn

    said = TextColumn("{task.fields[said]}", markup=False)
    count = TextColumn("{task.completed} of {task.total}", markup=False)
    name = TextColumn("{task.description}", markup=False)
    above = sys.stdout.isatty()
    return Progress(
        name, BarColumn(24), count, said, console=console, auto_refresh=False, redirect_stdout=above
    )
