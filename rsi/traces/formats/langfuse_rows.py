"""Rows of Langfuse under one spelling: its API and downloads write camel case, its scheduled exports snake case."""

import re
from collections.abc import Iterator

import orjson

from rsi.traces.formats import fields
from rsi.traces.formats.sides import opened
from rsi.traces.rows import Json, JsonObject

_SNAKE = re.compile(r"_([a-z])")
_SAID = (
    "input.value", "output.value", "input.mime_type", "output.mime_type", "gen_ai.input.messages",
    "gen_ai.output.messages", "gen_ai.prompt", "gen_ai.completion", "gen_ai.system_instructions",
    "llm.input_messages", "llm.output_messages", "llm.prompts", "ai.prompt", "ai.response.text",
    "ai.response.object", "ai.response.toolCalls", "ai.toolCall.args", "ai.toolCall.result",
    "gcp.vertex.agent.llm_request", "gcp.vertex.agent.llm_response", "gcp.vertex.agent.tool_call_args",
    "gcp.vertex.agent.tool_response", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result",
    "pydantic_ai.all_messages", "all_messages_events", "events", "tool_arguments", "tool_response",
    "final_result", "traceloop.entity.input", "traceloop.entity.output", "langfuse.observation.input",
    "langfuse.observation.output", "langfuse.trace.input", "langfuse.trace.output",
)  # fmt: skip
"""How attributes begin that Langfuse makes `input` and `output` of."""


def shaped(row: JsonObject) -> JsonObject:
    """A row with its own names in camel case; what they hold stays as it is."""
    if not any("_" in key for key in row):
        return row
    return {_SNAKE.sub(lambda found: found[1].upper(), key): value for key, value in row.items()}


def traced(row: JsonObject) -> bytes:
    """The row's own text, for a refusal of it."""
    return orjson.dumps(row)


def metadata(row: JsonObject) -> JsonObject:
    """Metadata of a row as an object, whose parts may be JSON text."""
    told = opened(row.get("metadata"))
    if isinstance(told, dict):
        return told
    return {} if told is None or told in ("", []) else {"metadata": told}


def attributes(told: JsonObject) -> JsonObject:
    """The OpenTelemetry attributes that metadata keeps, nested or with dotted names."""
    inner = opened(told.get("attributes"))
    found: JsonObject = dict(inner) if isinstance(inner, dict) else {}
    for key, value in told.items():
        if key.startswith("attributes."):
            found.setdefault(key.removeprefix("attributes."), value)
    return found


def scope(told: JsonObject) -> str | None:
    """The library that recorded the row."""
    inner = opened(told.get("scope"))
    return fields.first(inner, "name") if isinstance(inner, dict) else fields.first(told, "scope.name")


def beside(told: JsonObject, read: bool) -> JsonObject:
    """Metadata to keep: all of it, without copies of a content that was read from the row itself."""
    kept: JsonObject = {}
    for key, value in told.items():
        if key == "attributes":
            inner = opened(value)
            value = {name: one for name, one in inner.items() if not (read and name.startswith(_SAID))} if (
                isinstance(inner, dict)
            ) else value  # fmt: skip
        elif read and key.removeprefix("attributes.").startswith(_SAID):
            continue
        if value not in (None, "", {}, []):
            kept[key] = value
    return kept


def present(pairs: Iterator[tuple[str, Json]]) -> JsonObject:
    """What says something."""
    return {
        key: value
        for key, value in pairs
        if value is not False and value not in (None, "", {}, [], "{}", "[]")
    }
