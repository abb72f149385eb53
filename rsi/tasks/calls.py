"""Expected tool calls as tasks write them: what verifier `tool_call` takes, made from calls and read back.

``{"tools": [{"name", "parameters"}], "calls": [{"<name>": {"<argument>": [accepted, …]}}]}``, where the objects in an
accepted value hold lists of accepted values as well.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import orjson

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Arguments: TypeAlias = "dict[str, Json]"

VERIFIER = "tool_call"
HOP = "tool"


class Call(NamedTuple):
    """One call."""

    name: str
    arguments: Arguments


def expectation(calls: Sequence[Call], tools: str) -> str:
    """What the verifier expects: these calls, given these tools (JSON list of OpenAI's function definitions)."""
    return orjson.dumps(
        {
            "tools": [
                {"name": one["name"], "parameters": one.get("parameters") or {}} for one in functions(tools)
            ],
            "calls": [
                {one.name: {name: [_accepted(value)] for name, value in one.arguments.items()}}
                for one in calls
            ],
        },
        option=orjson.OPT_SORT_KEYS,
    ).decode()


def calls_of(expected: str) -> tuple[Call, ...]:
    """The calls of an expectation, each argument with its first accepted value; none where it is no such thing."""
    try:
        found = orjson.loads(expected)
        return tuple(
            Call(name, {argument: _plain(values[0]) for argument, values in arguments.items() if values})
            for one in found["calls"]
            for name, arguments in one.items()
        )
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        return ()


def functions(tools: str) -> list[dict[str, Json]]:
    """The function objects of a JSON list of definitions."""
    found = orjson.loads(tools) if tools else []
    return [one["function"] for one in found]


def written(calls: Sequence[Call]) -> str:
    """Calls as a model writes them: a JSON object, or a list where there are several."""
    said = [{"name": one.name, "arguments": one.arguments} for one in calls]
    return orjson.dumps(said[0] if len(said) == 1 else said).decode()


def _accepted(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: [_accepted(one)] for key, one in value.items()}
    return [_accepted(one) for one in value] if isinstance(value, list) else value


def _plain(value: Json) -> Json:
    if isinstance(value, dict):
        return {
            key: _plain(one[0]) if isinstance(one, list) and one else _plain(one)
            for key, one in value.items()
        }
    return [_plain(one) for one in value] if isinstance(value, list) else value
