"""Typed values for slots: seen ones first, made ones where a class of values was never seen. Seeded."""

import random
from collections.abc import Iterator

import orjson

from rsi.expand.facets import CLASSES, value_class
from rsi.expand.tools import Argument, Tool
from rsi.tasks.calls import Arguments
from rsi.verifiers.calls import Json

_WORDS = ("harbour", "maple", "comet", "linen", "orchard", "saffron", "quartz", "willow", "ember", "meadow")
_SEEN = 0.7
"""Share of values that are drawn from those seen, where there are some of the class."""


def value(argument: Argument, wanted: str, rng: random.Random) -> Json:
    """A value for an argument; `wanted` is a class such as `integer:negative`, or empty for any."""
    choices = argument.schema.get("enum")
    if isinstance(choices, list) and choices:
        return choices[rng.randrange(len(choices))]
    seen = [one for one in argument.values if not wanted or value_class(one) == wanted]
    if seen and rng.random() < _SEEN:
        return seen[rng.randrange(len(seen))]
    if not wanted:
        classes = CLASSES.get(argument.type, ("word",))
        wanted = f"{argument.type}:{classes[rng.randrange(len(classes))]}"
    return _made(argument, wanted, rng)


def arguments(tool: Tool, name: str, wanted: str, rng: random.Random) -> Arguments:
    """Values for the required arguments of a tool, and for `name`, whose value is of the class `wanted`."""
    return {
        argument: value(one, wanted if argument == name else "", rng)
        for argument, one in sorted(tool.arguments.items())
        if one.required or argument == name
    }


def spoken(one: Json) -> str:
    """A value as a request says it: text as it is, everything else as JSON."""
    return one if isinstance(one, str) else orjson.dumps(one).decode()


def spellings(one: Json) -> Iterator[str]:
    """Ways in which a request may say a value."""
    if isinstance(one, str) and one.strip():
        yield one
        yield one.replace("_", " ")
    elif isinstance(one, int | float) and not isinstance(one, bool):
        yield spoken(one)
        if isinstance(one, int) and abs(one) >= 1000:
            yield f"{one:,}"


def _made(argument: Argument, wanted: str, rng: random.Random) -> Json:
    kind, _, which = wanted.partition(":")
    if kind == "boolean":
        return which == "true"
    if kind in ("integer", "number"):
        size = {"zero": 0, "negative": -rng.randint(1, 90), "small": rng.randint(1, 10)}
        whole = size.get(which, rng.randint(11, 9000))
        return whole if kind == "integer" or not whole else whole + rng.choice((0.25, 0.5, 0.75))
    if kind == "array":
        items = argument.schema.get("items")
        inner = str(items.get("type", "string")) if isinstance(items, dict) else "string"
        like = Argument(inner, False, items if isinstance(items, dict) else {}, ())
        count = {"empty": 0, "one": 1}.get(which, 3)
        return [value(like, "", rng) for _ in range(count)]
    if kind == "object":
        return {} if which == "empty" else {"note": rng.choice(_WORDS)}
    return _text(which, rng)


def _text(which: str, rng: random.Random) -> str:
    if which == "date":
        return f"2026-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
    if which == "id":
        return f"{rng.choice('ABCDEFGHKLMNPQRSTUVWXYZ')}{rng.choice('ABCDEFGHKLMNPQRSTUVWXYZ')}{rng.randint(100, 9999)}"
    if which == "words":
        return f"{rng.choice(_WORDS)} {rng.choice(_WORDS)}"
    return rng.choice(_WORDS)
