"""Values and messages in the shapes of OTLP/JSON and the GenAI conventions."""

from rsi.traces.export.conversation import Asked, Turn, failed
from rsi.traces.formats import fields
from rsi.traces.rows import Json, JsonObject


def attributes(told: JsonObject) -> list[Json]:
    """Attributes with values; a null says nothing."""
    return [attribute(key, value) for key, value in told.items() if value is not None]


def attribute(key: str, value: Json) -> JsonObject:
    """One attribute."""
    return {"key": key, "value": any_value(value)}


def any_value(value: Json) -> JsonObject:
    """OTLP's union of one key; 64-bit numbers are text."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [any_value(one) for one in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [attribute(key, one) for key, one in value.items()]}}
    return {}


def spoken(turn: Turn) -> JsonObject:
    """A message of the GenAI conventions: role and parts."""
    said = turn.message
    message: JsonObject = {"role": said.role, "parts": parts(turn)}
    if said.author is not None:
        message["name"] = said.author
    return message


def parts(turn: Turn) -> list[Json]:
    """What was thought, said and asked for; or what a tool answered."""
    said = turn.message
    if said.role == "tool":
        return [_response(turn)]
    found: list[Json] = []
    if said.reasoning is not None:
        found.append({"type": "reasoning", "content": said.reasoning})
    if said.content is not None:
        found.append({"type": "text", "content": said.content})
    return [*found, *map(_call, turn.calls)]


def _call(one: Asked) -> JsonObject:
    call = one.call
    found: JsonObject = {"type": "tool_call", "id": one.id, "name": call.name}
    arguments = fields.parsed(call.arguments) if call.arguments is not None else call.arguments_raw
    if arguments is not None:
        found["arguments"] = arguments
    return {key: value for key, value in found.items() if value is not None}


def _response(turn: Turn) -> JsonObject:
    answers, said = turn.answers, turn.message
    found: JsonObject = {
        "type": "tool_call_response",
        "id": answers.id if answers else said.tool_call_id,
        "name": answers.call.name if answers else None,
        "response": said.content,
        "is_error": True if answers is not None and failed(answers.call) else None,
    }
    return {key: value for key, value in found.items() if value is not None}
