"""MLflow's spans as steps, of both versions: ids in base64 or hex, attributes whose values are JSON text.

The server's API gives attributes as OTLP does, as a list.
"""

import base64
import binascii
import re

from rsi.traces.formats import fields, otel_usage, otlp_content, otlp_envelope, usage
from rsi.traces.formats.answers import Envelope
from rsi.traces.formats.run import Step, ToolUse
from rsi.traces.formats.sides import Side, answered, asked, dumped, opened, outcome, structured
from rsi.traces.formats.turns import tool_call
from rsi.traces.rows import Json, JsonObject

_KINDS = {
    "LLM": "llm", "CHAT_MODEL": "llm", "TOOL": "tool", "AGENT": "agent", "RETRIEVER": "retrieval",
    "RERANKER": "retrieval", "EMBEDDING": "embedding", "CHAIN": "step", "PARSER": "step", "MEMORY": "step",
    "WORKFLOW": "step", "TASK": "step", "GUARDRAIL": "guardrail", "EVALUATOR": "evaluator",
}  # fmt: skip
_HEX = re.compile(r"(?:0x)?([0-9a-fA-F]{16}|[0-9a-fA-F]{32})")
_INPUTS, _OUTPUTS = "mlflow.spanInputs", "mlflow.spanOutputs"
_BOOKKEEPING = {"mlflow.traceRequestId", "mlflow.spanStartTimeNs", "mlflow.spanType", "mlflow.experimentId"}


def identity(value: Json) -> str | None:
    """The id of a span or trace in lower-case hex, which comes as hex (also after 0x) or as base64."""
    text = fields.named(value)
    if text is None:
        return None
    if found := _HEX.fullmatch(text):
        return None if not found[1].strip("0") else found[1].lower()
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return text
    if len(raw) not in (8, 16):
        return text
    return raw.hex() if any(raw) else None


def attributes(span: JsonObject) -> JsonObject:
    """The attributes with their values out of the JSON text; text that is none stays text."""
    given = opened(span.get("attributes"))
    if isinstance(given, list):
        given = otlp_envelope.attributes(otlp_envelope.camel(given))
    found: JsonObject = {}
    for key, value in fields.table(given).items():
        inner = fields.parsed(value) if isinstance(value, str) else value
        found[key] = value if inner is None and value != "null" else inner
    return found


def sides(told: JsonObject) -> tuple[Side, Side]:
    """What went into a span and what came out."""
    return asked(told.get(_INPUTS)), answered(told.get(_OUTPUTS))


def step(span: JsonObject, native_id: str) -> Step:
    """One span."""
    told = attributes(span)
    kind = _KINDS.get(str(told.get("mlflow.spanType")).upper(), "other")
    start, state = fields.moment(
        span.get("start_time_unix_nano", span.get("start_time", span.get("start_time_ns")))
    )
    end, _ = fields.moment(span.get("end_time_unix_nano", span.get("end_time", span.get("end_time_ns"))))
    into, out = _heard(told, kind)
    status, error = _status(span)
    given = fields.table(opened(told.get(_INPUTS)))
    counted = otel_usage.usage(told)
    if counted.input is None and counted.output is None and kind == "llm":
        counted = usage.usage(out.envelope.usage)._replace(cost_usd=counted.cost_usd)
    return Step(
        native_id=native_id,
        kind=kind,
        name=fields.named(span.get("name")) or "",
        parent_id=identity(span.get("parent_span_id", span.get("parent_id"))),
        start_ns=start,
        end_ns=end,
        time_state=state,
        status=status if status != "unset" or end is None else "ok",
        error=error,
        provider=fields.first(told, "mlflow.llm.provider", "gen_ai.provider.name", "gen_ai.system"),
        model=(out.envelope.model if kind == "llm" else None)
        or fields.first(told, "gen_ai.response.model", "mlflow.llm.model", "gen_ai.request.model")
        or (fields.first(given, "model", "model_name") if kind in ("llm", "embedding") else None),
        response_id=fields.first(told, "gen_ai.response.id")
        or (out.envelope.response_id if kind == "llm" else None),
        finish_reason=out.envelope.finish_reason if kind == "llm" else None,
        usage=counted,
        asked=into.turns,
        answered=out.turns,
        tool=_tool(span, told) if kind == "tool" else None,
        attributes=_beside(span, told, kind, into, out),
    )


def _heard(told: JsonObject, kind: str) -> tuple[Side, Side]:
    """What was said: plain text too in a call of a model, messages alone in an agent or a chain."""
    if kind not in ("llm", "agent", "step", "other"):
        return Side(), Side()
    into, out = sides(told)
    if kind == "llm":
        if not out:
            out = Side(structured(told.get(_OUTPUTS)), envelope=out.envelope)
        if not into and not out:
            found = otlp_content.content(dict(told), (), True)
            return Side(found.asked), Side(found.answered, envelope=Envelope(finish_reason=found.finish))
        return into, out
    state = dumped(told.get(_INPUTS)) or dumped(told.get(_OUTPUTS))
    return (into if into.is_chat and not state else Side(), out if out.is_chat and not state else Side())


def _tool(span: JsonObject, told: JsonObject) -> ToolUse:
    """The call that a tool's span ran, and its result."""
    given = opened(told.get(_INPUTS, told.get("gen_ai.tool.call.arguments")))
    got = told.get(_OUTPUTS, told.get("gen_ai.tool.call.result"))
    native = fields.first(told, "gen_ai.tool.call.id", "tool_call_id")
    inner = fields.table(given)
    if isinstance(inner.get("args"), dict) and inner.get("type") == "tool_call":
        native, given = native or fields.first(inner, "id"), inner["args"]
    message = fields.table(opened(got))
    message = fields.table(message.get("kwargs")) or message
    native = native or fields.first(message, "tool_call_id")
    name = fields.first(told, "gen_ai.tool.name") or fields.named(span.get("name"))
    result, failed = outcome(got)
    return ToolUse(tool_call(native, name, given), result, failed)


def _status(span: JsonObject) -> tuple[str, str | None]:
    """ok, error or unset, and why; the exception's message stands in an event."""
    said = span.get("status")
    code, message = span.get("status_code", said), span.get("status_message")
    if isinstance(said, dict):
        code, message = (
            said.get("code", said.get("status_code")),
            said.get("message", said.get("description")),
        )
    name = str(code).upper().rsplit("_", 1)[-1]
    if name not in ("ERROR", "2"):
        return ("ok" if name in ("OK", "1") else "unset"), None
    for event in fields.tables(span.get("events")):
        if event.get("name") == "exception" and fields.named(message) is None:
            told = fields.table(event.get("attributes"))
            message = fields.first(told, "exception.message", "exception.type")
    return "error", fields.named(message) or "error"


def _beside(span: JsonObject, told: JsonObject, kind: str, into: Side, out: Side) -> JsonObject | None:
    kept: JsonObject = {}
    for key, value in told.items():
        is_read = (key == _INPUTS and (into or kind == "tool")) or (
            key == _OUTPUTS and (out or kind == "tool")
        )
        if key not in _BOOKKEEPING and not is_read and value not in (None, "", {}, []) and not (
            key in (_INPUTS, _OUTPUTS) and dumped(value)
        ):  # fmt: skip
            kept[key] = value
    for key in ("events", "links"):
        if found := fields.tables(span.get(key)):
            kept[key] = [*found]
    return kept or None
