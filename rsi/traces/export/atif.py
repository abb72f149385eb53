"""Traces as trajectories in ATIF v1.7: one document a trace.

What ATIF has no place for stands in `extra`: the scores, the calls that a simulated user makes, and the names
of version, route and task.
"""

from datetime import UTC, datetime

from rsi.traces.export.conversation import Asked, Turn, conversation, failed, owners
from rsi.traces.export.scores import score
from rsi.traces.export.whole import Whole
from rsi.traces.formats import fields
from rsi.traces.rows import Json, JsonObject, Span

NAME = "atif"
VERSION = "ATIF-v1.7"
_SOURCES = {"assistant": "agent", "user": "user", "system": "system"}
_METRICS = {
    "prompt_tokens": "input_tokens",
    "completion_tokens": "output_tokens",
    "cached_tokens": "cache_read_tokens",
    "cost_usd": "cost_usd",
}


def records(whole: Whole) -> list[JsonObject]:
    """The trajectory; none where nobody said anything and no model was called."""
    turns = conversation(whole)
    calls = [one for one in whole.spans if one.kind == "llm" and one.span_uid not in whole.doubles]
    if not turns and not calls:
        return []
    trace = whole.trace
    steps = _steps(whole, turns, calls)
    agent: JsonObject = {"name": trace.agent or trace.format, "version": trace.release or "unknown"}
    if trace.model is not None:
        agent["model_name"] = trace.model
    record: JsonObject = {
        "schema_version": VERSION,
        "session_id": trace.conversation or trace.trace_uid,
        "trajectory_id": trace.trace_uid,
        "agent": agent,
        "steps": [*steps],
        "final_metrics": {
            **{
                f"total_{name}": sum(counts)
                for name, column in _METRICS.items()
                if (counts := _counts(calls, column))
            },
            "total_steps": len(steps),
        },
        "extra": _extra(whole),
    }
    return [record]


def _counts(calls: list[Span], column: str) -> list[int | float]:
    return [count for one in calls if (count := getattr(one, column)) is not None]


def _extra(whole: Whole) -> JsonObject:
    trace = whole.trace
    rsi: JsonObject = {
        "native_id": trace.native_id,
        "format": trace.format,
        "conversation": trace.conversation,
        "version": trace.version,
        "route": trace.route,
        "environment": trace.environment,
        "user": trace.user_ref,
        "origin": trace.origin,
        "error": trace.error,
        "start": moment(trace.start_ns),
        "end": moment(trace.end_ns),
        "metadata": fields.parsed(trace.metadata),
    }
    extra: JsonObject = {
        "task_id": trace.task_id,
        "trial": trace.trial,
        "scores": [score(one) for one in whole.scores] or None,
        "rsi": {key: value for key, value in rsi.items() if value is not None},
    }
    return {key: value for key, value in extra.items() if value is not None}


def _steps(whole: Whole, turns: tuple[Turn, ...], calls: list[Span]) -> list[JsonObject]:
    """Steps of the system, the user and the agent; results of tools are observations of the step before."""
    spans = owners(whole)
    said = {one.span_uid for one in spans.values()}
    silent = [one for one in calls if one.span_uid not in said]
    told: set[str] = set()
    steps: list[JsonObject] = []
    for turn in turns:
        message = turn.message
        while silent and message.at_ns and (silent[0].start_ns or 0) < message.at_ns:
            steps.append(_silent(silent.pop(0), len(steps) + 1))
        if message.role == "tool" and steps:
            _observe(steps[-1], turn)
            continue
        span = spans.get(message.message_uid) if message.role == "assistant" else None
        is_call = span is not None and span.span_uid not in told
        steps.append(_step(turn, len(steps) + 1, span, is_call))
        if span is not None:
            told.add(span.span_uid)
    return steps + [_silent(one, len(steps) + number) for number, one in enumerate(silent, 1)]


def _silent(span: Span, number: int) -> JsonObject:
    """A call of a model whose answer nobody recorded."""
    step: JsonObject = {"step_id": number, "source": "agent", "message": "", "llm_call_count": 1}
    if span.start_ns is not None:
        step["timestamp"] = moment(span.start_ns)
    _counted(step, span)
    extra = fields.table(step["extra"])
    extra["rsi"] = {"content_state": "silent"}
    return step


def _counted(step: JsonObject, span: Span) -> None:
    """What a call of a model counts and how it went."""
    if span.model is not None:
        step["model_name"] = span.model
    step["metrics"] = _metrics(span)
    step["extra"] = {"invocation": _invocation(span)}


def _step(turn: Turn, number: int, span: Span | None, is_call: bool) -> JsonObject:
    """One step; of the messages that one call of a model answered, the first has its counts."""
    said = turn.message
    source = _SOURCES.get(said.role, "system")
    step: JsonObject = {"step_id": number, "source": source, "message": said.content or ""}
    at_ns = said.at_ns or (span.start_ns if span is not None else None)
    if at_ns:
        step["timestamp"] = moment(at_ns)
    beside: JsonObject = {
        "role": None if said.role in _SOURCES else said.role,
        "content_state": "absent" if said.content is None else None,
        "author": said.author,
        "tool_call_id": said.tool_call_id,
    }
    if source == "agent":
        step["llm_call_count"] = 1 if is_call else 0
    calls: list[Json] = [_call(one) for one in turn.calls]
    if calls:
        (step if source == "agent" else beside)["tool_calls"] = calls
    if said.reasoning is not None:
        # In ATIF only a call of a model has thoughts.
        (step if is_call else beside)["reasoning_content"] = said.reasoning
    if span is not None and is_call:
        _counted(step, span)
    kept: JsonObject = {key: value for key, value in beside.items() if value is not None}
    if kept:
        step["extra"] = {**fields.table(step.get("extra")), "rsi": kept}
    return step


def _metrics(span: Span) -> JsonObject:
    counts = {name: getattr(span, column) for name, column in _METRICS.items()}
    found: JsonObject = {name: count for name, count in counts.items() if count is not None}
    if span.reasoning_tokens is not None:
        found["extra"] = {"reasoning_tokens": span.reasoning_tokens}
    return found


def _invocation(span: Span) -> JsonObject:
    found: JsonObject = {
        "invocation_id": span.native_id,
        "status": "error" if span.status == "error" else "completed",
        "start_timestamp": moment(span.start_ns),
        "end_timestamp": moment(span.end_ns),
    }
    return {key: value for key, value in found.items() if value is not None}


def _call(one: Asked) -> JsonObject:
    """ATIF's arguments are an object; what is none stands beside."""
    call = one.call
    found: JsonObject = {
        "tool_call_id": one.id,
        "function_name": call.name,
        "arguments": fields.parsed(call.arguments) if call.arguments is not None else {},
    }
    if call.arguments is None:
        found["extra"] = {"arguments": call.arguments_raw}
    return found


def _observe(step: JsonObject, turn: Turn) -> None:
    """A result joins the observation of a step."""
    observation = fields.table(step.setdefault("observation", {"results": []}))
    answers = turn.answers
    result: JsonObject = {"content": turn.message.content}
    called = answers.id if answers else turn.message.tool_call_id
    if called is not None:
        result["source_call_id"] = called
    if answers is not None and failed(answers.call):
        result["extra"] = {"is_error": True}
    results: list[Json] = fields.listing(observation["results"])
    results.append(result)


def moment(ns: int | None) -> str | None:
    """ISO 8601, UTC, to the nanosecond where it says more than microseconds."""
    if ns is None:
        return None
    seconds, rest = divmod(ns, 10**9)
    text = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    fraction = f"{rest:09d}".removesuffix("000")
    return f"{text}.{fraction}Z"
