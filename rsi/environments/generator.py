"""Tasks of a world from a seed: what is drawn is put into a pool, worded, and carried out.

What a request asks (its family and the values in it, whatever the words and whatever the world) is hashed into a pool,
so that nothing asked of a held-out task is ever trained on, in no wording. `Pool.REWORDED` is asked in phrasings of
its own besides.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count as counting
from itertools import islice
from random import Random
from typing import Generic, NamedTuple, TypeVar

from rsi.ids import canonical, digest
from rsi.records import Argument, Pool, ToolCall, WorldTask

KEPT = 2
"""The last phrasings of each family, which are never used in training."""
_POOLS = (*(Pool.TRAIN,) * 8, Pool.HELD_OUT, Pool.REWORDED)
Slots = Mapping[str, Argument]
State = TypeVar("State")


class Draft(NamedTuple):
    """A task before it is worded; its world was made to fit."""

    kind: str
    family: str
    slots: Slots
    oracle: tuple[ToolCall, ...]


@dataclass(frozen=True)
class Generator(Generic[State]):
    """Makes the tasks of one environment."""

    environment: str
    phrasings: Mapping[str, Sequence[str]]
    """Family -> how it is asked, with the slots as fields."""
    draw: Callable[[Random, int], tuple[State, Draft]]
    """(chance, level) -> a world and what is asked in it."""
    act: Callable[[State, ToolCall], State]
    """The world after a call that it allows; the one that is given stays as it is."""
    levels: Sequence[int]
    """Those that come in turn where no others are asked for."""

    def task(self, seed: int, level: int, pool: Pool) -> WorldTask:
        """The task of a seed; equal arguments give equal bytes."""
        for attempt in counting():
            random = Random(f"{self.environment}:{seed}:{level}:{attempt}")
            world, draft = self.draw(random, level)
            if self.pool_of(draft.family, draft.slots) is pool:
                return self._worded(draft, world, level, pool, random)
        raise AssertionError("unreachable")

    def tasks(self, count: int, seed: int, pool: Pool, levels: Sequence[int] = ()) -> tuple[WorldTask, ...]:
        """`count` tasks of which no two ask the same in the same words, levels in turn."""
        return tuple(islice(self._distinct(seed, pool, levels or self.levels), count))

    def pool_of(self, family: str, slots: Slots) -> Pool:
        """Where what is asked lies: eight tenths in training."""
        return _POOLS[int(digest([self.environment, family, dict(slots)])[:8], 16) % len(_POOLS)]

    def _distinct(self, seed: int, pool: Pool, levels: Sequence[int]) -> Iterator[WorldTask]:
        seen = set[str]()
        for place in counting():
            number = int(digest([seed, place])[:12], 16)
            made = self.task(number, levels[len(seen) % len(levels)], pool)
            if made.request not in seen:
                seen.add(made.request)
                yield made

    def _worded(self, draft: Draft, world: State, level: int, pool: Pool, random: Random) -> WorldTask:
        phrasings = self.phrasings[draft.family]
        usable = phrasings[-KEPT:] if pool is Pool.REWORDED else phrasings[:-KEPT]
        request = random.choice(usable).format(**draft.slots)
        state = world
        for call in draft.oracle:
            state = self.act(state, call)
        start, expected = canonical(world).decode(), canonical({"state": state}).decode()
        return WorldTask(
            task_id=f"w-{digest([self.environment, start, request, expected])[:16]}",
            environment=self.environment,
            world=start,
            request=request,
            expected=expected,
            oracle=draft.oracle,
            level=level,
            kind=draft.kind,
            pool=pool,
        )


def call(tool: str, /, **arguments: Argument) -> ToolCall:
    """A call of an oracle."""
    return ToolCall(name=tool, arguments=arguments)
