"""Who works on a job at a URL: one worker, as `rsi.store.locks` is for a folder.

A claim beats: its holder rewrites it every few seconds. Who finds one watches it, by a clock of his own, and takes it
over once it has stood still for long enough. Two that take over in the same instant find out at the next beat; until
then both train the same steps, and neither has written ``complete.json``.
"""

import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import orjson

from rsi.errors import BusyError, RsiError
from rsi.update.depot import CLAIM, Depot

EVERY_S = 15.0
"""Between two beats."""
DEAD = 6
"""Beats missed, after which the holder counts as gone."""


@dataclass
class Claim:
    """A claim that is held."""

    depot: Depot
    every_s: float
    holder: str = field(default_factory=lambda: f"{socket.gethostname()} (process {os.getpid()})")
    token: str = field(default_factory=lambda: uuid.uuid4().hex)
    beats: int = 0
    lost: str | None = None
    """Who has it now, where it was taken over."""

    def check(self) -> None:
        """Raise BusyError where somebody else has taken over."""
        if self.lost is not None:
            raise BusyError(f"{self.depot.url} was taken over by {self.lost}; nothing more was written")

    def beat(self) -> None:
        """Say that the holder lives, or find out that another one does.

        A beat that fails, whatever for, is one that is missed: the next may come through.
        """
        with suppress(RsiError):
            said = self.depot.read(CLAIM)
            token, holder = _said_by(said)
            if said is not None and token != self.token:
                self.lost = holder
                return
            self.beats += 1
            self.depot.write(CLAIM, self._said())

    def taken(self) -> bool:
        """Whether it could be written, nobody having one."""
        return self.depot.create(CLAIM, self._said())

    def _said(self) -> bytes:
        return orjson.dumps({"holder": self.holder, "token": self.token, "beats": self.beats})


@contextmanager
def claim(depot: Depot, every_s: float = EVERY_S) -> Iterator[Claim]:
    """Hold the claim on a job, beating in a thread of its own.

    Raises:
        BusyError: somebody holds it who lives.
    """
    held = Claim(depot, every_s)
    while not held.taken():
        _watch(depot, every_s)
    over = threading.Event()

    def beating() -> None:
        while not over.wait(every_s) and held.lost is None:
            held.beat()

    thread = threading.Thread(target=beating, name="claim", daemon=True)
    thread.start()
    try:
        yield held
    finally:
        over.set()
        thread.join()
        if held.lost is None:
            # One that cannot be taken away now stands still, and is taken over.
            with suppress(RsiError):
                depot.remove(CLAIM)


def _watch(depot: Depot, every_s: float) -> None:
    """Wait until the claim that is there is gone, taking it away where its holder is."""
    first = depot.read(CLAIM)
    for _ in range(2 * DEAD):
        if first is None:
            return
        time.sleep(every_s / 2)
        now = depot.read(CLAIM)
        if now is not None and now != first:
            raise BusyError(f"{depot.url} is worked on by {_said_by(now)[1]}; nothing was done")
        first = now
    depot.remove(CLAIM)


def _said_by(claim: bytes | None) -> tuple[str, str]:
    """Token and name of a claim's holder; of a torn one nothing, and "somebody"."""
    try:
        told = orjson.loads(claim or b"")
        return str(told["token"]), str(told["holder"])
    except (ValueError, TypeError, KeyError):
        return "", "somebody"
