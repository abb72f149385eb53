"""What was said in a model call as OpenInference flattens it (``llm.input_messages.N.message.…``).

Where the messages are not there, ``input.value`` and ``output.value`` hold the whole payload.
"""

from rsi.traces.formats import fields
from rsi.traces.formats.otel_flat import drop, listed
from rsi.traces.formats.otel_payload import payload
from rsi.traces.formats.turns import Turn, said, turns
from rsi.traces.rows import Json, JsonObject

_SIDES = (
    ("llm.input_messages", "llm.prompts", "input", "user"),
    ("llm.output_messages", "llm.choices", "output", "assistant"),
)


def messages(attributes: JsonObject, with_payload: bool) -> tuple[tuple[Turn, ...], tuple[Turn, ...]]:
    """What was asked and answered, taken out of the attributes; payloads too where that is wanted."""
    asked, answered = (_side(attributes, *side, with_payload) for side in _SIDES)
    return asked, answered


def _side(
    attributes: JsonObject, prefix: str, older: str, whole: str, role: str, with_payload: bool
) -> tuple[Turn, ...]:
    nodes, keys = listed(attributes, prefix)
    found = turns([_message(one) for one in nodes], role)
    if not found:
        nodes, keys = listed(attributes, older)
        texts = [fields.table(one.get("prompt") or one.get("completion")).get("text") for one in nodes]
        found = tuple(said(role, text) for one in texts if (text := fields.text(one)))
    if found:
        drop(attributes, [*keys, f"{whole}.value", f"{whole}.mime_type"])
    elif with_payload:
        found = payload(attributes.get(f"{whole}.value"), role)
        if found:
            drop(attributes, [f"{whole}.value", f"{whole}.mime_type"])
    return found


def _message(node: JsonObject) -> JsonObject:
    """A message in the shape of the chat API."""
    inner = node.get("message")
    said_ = inner if isinstance(inner, dict) else node
    contents = said_.get("contents")
    found: JsonObject = {key: said_[key] for key in ("role", "name", "tool_call_id") if key in said_}
    parts: list[Json] = [_part(one) for one in fields.tables(contents)]
    if "content" in said_ or parts:
        found["content"] = parts or said_["content"]
    calls: list[Json] = [one.get("tool_call", one) for one in fields.tables(said_.get("tool_calls"))]
    if fields.named(said_.get("function_call_name")):
        arguments = said_.get("function_call_arguments_json")
        calls.append({"name": said_["function_call_name"], "arguments": arguments})
    if calls:
        found["tool_calls"] = calls
    return found


def _part(node: JsonObject) -> JsonObject:
    """A part; a call stands beside its type, and once more in the list of calls, which goes by its id."""
    inner, call = node.get("message_content"), node.get("tool_call")
    if isinstance(call, dict):
        return {**call, "type": "tool_call"}
    return inner if isinstance(inner, dict) else node
