"""What the tools of chains say: all of it follows from SHA-256 of a salt, the tool and the code.

Every task has a salt of its own, drawn from its seed. Whoever has not the salt knows a result only by asking for it,
and what was learnt of one task's codes is wrong in every other task.
"""

import re
from random import Random
from typing import TypedDict

from rsi.ids import digest
from rsi.records import ToolCall

_SYLLABLES = tuple(first + second for first in "bdfgklmnprstvz" for second in "aiou")
_LONG = 3
"""Syllables of a code."""
_CODE = re.compile(f"(?:{'|'.join(_SYLLABLES)}){{{_LONG}}}")
CODES = len(_SYLLABLES) ** _LONG
"""How many there are: 175,616."""
LEAST, MOST = 100, 999
"""Values."""


class Answer(TypedDict):
    """What was given as the result."""

    result: str


class World(TypedDict):
    """All of it: the form of a task's `world` and of its expected state."""

    salt: str
    answers: list[Answer]
    """None at the start, one when it is over."""


def code(number: int) -> str:
    """The code of a number below `CODES`."""
    said = ""
    for _ in range(_LONG):
        number, place = divmod(number, len(_SYLLABLES))
        said += _SYLLABLES[place]
    return said


def is_code(text: str) -> bool:
    """Whether a text is written as codes are; every such text is a code."""
    return _CODE.fullmatch(text) is not None


def draw(random: Random, count: int) -> tuple[str, ...]:
    """So many codes, all different."""
    return tuple(map(code, random.sample(range(CODES), count)))


def after(salt: str, text: str) -> str:
    """The code that a code leads to."""
    return code(_keyed(salt, "next", text) % CODES)


def value(salt: str, text: str) -> int:
    """The value of a code."""
    return LEAST + _keyed(salt, "value", text) % (MOST + 1 - LEAST)


def act(world: World, call: ToolCall) -> World:
    """The world after a call; a look-up leaves it as it was."""
    if call.name != "answer":
        return world
    return World(
        salt=world["salt"], answers=[*world["answers"], Answer(result=str(call.arguments["result"]))]
    )


def _keyed(salt: str, tool: str, text: str) -> int:
    """64 bits."""
    return int(digest([salt, tool, text])[:16], 16)
