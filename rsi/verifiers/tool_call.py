"""Calls of tools, by the rules of the Berkeley Function-Calling Leaderboard (its checker of abstract syntax).

`expected` is ``{"tools": [{"name", "parameters": <schema>}], "calls": [{"<name>": {"<argument>": [accepted, …]}}]}``;
`calls` is empty where no tool fits and none may be called. How an answer writes its calls: `rsi.verifiers.calls`.

* The calls may stand in any order, and each expected call is met by one of its own. There are as many as expected.
* The name is right, letter for letter; ``a_b`` stands for ``a.b``, as some engines know no dots.
* Every argument is one that the expected call names and the schema knows. A required one is there; another one may be
  left out where ``""`` is among its accepted values.
* A value has the type of the schema, an integer passing for a float, or the type of the accepted values where those
  have another (a variable's name in place of a number). Then it equals an accepted one: numbers by value, texts
  without case, spaces and ``,./-_*^`` and with either quote, lists in order, objects key by key, where each key
  again has accepted values.

Where BFCL leaves off, this goes on: true is not 1, objects may hold objects, and pairs of calls are matched in full.
"""

import re
from typing import NamedTuple

import orjson

from rsi.records import Outcome
from rsi.verifiers.calls import Call, Json, Unreadable, read, write
from rsi.verifiers.outcomes import empty, invalid, scored, wrong_format

NO_CALL = "None of the tools can do this."
"""A right answer where no call is expected."""
OPTIONAL = ""
"""Among accepted values: the argument may be left out."""
_NAMES: dict[str, tuple[str, ...]] = {
    "text": ("string", "String", "char", "any", "Any"),
    "integer": ("integer", "long", "short", "byte", "Bigint"),
    "number": ("float", "number", "double"),
    "truth": ("boolean", "bool", "Boolean"),
    "list": ("array", "Array", "ArrayList", "list", "tuple", "Queue", "Stack", "Set"),
    "object": ("dict", "object", "HashMap", "Hashtable"),
}
_KINDS = {name: kind for kind, names in _NAMES.items() for name in names}
_IGNORED = re.compile(r"[ ,./\-_*^]")


class Wanted(NamedTuple):
    """One expected call with the schema of its tool."""

    name: str
    accepted: dict[str, list[Json]]
    properties: dict[str, Json]
    required: tuple[str, ...]


class Broken(ValueError):
    """An expectation that cannot be used; the text says why."""


def check(answer: str, expected: str) -> Outcome:
    """Right when the answer calls what is expected and nothing else."""
    try:
        wanted = parse(expected)
    except Broken as error:
        return invalid(str(error))
    if not answer.strip():
        return empty()
    try:
        calls = read(answer)
    except Unreadable as error:
        return wrong_format(str(error))
    if len(calls) != len(wanted):
        return scored(False, f"{len(calls)} calls, expected {len(wanted)}")
    return _pair(calls, wanted)


def gold(expected: str) -> str | None:
    """The first accepted value of every argument that has one beside "may be left out"."""
    try:
        wanted = parse(expected)
    except Broken:
        return None
    return write(tuple(first(one) for one in wanted)) if wanted else NO_CALL


def first(wanted: Wanted) -> Call:
    """The call of the first accepted values; left out is what may only be left out, or is not in the schema."""
    kept = {}
    for name, accepted in wanted.accepted.items():
        if name not in wanted.properties and OPTIONAL in accepted:
            continue
        values = [one for one in accepted if one != OPTIONAL] or (accepted if name in wanted.required else [])
        if values:
            kept[name] = plain(values[0])
    return Call(wanted.name, kept)


def plain(accepted: Json) -> Json:
    """An accepted value as one would write it: the objects in it hold lists of accepted values."""
    if isinstance(accepted, list):
        return [plain(one) for one in accepted]
    if not isinstance(accepted, dict):
        return accepted
    found: dict[str, Json] = {}
    for key, values in accepted.items():
        if not isinstance(values, list):
            found[key] = plain(values)
        elif kept := [one for one in values if one != OPTIONAL]:
            found[key] = plain(kept[0])
        elif OPTIONAL not in values:
            found[key] = []
    return found


def parse(expected: str) -> tuple[Wanted, ...]:
    """The expected calls.

    Raises:
        Broken: not of the form that the module describes, or a call that its own schema refuses.
    """
    try:
        found = orjson.loads(expected)
        schemas = {one["name"]: one.get("parameters") or {} for one in found["tools"]}
        calls = [next(iter(one.items())) for one in found["calls"] if len(one) == 1]
        if len(calls) != len(found["calls"]):
            raise Broken("an expected call does not have exactly one name")
        return tuple(_wanted(name, accepted, schemas) for name, accepted in calls)
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
        raise Broken("expected is not an object with tools and calls") from None


def _wanted(name: str, accepted: dict[str, list[Json]], schemas: dict[str, dict[str, Json]]) -> Wanted:
    if name not in schemas:
        raise Broken(f"call of {name[:60]!r}, which is none of the tools")
    properties, required = schemas[name].get("properties") or {}, schemas[name].get("required") or []
    if not isinstance(properties, dict) or not isinstance(required, list):
        raise Broken(f"the schema of {name[:60]!r} has no properties or required")
    wanted = Wanted(name, accepted, properties, tuple(str(one) for one in required))
    for argument, values in accepted.items():
        if not isinstance(values, list) or not values:
            raise Broken(f"argument {argument[:60]!r} has no list of accepted values")
    objection = _objection(first(wanted), wanted)
    if objection:
        raise Broken(f"not even the first accepted values are right: {objection}")
    return wanted


def _pair(calls: tuple[Call, ...], wanted: tuple[Wanted, ...]) -> Outcome:
    """Give every expected call one of the calls, by augmenting paths (Kuhn's algorithm)."""
    objections = [[_objection(call, one) for call in calls] for one in wanted]
    taken: dict[int, int] = {}

    def place(at: int, seen: set[int]) -> bool:
        for call, objection in enumerate(objections[at]):
            if objection or call in seen:
                continue
            seen.add(call)
            if call not in taken or place(taken[call], seen):
                taken[call] = at
                return True
        return False

    for at, one in enumerate(wanted):
        if not place(at, set()):
            why = objections[at][0] if len(calls) == 1 else "no call meets it"
            return scored(False, f"{one.name}: {why}")
    return scored(True)


def _objection(call: Call, wanted: Wanted) -> str:
    """Why a call is not the expected one; empty where it is."""
    if call.name not in (wanted.name, wanted.name.replace(".", "_")):
        return f"another function is called, {call.name[:60]!r}"
    for name in wanted.required:
        if name not in call.arguments:
            return f"required argument {name!r} is missing"
    for name, value in call.arguments.items():
        if name not in wanted.accepted or name not in wanted.properties:
            return f"argument {name[:60]!r} is not expected"
        schema = wanted.properties[name]
        if not _fits(value, wanted.accepted[name], schema if isinstance(schema, dict) else {}):
            return f"argument {name!r} has another value or type"
    for name, accepted in wanted.accepted.items():
        if name not in call.arguments and OPTIONAL not in accepted:
            return f"argument {name!r} is missing"
    return ""


def _fits(value: Json, accepted: list[Json], schema: dict[str, Json]) -> bool:
    """Whether a value has the right type and is an accepted one."""
    kind = _KINDS.get(str(schema.get("type")))
    if kind == "number" and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    written = next((_kind(one) for one in accepted if one != OPTIONAL), None)
    if kind is not None and _kind(value) not in (kind, written):
        return False
    return any(_same(value, one) for one in accepted)


def _kind(value: Json) -> str | None:
    if isinstance(value, bool):
        return "truth"
    kinds = {str: "text", int: "integer", float: "number", list: "list", dict: "object"}
    return kinds.get(type(value))


def _same(value: Json, accepted: Json) -> bool:
    if isinstance(value, bool) or isinstance(accepted, bool):
        return value is accepted
    if isinstance(value, str) and isinstance(accepted, str):
        return _folded(value) == _folded(accepted)
    if isinstance(value, list) and isinstance(accepted, list):
        return len(value) == len(accepted) and all(map(_same, value, accepted))
    if isinstance(value, dict) and isinstance(accepted, dict):
        return _same_object(value, accepted)
    return value == accepted


def _same_object(value: dict[str, Json], accepted: dict[str, Json]) -> bool:
    """Key by key; each key has a list of accepted values, or one value that stands for itself."""
    for key, one in accepted.items():
        choices = one if isinstance(one, list) else [one]
        if key not in value:
            if OPTIONAL not in choices:
                return False
        elif not any(_same(value[key], choice) for choice in choices):
            return False
    return value.keys() <= accepted.keys()


def _folded(text: str) -> str:
    return _IGNORED.sub("", text).lower().replace("'", '"')
