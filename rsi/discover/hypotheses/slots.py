"""The same wish with other values: numbers in the request, and with them those in the call."""

import re
from collections.abc import Sequence
from random import Random

from rsi.discover.hypotheses.variant import Variant, request
from rsi.records import Task
from rsi.tasks.calls import Arguments, calls_of, expectation
from rsi.tasks.prompt import TOOL
from rsi.verifiers.calls import Call, Json

_NUMBER = re.compile(r"(?<![\w.,-])\d{1,6}(?![\w,]|\.\d)")


def slots(seed: Task, others: Sequence[Task], rng: Random) -> Variant | None:
    """For a route every number is another one; for a call, each value that its request says exactly once."""
    text = request(seed)
    if seed.hop == TOOL:
        return _call(seed, text, others, rng)
    other = _NUMBER.sub(lambda found: str(_near(int(found[0]), rng)), text)
    return Variant(other, seed.expected) if other != text else None


def _call(seed: Task, text: str, others: Sequence[Task], rng: Random) -> Variant | None:
    calls = calls_of(seed.expected)
    if len(calls) != 1 or not text:
        return None
    call = calls[0]
    seen = [one.arguments for other in others for one in calls_of(other.expected) if one.name == call.name]
    values: Arguments = dict(call.arguments)
    changed = text
    for name, value in sorted(call.arguments.items()):
        new = _another(name, value, seen, rng)
        if new is None or len(_word(str(value)).findall(text)) != 1:
            continue
        values[name] = new
        before, after = _word(str(value)).split(changed, maxsplit=1)
        changed = f"{before}{new}{after}"
    if changed == text:
        return None
    return Variant(changed, expectation([Call(call.name, values)], seed.tools))


def _another(name: str, value: Json, seen: Sequence[Arguments], rng: Random) -> Json:
    """Another value of the type: a number near it, a text that another call had there; none where there is none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return _near(value, rng)
    if not isinstance(value, str) or not value:
        return None
    known = sorted(
        {one[name] for one in seen if isinstance(one.get(name), str) and one[name] != value}, key=str
    )
    return known[rng.randrange(len(known))] if known else None


def _near(value: int, rng: Random) -> int:
    return value + rng.choice([one for one in range(-9, 10) if one and value + one > 0] or [1])


def _word(said: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(said)}(?!\w)")
