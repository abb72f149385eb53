"""Tasks for chains, made from a seed: codes, what is asked of them, and the look-ups that tell it.

The level of a task is its depth: the least number of look-ups from which its answer follows. The answer, a code or a
whole number, is one more call. It stands neither in the request nor in a result before the last, so that whoever stops
a look-up short has to guess: one code in 175,616, or a number that comes up once in 360 tasks at most. A look-up that
only chooses what is looked up last can be skipped by luck: who takes either side of a fork is right every other time.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import NamedTuple

from rsi.environments.chains import world as keyed
from rsi.environments.chains.phrasings import PHRASINGS
from rsi.environments.chains.world import World
from rsi.environments.generator import Draft, Generator, Slots, call
from rsi.records import ToolCall

DEEPEST = 6


class Look:
    """Somebody who looks codes up, and notes how."""

    def __init__(self, salt: str) -> None:
        self._salt = salt
        self.calls: list[ToolCall] = []
        self.results: list[str] = []

    def after(self, code: str) -> str:
        """The next code."""
        return self._noted(call("next", code=code), keyed.after(self._salt, code))

    def value(self, code: str) -> int:
        """The code's value."""
        return int(self._noted(call("value", code=code), str(keyed.value(self._salt, code))))

    def along(self, code: str, steps: int) -> str:
        """The code so many steps on."""
        for _ in range(steps):
            code = self.after(code)
        return code

    def _noted(self, one: ToolCall, result: str) -> str:
        self.calls.append(one)
        self.results.append(result)
        return result


class Family(NamedTuple):
    """One sort of question."""

    depths: range
    codes: Callable[[int], int]
    """Depth -> how many codes are named."""
    slots: Callable[[Sequence[str], int], Slots]
    """(codes, depth) -> what the phrasings name."""
    solve: Callable[[Look, Sequence[str], int], str | int]
    """(look-ups, codes, depth) -> the answer, after `depth` look-ups."""


_ENDS = {str(keyed.LEAST), str(keyed.MOST)}
"""Values that no other can be beyond."""


def _draw(random: Random, level: int) -> tuple[World, Draft]:
    names = [name for name, one in FAMILIES.items() if level in one.depths]
    while True:
        name, salt = random.choice(names), f"{random.getrandbits(128):032x}"
        family = FAMILIES[name]
        codes = keyed.draw(random, family.codes(level))
        look = Look(salt)
        result = str(family.solve(look, codes, level))
        told = (*codes, *look.results)
        # Behind the highest number that there is nobody need look for a higher one.
        if len(set(told)) == len(told) and result not in told[:-1] and not _ENDS & set(told):
            oracle = (*look.calls, call("answer", result=result))
            return World(salt=salt, answers=[]), Draft(name, name, family.slots(codes, level), oracle)


def _one(codes: Sequence[str], depth: int) -> Slots:
    return {"code": codes[0]}


def _way(short: int) -> Callable[[Sequence[str], int], Slots]:
    """A code, and how far to go from it: so many steps less than the depth."""
    return lambda codes, depth: {"code": codes[0], "steps": _steps(depth - short)}


def _list(codes: Sequence[str], depth: int) -> Slots:
    return {"codes": f"{', '.join(codes[:-1])} and {codes[-1]}"}


def _fork(codes: Sequence[str], depth: int) -> Slots:
    steps = {"steps": _steps(depth - 2)} if depth > 2 else {}
    return {"code": codes[0], "even": codes[1], "odd": codes[2], **steps}


def _steps(count: int) -> str:
    return "1 step" if count == 1 else f"{count} steps"


def _range(look: Look, codes: Sequence[str], depth: int) -> int:
    values = [look.value(one) for one in codes]
    return max(values) - min(values)


def _largest(look: Look, codes: Sequence[str], depth: int) -> str:
    return look.after(max(codes, key=look.value))


def _smallest(look: Look, codes: Sequence[str], depth: int) -> str:
    return look.after(min(codes, key=look.value))


def _parity(look: Look, codes: Sequence[str], depth: int) -> str:
    code, even, odd = codes
    return look.after(odd if look.value(look.along(code, depth - 2)) % 2 else even)


FAMILIES: dict[str, Family] = {
    "next": Family(range(1, 2), lambda _: 1, _one, lambda look, codes, _: look.after(codes[0])),
    "value": Family(range(1, 2), lambda _: 1, _one, lambda look, codes, _: look.value(codes[0])),
    "follow": Family(
        range(2, DEEPEST + 1), lambda _: 1, _way(0), lambda look, codes, depth: look.along(codes[0], depth)
    ),
    "reach": Family(
        range(2, DEEPEST + 1),
        lambda _: 1,
        _way(1),
        lambda look, codes, depth: look.value(look.along(codes[0], depth - 1)),
    ),
    "total": Family(
        range(2, DEEPEST + 1), lambda depth: depth, _list, lambda look, codes, _: sum(map(look.value, codes))
    ),
    "range": Family(range(2, DEEPEST + 1), lambda depth: depth, _list, _range),
    "parity": Family(range(2, 3), lambda _: 3, _fork, _parity),
    "branch": Family(range(3, DEEPEST + 1), lambda _: 3, _fork, _parity),
    "largest": Family(range(3, DEEPEST + 1), lambda depth: depth - 1, _list, _largest),
    "smallest": Family(range(3, DEEPEST + 1), lambda depth: depth - 1, _list, _smallest),
}
"""What is asked, by name."""
GENERATOR = Generator("chains", PHRASINGS, _draw, keyed.act, levels=(1, 2))
"""With the answer three calls at most, as many as a harness allows that says nothing else."""
LONG = replace(GENERATOR, levels=range(1, DEEPEST + 1))
"""For a harness that allows as many turns as there are look-ups, and one."""
