"""The tools of a deployment as their traces show them: schemas from definitions, else learnt from the calls.

A call that a tool did not refuse shows the types of its arguments; an argument that every call has is required. A
definition, where a trace carries one, stands over what was learnt; values seen are kept beside it, as the typed values
that templates are filled with.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import orjson

from rsi.expand.runs import Run
from rsi.verifiers.calls import Call, Json

MOST_VALUES = 200
"""Values of an argument that are kept."""


@dataclass(frozen=True)
class Argument:
    """One argument of a tool."""

    type: str
    """JSON type: string, integer, number, boolean, array or object."""
    required: bool
    schema: Mapping[str, Json]
    values: tuple[Json, ...]
    """Distinct values seen, sorted by their JSON."""


@dataclass(frozen=True)
class Tool:
    """One tool."""

    name: str
    description: str
    arguments: Mapping[str, Argument]

    def definition(self) -> dict[str, Json]:
        """As the OpenAI chat API takes it."""
        required: list[Json] = [*sorted(name for name, one in self.arguments.items() if one.required)]
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": {
                    "type": "object",
                    "properties": {name: dict(one.schema) for name, one in sorted(self.arguments.items())},
                    "required": required,
                },
            },
        }


def json_type(value: Json) -> str:
    """The JSON schema type of a value."""
    if isinstance(value, bool):
        return "boolean"
    names = {int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


def learn(runs: Iterable[Run], definitions: Iterable[str]) -> dict[str, Tool]:
    """Name -> tool, from calls that were not refused, expected calls, and definitions."""
    calls: dict[str, list[Call]] = {}
    for run in runs:
        for call in (*(call for *_, call in run.calls), *(run.expected or ())):
            calls.setdefault(call.name, []).append(call)
    told = dict(_told(definitions))
    return {name: _tool(name, calls.get(name, []), told.get(name, {})) for name in sorted({*calls, *told})}


def offered(tools: Mapping[str, Tool]) -> str:
    """All tools as JSON text, in the order of their names."""
    return orjson.dumps(
        [tools[name].definition() for name in sorted(tools)], option=orjson.OPT_SORT_KEYS
    ).decode()


def _told(definitions: Iterable[str]) -> Iterable[tuple[str, dict[str, Json]]]:
    for text in definitions:
        try:
            found = orjson.loads(text)
        except orjson.JSONDecodeError:
            continue
        for one in found if isinstance(found, list) else [found]:
            function = one.get("function", one) if isinstance(one, dict) else None
            if isinstance(function, dict) and isinstance(function.get("name"), str):
                yield function["name"], function


def _tool(name: str, calls: list[Call], told: Mapping[str, Json]) -> Tool:
    parameters = told.get("parameters", told.get("input_schema"))
    schema = parameters if isinstance(parameters, dict) else {}
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    required = schema.get("required")
    seen = Counter(argument for call in calls for argument in call.arguments)
    arguments = {}
    for argument in sorted({*known, *seen}):
        said = known.get(argument)
        values = _distinct(call.arguments[argument] for call in calls if argument in call.arguments)
        must = (
            argument in required
            if isinstance(required, list)
            else bool(calls) and seen[argument] == len(calls)
        )
        arguments[argument] = _argument(dict(said) if isinstance(said, dict) else {}, values, must)
    description = told.get("description")
    return Tool(name, description if isinstance(description, str) else "", arguments)


def _argument(schema: dict[str, Json], values: tuple[Json, ...], required: bool) -> Argument:
    types = Counter(kind for one in values if (kind := json_type(one)) != "null")
    if set(types) == {"integer", "number"}:
        types = Counter({"number": 1})
    told = schema.get("type")
    seen = max(sorted(types), key=lambda one: types[one]) if types else "string"
    kind = told if isinstance(told, str) else seen
    schema = {**schema, "type": kind}
    return Argument(kind, required, schema, values[:MOST_VALUES])


def _distinct(values: Iterable[Json]) -> tuple[Json, ...]:
    by_text = {orjson.dumps(one, option=orjson.OPT_SORT_KEYS): one for one in values}
    return tuple(by_text[text] for text in sorted(by_text))
