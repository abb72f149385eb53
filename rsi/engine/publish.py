"""Publishing an adapter to every replica, and proving that it acts there.

An engine that answers 200 may still serve the bare base: an adapter with other module names, or one dropped in
a restart, changes nothing and breaks nothing. So after each load fixed prompts are asked with and without the
adapter: the two must differ, and the first must agree with what training measured.
"""

from collections.abc import Sequence
from contextlib import suppress
from math import isfinite
from pathlib import Path
from typing import NamedTuple, Protocol

from rsi.errors import RefusedError, RsiError
from rsi.ports import Engine, Prompt

PROBES = (
    "What would be a good name for a quiet cat?",
    "Turn off the lights in the kitchen, please.",
    "Write a function that reverses a list.",
    "A page with a form for two names and a button.",
)
"""User turns that every adapter is probed with, through the route prompt of its harness."""

EFFECT = 1e-3
"""Least largest difference (nats) between adapter and base."""
AGREEMENT = 0.05
"""Largest difference (nats) between replica and training."""

Rows = Sequence[Sequence[float]]


class Replica(Protocol):
    """One server or engine that adapters are published to."""

    def load(self, name: str, folder: Path) -> None:
        """Load an adapter under its name; a second time changes nothing."""
        ...

    def unload(self, name: str) -> None:
        """Forget it."""
        ...

    def probe(self, prompts: Sequence[Prompt], choices: Sequence[str], adapter: str | None) -> Rows:
        """Log-probs of the choices, one row a prompt."""
        ...


class EngineReplica:
    """An engine that this process talks to."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def load(self, name: str, folder: Path) -> None:
        self._engine.load(name, folder)

    def unload(self, name: str) -> None:
        self._engine.unload(name)

    def probe(self, prompts: Sequence[Prompt], choices: Sequence[str], adapter: str | None) -> Rows:
        return self._engine.choose(prompts, choices, adapter)


class Effect(NamedTuple):
    """What the probe found on one replica, in nats."""

    effect: float
    """Largest difference between adapter and base."""
    disagreement: float
    """Largest difference between adapter here and adapter in training."""


def furthest(one: Rows, other: Rows) -> float:
    """Largest absolute difference between two tables of log-probs."""
    return max(
        abs(a - b) for left, right in zip(one, other, strict=True) for a, b in zip(left, right, strict=True)
    )


def publish(
    replicas: Sequence[Replica],
    name: str,
    folder: Path,
    prompts: Sequence[Prompt],
    choices: Sequence[str],
    measured: Rows,
) -> tuple[Effect, ...]:
    """Load and probe an adapter on every replica; on any failure unload it everywhere.

    Raises:
        RefusedError: a replica answers as the base would, or not as training measured.
    """
    touched: list[Replica] = []
    try:
        effects = []
        for replica in replicas:
            touched.append(replica)
            replica.load(name, folder)
            acting, bare = replica.probe(prompts, choices, name), replica.probe(prompts, choices, None)
            if not all(isfinite(value) for row in (*acting, *bare) for value in row):
                raise RefusedError(
                    f"adapter {name} cannot be proven to act: a log-prob on a probe is not finite"
                )
            found = Effect(furthest(acting, bare), furthest(acting, measured))
            if found.effect < EFFECT:
                raise RefusedError(
                    f"adapter {name} is loaded but does not act: its answers differ from the base's by "
                    f"{found.effect:.2g} nats, expected at least {EFFECT}"
                )
            if not found.disagreement <= AGREEMENT:
                raise RefusedError(
                    f"adapter {name} answers otherwise than in training: {found.disagreement:.2g} nats apart, "
                    f"at most {AGREEMENT} allowed"
                )
            effects.append(found)
        return tuple(effects)
    except BaseException:
        for replica in touched:
            with suppress(RsiError):
                replica.unload(name)
        raise
