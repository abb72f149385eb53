"""Expected tool calls as tasks write them: what verifier `tool_call` takes, made from calls and read back."""

from collections.abc import Sequence
from typing import TypeAlias

import orjson

from rsi.verifiers.calls import Call, Json
from rsi.verifiers.tool_call import Broken, first, parse

Arguments: TypeAlias = "dict[str, Json]"

VERIFIER = "tool_call"


def expectation(calls: Sequence[Call], tools: str) -> str:
    """What the verifier expects: these calls, given these tools (JSON list of OpenAI's function definitions)."""
    offered: list[Json] = [
        {"name": one["name"], "parameters": one.get("parameters") or {}} for one in functions(tools)
    ]
    wanted: list[Json] = [
        {one.name: {name: [_accepted(value)] for name, value in one.arguments.items()}} for one in calls
    ]
    return orjson.dumps({"tools": offered, "calls": wanted}, option=orjson.OPT_SORT_KEYS).decode()


def calls_of(expected: str) -> tuple[Call, ...]:
    """The calls of an expectation, each argument with its first accepted value; none where it is no such thing."""
    try:
        return tuple(first(one) for one in parse(expected))
    except Broken:
        return ()


def functions(tools: str) -> list[dict[str, Json]]:
    """The function objects of a JSON list of definitions."""
    found = orjson.loads(tools) if tools else []
    return [one["function"] for one in found]


def written(calls: Sequence[Call]) -> str:
    """Calls as the policy is asked to write them, each in its tag."""
    return "\n".join(
        f"<tool_call>{orjson.dumps({'name': one.name, 'arguments': one.arguments}).decode()}</tool_call>"
        for one in calls
    )


def _accepted(value: Json) -> Json:
    """A value as the verifier takes it: in an object, each key has a list of accepted values."""
    if isinstance(value, dict):
        return {key: [_accepted(one)] for key, one in value.items()}
    return [_accepted(one) for one in value] if isinstance(value, list) else value
