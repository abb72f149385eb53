"""Tasks of every world, and what a request says when its words are taken away."""

import re
from collections.abc import Iterable
from functools import cache
from itertools import combinations
from string import Formatter

from rsi.environments import kind
from rsi.environments.chains.tasks import LONG
from rsi.environments.desk.tasks import GENERATOR
from rsi.environments.generator import Generator
from rsi.records import Pool, ToolCall, WorldTask
from rsi.verifiers import final_state

GENERATORS: dict[str, Generator] = {"chains": LONG, "desk": GENERATOR}
MANY = {"chains": 402, "desk": 1002}
"""Tasks of a pool."""


@cache
def made(name: str) -> dict[Pool, tuple[WorldTask, ...]]:
    """Tasks of every pool of a world."""
    return {pool: GENERATORS[name].tasks(MANY[name], 5, pool) for pool in Pool}


def scored(one: WorldTask, calls: Iterable[ToolCall]) -> float | None:
    """What the state of the real world is worth after these calls."""
    world = kind(one.environment).open()
    world.reset(one, 0)
    for call in calls:
        world.call(call.name, call.arguments)
    outcome = final_state.check(world.final_state(), one.expected)
    world.close()
    return outcome.score


def content(one: WorldTask) -> tuple[str, dict[str, str]]:
    """The family of a request and the values in it, read off the request's words."""
    family = {"refund_denied": "refund_full"}.get(one.kind, one.kind)
    phrasings = GENERATORS[one.environment].phrasings[family]
    return family, next(filter(None, (_values(phrasing, one.request) for phrasing in phrasings)))


def shared(name: str) -> set[object]:
    """What pools of a world have in common: requests, worlds, and what a request asks for in other words."""
    asked = {pool: {one.request for one in some} for pool, some in made(name).items()}
    starts = {pool: {one.world for one in some} for pool, some in made(name).items()}
    contents = {pool: {_said(one) for one in some} for pool, some in made(name).items()}
    pairs = list(combinations(Pool, 2))
    return {
        *(each for one, other in pairs for each in asked[one] & asked[other]),
        *(each for one, other in pairs for each in starts[one] & starts[other]),
        *(contents[Pool.TRAIN] & (contents[Pool.HELD_OUT] | contents[Pool.REWORDED])),
    }


def _said(one: WorldTask) -> tuple[str, tuple[tuple[str, str], ...]]:
    family, values = content(one)
    return family, tuple(sorted(values.items()))


def _values(phrasing: str, text: str) -> dict[str, str] | None:
    """What stands in the fields of a phrasing, if the text is one of its."""
    pattern = "".join(
        re.escape(before) + (f"(?P<{field}>[A-Za-z0-9, ]+?)" if field else "")
        for before, field, _, _ in Formatter().parse(phrasing)
    )
    found = re.fullmatch(pattern, text)
    return found.groupdict() if found else None
