"""Items from the generator of an environment: episodes of several turns, judged by the state the world ends in."""

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from rsi.environments import ENVIRONMENTS, kind
from rsi.gate.contract import Sha256
from rsi.gate.suites.lines import OWN
from rsi.records import Item, Pool, Record
from rsi.tasks.worlds import HOP, VERIFIER, task_of

HARDEST = 3
"""Level from which an item counts as hard: a condition decides."""


class Worlds(Record):
    """``[items]`` of a suite that is played."""

    HOP: ClassVar = HOP
    VERIFIER: ClassVar = VERIFIER

    source: Literal["environment"]
    environment: str
    pool: Literal[Pool.HELD_OUT, Pool.REWORDED]
    """What training never asks, in its phrasings or in phrasings that it never uses."""
    fresh: bool = False
    """Whether every question to the gate draws items of its own, from a secret seed."""
    seed: int | None = None
    """Of frozen items."""
    count: int = Field(ge=1)
    pin: Sha256 | None = Field(None, alias="digest")
    """Digest of frozen items as they are drawn (key `digest`); with another the suite is refused."""

    @model_validator(mode="after")
    def _is_there(self) -> Self:
        if self.environment not in ENVIRONMENTS:
            known = ", ".join(sorted(ENVIRONMENTS))
            raise ValueError(f"no environment is called {self.environment!r}; there are {known}")
        if {self.fresh, self.seed is None, self.pin is None} not in ({True}, {False}):
            raise ValueError("frozen items have a seed and a digest, fresh ones (fresh = true) have neither")
        return self

    def seeded(self, seed: int) -> Self:
        """The same source, to draw other items."""
        return self.model_copy(update={"seed": seed})

    def draw(self) -> tuple[Item, ...]:
        """The items; each stands alone, its world its own. None where nobody gave fresh ones a seed."""
        if self.seed is None:
            return ()
        world = kind(self.environment)
        shown, found = world.open(), []
        for one in world.tasks(self.count, self.seed, self.pool):
            task = task_of(one, shown)
            found.append(
                Item(
                    item_id=one.task_id,
                    messages=task.messages,
                    expected=task.expected,
                    cluster=one.task_id,
                    source=OWN,
                    hard=one.level >= HARDEST,
                    world=task.world,
                )
            )
        shown.close()
        return tuple(found)
