"""Conversations as lines of the OpenAI chat API: ``{"messages": […], …}``, with tools called and scores.

Tokens are those of the whole trace. Everything beside `messages` is what our own reader takes again; other
tools leave it alone.
"""

from rsi.traces.export.conversation import Asked, Turn, conversation, failed
from rsi.traces.export.scores import score
from rsi.traces.export.whole import Whole
from rsi.traces.formats import fields
from rsi.traces.rows import Json, JsonObject

NAME = "messages"
_COUNTS = {
    "prompt_tokens": "input_tokens",
    "completion_tokens": "output_tokens",
    "cache_read_input_tokens": "cache_read_tokens",
    "cache_creation_input_tokens": "cache_write_tokens",
}


def records(whole: Whole) -> list[JsonObject]:
    """One line a trace; none where nobody said anything."""
    turns = conversation(whole)
    if not turns:
        return []
    trace = whole.trace
    told = fields.table(fields.parsed(trace.metadata))
    tools: list[Json] = [
        {"type": "function", "function": {"name": name}} for name in fields.listing(told.get("tools"))
    ]
    kept: JsonObject = {key: value for key, value in told.items() if key != "tools"}
    metadata: JsonObject = {
        "id": trace.native_id,
        "format": trace.format,
        "version": trace.version,
        "route": trace.route,
        "release": trace.release,
        "environment": trace.environment,
        "task_id": trace.task_id,
        "trial": trace.trial,
        "origin": trace.origin,
        "metadata": kept or None,
    }
    record: JsonObject = {
        "trace_id": trace.trace_uid,
        "session_id": trace.conversation,
        "user": trace.user_ref,
        "agent": trace.agent,
        "model": trace.model,
        "start_ns": trace.start_ns,
        "end_ns": trace.end_ns,
        "messages": [_message(one) for one in turns],
        "tools": tools or None,
        "error": trace.error,
        "usage": _usage(whole),
        "scores": [score(one) for one in whole.scores] or None,
        "metadata": {key: value for key, value in metadata.items() if value is not None},
    }
    return [{key: value for key, value in record.items() if value is not None}]


def _message(turn: Turn) -> JsonObject:
    said = turn.message
    found: JsonObject = {"role": said.role, "content": said.content}
    if said.author is not None:
        found["name"] = said.author
    if said.reasoning is not None:
        found["reasoning_content"] = said.reasoning
    if turn.calls:
        found["tool_calls"] = [_call(one) for one in turn.calls]
    if said.role == "tool":
        answers = turn.answers
        found["tool_call_id"] = answers.id if answers else said.tool_call_id
        if answers is not None:
            found["name"] = answers.call.name
            if failed(answers.call):
                found["is_error"] = True
    return found


def _call(one: Asked) -> JsonObject:
    call = one.call
    arguments = call.arguments if call.arguments is not None else call.arguments_raw or ""
    return {"id": one.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _usage(whole: Whole) -> JsonObject | None:
    """Sums over the calls of models, each once; null where none says anything."""
    calls = [one for one in whole.spans if one.kind == "llm" and one.span_uid not in whole.doubles]
    found: dict[str, Json] = {}
    for name, column in _COUNTS.items():
        counts = [count for one in calls if (count := getattr(one, column)) is not None]
        if counts:
            found[name] = sum(counts)
    return found or None
