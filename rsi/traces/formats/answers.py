"""Responses of model APIs and frameworks: the messages in them, and what they say of themselves."""

from typing import NamedTuple

from rsi.traces.formats import fields
from rsi.traces.rows import Json, JsonObject

_TEXTS = ("text", "output_text", "completion", "response", "generated_text", "answer", "output", "result", "content",
          "final_output")  # fmt: skip
_PARTS = {"text", "tool_use", "thinking", "redacted_thinking", "output_text", "tool_call", "reasoning"}


class Envelope(NamedTuple):
    """What a response says beside its messages."""

    response_id: str | None = None
    model: str | None = None
    finish_reason: str | None = None
    usage: JsonObject | None = None


def spoken(value: Json) -> list[Json]:
    """The messages of a response, of which those without a role are the assistant's; none where it is no response.

    Of several choices the first is taken.
    """
    if isinstance(value, list):
        return _listed(value)
    if not isinstance(value, dict):
        return []
    if choices := fields.tables(value.get("choices")):
        return _choice(choices[0])
    if candidates := fields.tables(value.get("candidates")):
        content = candidates[0].get("content")
        return [content] if isinstance(content, dict) else []
    generations = fields.listing(value.get("generations"))
    if generations:
        first = generations[0] if isinstance(generations[0], list) else generations
        return _choice(next(iter(fields.tables(first)), {}))
    if isinstance(value.get("message"), dict) and "role" not in value:
        return [value["message"]]
    output = value.get("output")
    if isinstance(output, list) and ("object" in value or any(_is_item(one) for one in output)):
        return [one for one in output if isinstance(one, dict) and ("role" in one or _is_item(one))]
    if isinstance(output, dict) and ("role" in output or "kwargs" in output or "message" in output):
        return spoken(output) or [output]
    if isinstance(value.get("content"), dict) and "parts" in fields.table(value["content"]):
        return [value["content"]]
    if "role" not in value and (value.get("toolCalls") or value.get("tool_calls")):
        return [{"content": value.get("text", value.get("content")), "tool_calls": _calls(value),
                 "reasoning": value.get("reasoning")}]  # fmt: skip
    return []


def text(value: Json) -> str | None:
    """The text of a response that is plain text in a known field."""
    if isinstance(value, list):
        return value[0] if value and isinstance(value[0], str) else None
    if not isinstance(value, dict):
        return None
    return next((one for key in _TEXTS if isinstance(one := value.get(key), str) and one.strip()), None)


def envelope(value: Json) -> Envelope:
    """Id, model, reason to stop and token counts of a response."""
    told = value
    if isinstance(value, list):
        told = next((one for one in fields.tables(value) if "role" in one or "finish_reason" in one), None)
    if not isinstance(told, dict):
        return Envelope()
    first = _first(told)
    message = fields.table(first.get("message", told if "kwargs" in told else None))
    inner = fields.table(message.get("kwargs")) or message
    metadata = fields.table(inner.get("response_metadata"))
    output = fields.table(told.get("llm_output"))
    everywhere = (told, first, inner, metadata, output, fields.table(first.get("generation_info")))
    is_response = told.get("type") == "message" or any(
        key in told for key in ("object", "choices", "usage", "candidates")
    )
    return Envelope(
        response_id=fields.first(told, "id", "responseId", "response_id") if is_response else None,
        model=_named(everywhere, "model", "model_name", "modelVersion", "model_version"),
        finish_reason=_named(everywhere, "finish_reason", "finishReason", "stop_reason", "done_reason"),
        usage=_usage(everywhere),
    )


def _named(places: tuple[JsonObject, ...], *keys: str) -> str | None:
    return next((found for one in places if (found := fields.first(one, *keys))), None)


def _usage(places: tuple[JsonObject, ...]) -> JsonObject | None:
    keys = ("usage_metadata", "usageMetadata", "usage", "token_usage", "tokenUsage")
    return next((found for one in places for key in keys if (found := fields.table(one.get(key)))), None)


def _first(told: JsonObject) -> JsonObject:
    """The first choice, candidate or generation."""
    for key in ("choices", "candidates", "generations"):
        found = fields.listing(told.get(key))
        if found:
            return fields.table(found[0][0] if isinstance(found[0], list) and found[0] else found[0])
    return {}


def _choice(choice: JsonObject) -> list[Json]:
    for key in ("message", "delta"):
        if isinstance(choice.get(key), dict):
            return [choice[key]]
    return [{"content": choice["text"]}] if isinstance(choice.get("text"), str) else []


def _listed(value: list[Json]) -> list[Json]:
    """A list of generations, of content blocks, of choices, or of calls without the message around them."""
    items = fields.tables(value[0] if len(value) == 1 and isinstance(value[0], list) else value)
    if not items or len(items) < len(value):
        return []
    if all("role" not in one and isinstance(one.get("message"), dict) for one in items):
        return [one["message"] for one in items]
    if all("role" not in one and fields.named(one.get("type")) in _PARTS for one in items):
        return [{"content": list[Json](items)}]
    if all(isinstance(one.get("toolName"), str) and ("args" in one or "input" in one) for one in items):
        return [{"content": "", "tool_calls": list[Json](items)}]
    return []


def _calls(value: JsonObject) -> Json:
    return value.get("toolCalls") or value.get("tool_calls")


def _is_item(value: Json) -> bool:
    """An item of the Responses API, or a message."""
    return isinstance(value, dict) and (
        value.get("type") in ("message", "function_call", "reasoning", "custom_tool_call", "mcp_call")
        or "role" in value
    )
