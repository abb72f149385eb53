"""Messages as the user interface of Vercel's AI SDK keeps them: a turn of the model with all its steps in one.

``{"role": "assistant", "parts": [{"type": "step-start"}, {"type": "tool-weather", "toolCallId", "state", "input",
"output"}, {"type": "text", "text"}]}``, and in version 4 ``{"type": "tool-invocation", "toolInvocation": {…}}``.
"""

from rsi.traces.formats import fields
from rsi.traces.rows import Json, JsonObject

_SILENT = ("step-start", "source", "source-url", "source-document")


def spelt(message: JsonObject) -> list[JsonObject] | None:
    """The messages that a model would have been given for it; null where it is no such message."""
    parts = fields.tables(message.get("parts"))
    if not any(_is_tool(one) or one.get("type") == "step-start" for one in parts):
        return None
    found: list[JsonObject] = []
    said: list[Json] = []
    results: list[JsonObject] = []
    rest: JsonObject = {key: message[key] for key in ("role", "name") if key in message}
    for part in parts:
        if _is_tool(part):
            call, result = _tool(part)
            said.append(call)
            results += [result] if result is not None else []
            continue
        # What is said behind a result was said knowing it.
        if results or (part.get("type") == "step-start" and said):
            found.append({**rest, "content": said})
            found += results
            said, results = [], []
        kind = str(part.get("type"))
        if kind not in _SILENT and not kind.startswith("data-"):
            said.append(part)
    if said:
        found.append({**rest, "content": said})
    return found + results


def _is_tool(part: JsonObject) -> bool:
    kind = str(part.get("type"))
    if kind == "tool-invocation":
        return isinstance(part.get("toolInvocation"), dict)
    return (kind == "dynamic-tool" or kind.startswith("tool-")) and "toolCallId" in part and "state" in part


def _tool(part: JsonObject) -> tuple[JsonObject, JsonObject | None]:
    """The call, and the result where it is there."""
    told = fields.table(part.get("toolInvocation")) or part
    name = fields.first(told, "toolName") or str(part.get("type")).removeprefix("tool-")
    native = fields.named(told.get("toolCallId"))
    call: JsonObject = {"type": "tool-call", "id": native, "name": name}
    given = next((told[key] for key in ("input", "args", "rawInput") if told.get(key) is not None), None)
    if given is not None:
        call["input"] = given
    state = told.get("state")
    if state not in ("output-available", "output-error", "result"):
        return call, None
    failed = state == "output-error"
    output: Json = told.get("errorText") if failed else told.get("output", told.get("result"))
    text = output if isinstance(output, str) else fields.written(output)
    return call, {"role": "tool", "content": text, "tool_call_id": native, "name": name, "is_error": failed}
