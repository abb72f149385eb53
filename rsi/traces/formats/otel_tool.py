"""The call of a tool, as the tool's own span tells it in any vocabulary."""

from collections.abc import Sequence

from rsi.traces.formats import fields
from rsi.traces.formats.otel_flat import drop
from rsi.traces.formats.otlp_content import Event
from rsi.traces.formats.run import ToolUse
from rsi.traces.formats.turns import tool_call, wording
from rsi.traces.rows import Json, JsonObject

_NAMES = ("gen_ai.tool.name", "ai.toolCall.name", "tool.name", "tool_call.function.name", "mcp.tool.name")
_IDS = ("gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id", "tool.id")
_ARGUMENTS = ("gen_ai.tool.call.arguments", "ai.toolCall.args", "gcp.vertex.agent.tool_call_args", "tool_arguments",
              "tool_call.function.arguments", "gen_ai.tool.input", "input.value", "langfuse.observation.input",
              "mlflow.spanInputs", "traceloop.entity.input", "tool.parameters")  # fmt: skip
_RESULTS = ("gen_ai.tool.call.result", "ai.toolCall.result", "gcp.vertex.agent.tool_response", "tool_response",
            "gen_ai.tool.output", "output.value", "langfuse.observation.output", "mlflow.spanOutputs",
            "traceloop.entity.output")  # fmt: skip
_PARTS = ('{"content"', '{"meta"', '{"_meta"', '[{"text"')
_ASIDE = ("input.mime_type", "output.mime_type")
_BEFORE = ("execute_tool ", "running tool: ", "ai.toolCall ", "tool ")
"""What instrumentations put before a tool's name in the name of its span."""


def use(span_name: str, attributes: JsonObject, events: Sequence[Event], failed: bool) -> ToolUse:
    """Name, id, arguments and result, taken out of the attributes."""
    given, given_key = _first(attributes, _ARGUMENTS)
    result, result_key = _first(attributes, _RESULTS)
    for event in events:
        if event.name == "gen_ai.tool.message" and given is None:
            given = event.attributes.get("content")
        elif event.name == "gen_ai.choice" and result is None:
            result = event.attributes.get("message", event.attributes.get("content"))
    name = fields.first(attributes, *_NAMES) or fields.first(attributes, "traceloop.entity.name")
    if name is None:
        before = next((one for one in _BEFORE if span_name.startswith(one)), "")
        name = span_name[len(before) :].strip() or None
    drop(attributes, [key for key in (given_key, result_key, *(_ASIDE if given_key else ())) if key])
    text = _result(result)
    return ToolUse(tool_call(fields.first(attributes, *_IDS), name, given), text, failed or _says_so(result))


def _first(attributes: JsonObject, keys: tuple[str, ...]) -> tuple[Json, str | None]:
    for key in keys:
        if key in attributes and attributes[key] is not None:
            return attributes[key], key
    return None, None


def _result(value: Json) -> str | None:
    """The text of a result; that of content parts of MCP and Bedrock where it is such, also as JSON text."""
    if isinstance(value, str):
        inner = fields.parsed(value) if value.startswith(_PARTS) else None
        return wording(inner) if isinstance(inner, dict | list) else value
    return wording(value)


def _says_so(value: Json) -> bool:
    inner = fields.parsed(value) if isinstance(value, str) and '"isError"' in value else value
    return isinstance(inner, dict) and inner.get("isError") is True
