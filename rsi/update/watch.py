"""A watch over a job: somebody who notices that nothing moves any more.

Python cannot stop a thread that hangs in a model, a server or a verifier. Worlds and verifiers have time-outs of their
own; what is left over - a step in which nothing comes back at all - ends the process, after its record is written.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType

import torch

from rsi.records import Task
from rsi.update.practice import Around, Drawn, Groups, Practice, Rollout

LOOK_S = 5.0
"""Longest time between two looks."""


class Watch:
    """Calls `expired` from a thread of its own, once, when nobody has moved for `seconds`."""

    def __init__(self, seconds: float | None, expired: Callable[[], None]) -> None:
        """Watch between `with` and its end; None never expires."""
        self._seconds, self._expired = seconds, expired
        self._moves = 0
        self._over = threading.Event()

    def move(self) -> None:
        """Something came back."""
        self._moves += 1

    def __enter__(self) -> "Watch":
        self.move()
        if self._seconds is not None:
            threading.Thread(target=self._look, args=(self._seconds,), name="rsi-watch", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()

    def _look(self, seconds: float) -> None:
        every = min(seconds / 10, LOOK_S)
        seen, still, before = self._moves, 0.0, time.monotonic()
        while not self._over.wait(every):
            now = time.monotonic()
            # Time in which the whole process was stopped, or the machine asleep, is nobody's standing still.
            still = still + min(now - before, 2 * every) if seen == self._moves else 0.0
            seen, before = self._moves, now
            if still >= seconds:
                self._expired()
                return


class Watched(Around):
    """A `Practice` that tells a watch of all that comes back."""

    def __init__(self, practice: Practice, watch: Watch) -> None:
        """Pass on what `practice` does."""
        super().__init__(practice)
        self._watch = watch

    def draw(self, tasks: Sequence[Task], step: int, again: int = 0) -> Drawn:
        """Draw, and tell."""
        drawn = super().draw(tasks, step, again)
        self._watch.move()
        return _Moving(drawn, self._watch)

    def show(self, tasks: Sequence[Task]) -> Drawn:
        """Show, and tell."""
        drawn = super().show(tasks)
        self._watch.move()
        return _Moving(drawn, self._watch)


class _Moving:
    """A `Drawn` that tells of each part that was scored."""

    def __init__(self, drawn: Drawn, watch: Watch) -> None:
        self._drawn, self._watch = drawn, watch

    @property
    def groups(self) -> Groups:
        return self._drawn.groups

    def rollouts(self) -> Iterator[Rollout]:
        return self._drawn.rollouts()

    def score(self, rows: Sequence[int]) -> Iterator[tuple[list[int], torch.Tensor]]:
        return self._told(self._drawn.score(rows))

    def afresh(self, rows: Sequence[int]) -> Iterator[tuple[list[int], torch.Tensor]]:
        return self._told(self._drawn.afresh(rows))

    def _told(
        self, parts: Iterator[tuple[list[int], torch.Tensor]]
    ) -> Iterator[tuple[list[int], torch.Tensor]]:
        for part in parts:
            self._watch.move()
            yield part
