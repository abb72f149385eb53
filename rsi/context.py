"""What a stage works with: the places, the rules, the night's fixed input, and the world as parameters."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from rsi.ids import Digest
from rsi.ports import Clock, Engine, Judge, Progress, Trainer
from rsi.questions import Watched
from rsi.records import Record
from rsi.settings import Deployment, Home


class Start(Record):
    """The first record of a night: it fixes what the night reads; what comes later belongs to the next."""

    night: str
    champion: str
    """Version in service."""
    ordinal: int
    """Last ingested batch."""
    deployment: str
    """Digest of the deployment's settings."""
    previous: str | None
    """Digest of the last night's failure modes."""


class Base(NamedTuple):
    """The base model."""

    folder: Path
    digest: str


class Examiner(Protocol):
    """The gate, where it is a process of its own: the only one that is given the contracts' place."""

    def judge(self, context: "Context", candidate: Digest) -> Digest:
        """Have a candidate judged; the verdict's digest."""
        ...

    def watch(self, home: Home, night: str) -> Watched:
        """Have the version in service looked at; what came of it."""
        ...

    def fingerprints(self, home: Home) -> Path:
        """Have the home's copy of the suites' fingerprints brought up to date; where it lies."""
        ...


def nobody() -> Judge | None:
    """No judge."""
    return None


@dataclass(frozen=True)
class World:
    """What touches the world."""

    clock: Clock
    progress: Progress
    base: Callable[[], Base]
    """Finds the base model; asked only by stages that need it."""
    engine: Callable[[], Engine]
    """Makes an engine on it, the same one each time."""
    trainer: Trainer | None = None
    """Who works on training jobs; None for this process."""
    judge: Callable[[], Judge | None] = nobody
    """Makes the judge of answers; None where the deployment names none."""
    examiner: Examiner | None = None
    """Who judges candidates; None for this process."""


@dataclass(frozen=True)
class Context:
    """One night at work."""

    home: Home
    deployment: Deployment
    world: World
    start: Start
