"""Who is compared at the gate, and by what means they are asked."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from rsi.gate.bench import Bench, unspoken
from rsi.gate.kept import Kept
from rsi.harness.hcp import Harness
from rsi.ports import Dialogue, Engine, Progress, silent
from rsi.prices import Prices
from rsi.records import Version
from rsi.verifiers import VERIFIERS, Verifiers


@dataclass(frozen=True)
class Contest:
    """The versions of a question."""

    champion: Version
    candidate: Version
    anchor: Version | None = None
    """The fixed version that guards are compared with as well; there exactly when the contract names one."""

    @property
    def versions(self) -> tuple[Version, ...]:
        """Champion, candidate and, where there is one, the anchor."""
        return (self.champion, self.candidate, *([self.anchor] if self.anchor else []))

    def itself(self) -> "Contest":
        """The champion in every place."""
        return Contest(self.champion, self.champion, self.champion if self.anchor else None)


@dataclass(frozen=True)
class Means:
    """What versions are asked with, and their answers judged by."""

    engine: Engine
    harness_of: Callable[[str], Harness]
    """The harness with a digest."""
    dialogue: Callable[[], Dialogue] = unspoken
    """How the base writes a conversation that grows; asked for by suites that are played."""
    verifiers: Verifiers = field(default_factory=lambda: VERIFIERS)
    """The table, its judge bound to a model where a suite is judged by one."""
    progress: Progress = silent
    prices: Prices = field(default_factory=Prices)
    """What the engine's answers cost."""
    stopwatch: Callable[[], float] = monotonic
    """Seconds, for what answers take."""

    def bench(self, kept: Path | None) -> Bench:
        """The engine, asked each question once; `kept` is the file of replies that were given before a crash."""
        replies = Kept(kept, self.engine.base) if kept else None
        return Bench(self.engine, self.dialogue, kept=replies, stopwatch=self.stopwatch)
