"""Calls that are right, changed in one place so that they are wrong for certain.

A change by value is kept only where the new value is no accepted one by a comparison of its own, which forgives more
than the verifier: a number off by one or far beyond all, a text with its last letter changed or a word of its own
appended, a list with an item more, an object without a key that may not be left out.
"""

from collections.abc import Iterator
from typing import NamedTuple

from rsi.verifiers.calls import Call, Json
from rsi.verifiers.tool_call import OPTIONAL, Wanted, first

FAR = 1_000_003
"""Added to the largest accepted number."""
WORD = "zqxj"
"""Appended to a text; stands in no accepted value."""


class Mutant(NamedTuple):
    """Calls with one change."""

    kind: str
    calls: tuple[Call, ...]


def mutants(wanted: tuple[Wanted, ...]) -> Iterator[Mutant]:
    """Every single change of every call."""
    right = tuple(first(one) for one in wanted)
    for at, one in enumerate(wanted):
        for kind, call in _changed(right[at], one):
            yield Mutant(kind, (*right[:at], call, *right[at + 1 :]))


def _changed(call: Call, wanted: Wanted) -> Iterator[tuple[str, Call]]:
    yield "function renamed", Call(f"{call.name}_{WORD}", call.arguments)
    yield "argument added", Call(call.name, {**call.arguments, WORD: 1})
    for name, value in call.arguments.items():
        rest = {key: one for key, one in call.arguments.items() if key != name}
        yield "argument renamed", Call(call.name, {**rest, f"{name}_{WORD}": value})
        if name in wanted.required or OPTIONAL not in wanted.accepted[name]:
            yield "argument dropped", Call(call.name, rest)
        for kind, other in _others(value, wanted.accepted[name]):
            yield kind, Call(call.name, {**call.arguments, name: other})


def _others(value: Json, accepted: list[Json]) -> Iterator[tuple[str, Json]]:
    """Values that are wrong."""
    if isinstance(value, bool):
        if all(one is not (not value) for one in accepted):
            yield "truth turned", not value
        yield "type changed", WORD
    elif isinstance(value, int | float):
        numbers = [one for one in accepted if isinstance(one, int | float)]
        if value + 1 not in numbers:
            yield "number off by one", value + 1
        yield "number moved", max(numbers, default=0) + FAR
        yield "type changed", f"{value} {WORD}"
    elif isinstance(value, str):
        near = value[:-1] + ("q" if value[-1:] in "xX" else "x")
        if value[-1:].isalnum() and all(_letters(near) != _letters(one) for one in accepted):
            yield "letter changed", near
        yield "text changed", f"{value} {WORD}"
        yield "type changed", [value, WORD]
    elif isinstance(value, list):
        if all(not isinstance(one, list) or len(one) <= len(value) for one in accepted):
            yield "item added", [*value, value[-1] if value else WORD]
        yield "type changed", WORD
    elif isinstance(value, dict):
        yield "key added", {**value, WORD: 1}
        yield "type changed", WORD
        for key in value:
            if all(
                not isinstance(one, dict) or (key in one and OPTIONAL not in one[key]) for one in accepted
            ):
                yield "key dropped", {kept: one for kept, one in value.items() if kept != key}


def _letters(value: Json) -> str:
    """All that a text says, without marks and case."""
    return "".join(one for one in str(value).casefold() if one.isalnum())
