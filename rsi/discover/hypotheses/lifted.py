"""A wish without one of its constraints: the last condition goes, for a tool together with its argument."""

import re
from collections.abc import Sequence
from random import Random

from rsi.discover.hypotheses.variant import Variant, request
from rsi.records import Task
from rsi.tasks.calls import calls_of, expectation, functions
from rsi.tasks.prompt import TOOL
from rsi.verifiers.calls import Call, Json

_TRAILING = re.compile(
    r",?\s+(?:but|without|unless|except|only|in under|within|using|preferably|as long as|so that)\s"
    r"[^,.;?!]+(?=[.?!]?$)",
    re.IGNORECASE,
)


def lifted(seed: Task, others: Sequence[Task], rng: Random) -> Variant | None:
    """The request without its last condition; of a call's arguments only optional ones are dropped."""
    text = request(seed)
    if not text:
        return None
    if seed.hop == TOOL:
        return _without_argument(seed, text, rng)
    cut = _TRAILING.sub("", text)
    return Variant(cut, seed.expected) if cut != text and len(cut.split()) >= 3 else None


def _without_argument(seed: Task, text: str, rng: Random) -> Variant | None:
    calls = calls_of(seed.expected)
    if len(calls) != 1:
        return None
    call = calls[0]
    found = [
        (name, cut)
        for name, value in sorted(call.arguments.items())
        if name not in _required(seed, call.name) and (cut := _cut(text, value)) is not None
    ]
    if not found:
        return None
    name, cut = found[rng.randrange(len(found))]
    rest = {key: value for key, value in call.arguments.items() if key != name}
    return Variant(cut, expectation([Call(call.name, rest)], seed.tools))


def _cut(text: str, value: Json) -> str | None:
    """The text without a clause that says just this value; none where there is no such clause."""
    said = value if isinstance(value, str) else str(value)
    clause = re.compile(rf",\s+(?:[\w-]+\s+){{0,3}}{re.escape(said)}(?=\s*[,.;?!]|\s*$)")
    return clause.sub("", text, count=1) if said and len(clause.findall(text)) == 1 else None


def _required(seed: Task, name: str) -> list[Json]:
    for one in functions(seed.tools):
        parameters = one.get("parameters")
        if one.get("name") == name and isinstance(parameters, dict):
            required = parameters.get("required")
            return required if isinstance(required, list) else []
    return []
