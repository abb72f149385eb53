"""Events of the ATOF stream: the start and the end of a scope, each a line that stands alone, and marks.

A line names its scope and the scope around it, but not the run: unless its metadata tell a session, the events
of one file are one run.
"""

from rsi.traces.formats import fields
from rsi.traces.formats.run import Run, Step, ToolUse, rows
from rsi.traces.formats.session import beside, of_name
from rsi.traces.formats.turns import Turn, message_turns, tool_call, turns
from rsi.traces.formats.usage import usage
from rsi.traces.rows import Json, JsonObject, Place, Reason, Refusal, Rows

NAME = "atof"
_KINDS = {
    "llm": "llm", "tool": "tool", "agent": "agent", "retriever": "retrieval", "reranker": "retrieval",
    "embedder": "embedding", "guardrail": "guardrail", "evaluator": "evaluator", "function": "step",
}  # fmt: skip
_SAID = ("input", "query", "raw_query", "message")
_ANSWERED = ("response", "output", "raw_result", "content", "text")


def matches(record: JsonObject) -> bool:
    """`atof_version` beside the id of a scope."""
    return "atof_version" in record and "uuid" in record


def read(record: JsonObject, place: Place) -> tuple[Rows | Refusal, ...]:
    """What one event tells of its scope."""
    native = fields.named(record.get("uuid"))
    if native is None:
        return (Refusal(Reason.MISSING_FIELD, "an event whose uuid names nothing"),)
    metadata = fields.table(record.get("metadata"))
    session = fields.first(metadata, "session_id", "conversation_id", "trace_id")
    category = fields.named(record.get("category")) or "unknown"
    kind = _KINDS.get(category, "event" if record.get("kind") == "mark" else "other")
    at, state = fields.moment(record.get("timestamp"))
    phase = fields.named(record.get("scope_category")) if record.get("kind") != "mark" else "mark"
    data, profile = record.get("data"), fields.table(record.get("category_profile"))
    given, answered = _turns(kind, phase, data)
    error = fields.first(metadata, "error", "error_message")
    step = Step(
        native_id=native,
        kind=kind,
        name=fields.named(record.get("name")) or category,
        parent_id=fields.named(record.get("parent_uuid")),
        start_ns=None if phase == "end" else at,
        end_ns=None if phase == "start" else at,
        time_state=state,
        status="error" if error else "ok" if phase == "end" else "unset",
        error=error,
        model=fields.named(profile.get("model_name")),
        usage=usage(fields.table(data).get("usage")),
        asked=given,
        answered=answered,
        tool=_tool(record, profile, phase) if kind == "tool" else None,
        attributes=_attributes(record, kind),
    )
    outermost = step.parent_id is None and kind in ("agent", "other")
    run = Run(
        native=session or of_name(place.uri) or place.file_id,
        family=NAME,
        steps=(step,),
        conversation=session,
        agent=step.name if outermost and kind == "agent" else None,
        # Also of an end: what was answered stands behind what was asked.
        start_ns=at,
        end_ns=at,
        time_state=state,
        input_text=_text(data, _SAID) if outermost and phase == "start" else None,
        output_text=_text(data, _ANSWERED) if outermost and phase == "end" else None,
        metadata=metadata,
    )
    return (rows(run, NAME, place),)


def _turns(kind: str, phase: str | None, data: Json) -> tuple[tuple[Turn, ...], tuple[Turn, ...]]:
    """What a call of a model was given and answered; the rest is no conversation."""
    told = fields.table(data)
    if kind != "llm":
        return (), ()
    if phase == "end":
        message = next((one for one in fields.tables(told.get("choices"))), {}).get(
            "message", told.get("message")
        )
        spoken = message if isinstance(message, dict) else told
        return (), tuple(message_turns({"role": "assistant", **spoken}))
    request = told.get("messages", fields.table(told.get("content")).get("messages"))
    return turns(fields.listing(request)), ()


def _tool(record: JsonObject, profile: JsonObject, phase: str | None) -> ToolUse:
    data = record.get("data")
    given = data if phase == "start" else None
    result = None
    if phase == "end" and data is not None:
        alone = fields.table(data)
        value = alone["result"] if alone.keys() == {"result"} else data
        result = value if isinstance(value, str) else fields.written(value) or "{}"
    call = tool_call(fields.named(profile.get("tool_call_id")), fields.named(record.get("name")), given)
    return ToolUse(call, result, bool(fields.table(record.get("metadata")).get("error")))


def _text(data: Json, keys: tuple[str, ...]) -> str | None:
    if isinstance(data, str):
        return data or None
    told = fields.table(data)
    return next((found for key in keys if (found := fields.text(told.get(key)))), None)


def _attributes(record: JsonObject, kind: str) -> JsonObject:
    kept = {"category_profile", "data_schema", "attributes", "metadata"}
    if kind not in ("llm", "tool"):
        kept.add("data")
    return beside({key: value for key, value in record.items() if key in kept and value})
