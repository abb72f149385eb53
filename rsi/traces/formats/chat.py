"""Logs in the shape of the OpenAI chat API, one conversation or one request with its response a record.

- ``{"messages": […]}`` with any of id, model, session, tools, metadata, feedback or scores, `label` (thumbs),
  and an assistant message at the end where it was answered;
- ``{"request": {"messages": […]}, "response": {"choices": […]}}``, which is one call of the model.

A `trace_id` joins several requests to one trace. An `id` alone is weak (proxies repeat it, or write "None"),
so that the trace is named by it and by what was said.
"""

import orjson

from rsi.ids import digest, uid
from rsi.records import Origin, Score, Span, Trace
from rsi.traces.formats import conversation, fields
from rsi.traces.formats.conversation import Turn
from rsi.traces.rows import Json, JsonObject, Place, Reason, Refusal, Rows

NAME = "chat"
_SESSION = ("session", "session_id", "conversation_id", "thread_id", "conversation")
_START = ("start_ns", "start_time", "created", "created_at", "timestamp", "ts")
_END = ("end_ns", "end_time", "completed_at")
_KNOWN = {
    "messages", "request", "response", "choices", "feedback", "scores", "label", "id", "trace_id", "model",
    "tools", "usage", "error", "metadata", *_SESSION, *_START, *_END,
}  # fmt: skip


def matches(record: JsonObject) -> bool:
    """A list `messages` at the top or in `request`."""
    request = record.get("request")
    inner = isinstance(request, dict) and isinstance(request.get("messages"), list)
    return inner or isinstance(record.get("messages"), list)


def read(record: JsonObject, place: Place) -> tuple[Rows | Refusal, ...]:
    """One trace with its scores; a score that says nothing readable is refused beside it."""
    request = fields.table(record.get("request"))
    is_call = "messages" in request
    request = request if is_call else record
    response = fields.table(record.get("response", None if is_call else record))
    choice = next(iter(fields.tables(response.get("choices"))), {})
    asked = conversation.turns(fields.listing(request.get("messages")))
    if not asked:
        return (Refusal(Reason.BAD_VALUE, "messages holds no message with a role"),)
    said = asked + conversation.turns([choice.get("message")])
    native, trace_uid = _named(record, response, request, place)
    trace = _trace(record, request, response, said, place).model_copy(
        update={"trace_uid": trace_uid, "native_id": native}
    )
    scores, refusals = _scores(record, trace_uid)
    rows = Rows(
        trace_uid=trace_uid,
        namespace=place.namespace,
        native=trace_uid,
        session=trace.conversation,
        trace=trace,
        spans=(_span(trace, request, response, choice),) if is_call or choice else (),
        messages=conversation.message_rows(trace_uid, said),
        tool_calls=conversation.call_rows(trace_uid, said),
        scores=scores,
    )
    return (rows, *refusals)


def _named(record: JsonObject, response: JsonObject, request: JsonObject, place: Place) -> tuple[str, str]:
    """The native id and the uid."""
    strong = fields.named(record.get("trace_id"))
    if strong is not None:
        return strong, uid(place.namespace, NAME, strong)
    content = digest([request.get("messages"), response.get("choices")])
    weak = fields.first(record, "id") or fields.first(response, "id")
    return weak or content, uid(place.namespace, NAME, weak or "", content)


def _trace(
    record: JsonObject, request: JsonObject, response: JsonObject, said: tuple[Turn, ...], place: Place
) -> Trace:
    metadata = fields.table(record.get("metadata"))
    start, state = _time(record, _START)
    if start is None:
        start, state = fields.moment(response.get("created"))
    rest: JsonObject = {key: value for key, value in record.items() if key not in _KNOWN}
    if metadata:
        rest["metadata"] = metadata
    offered = fields.tables(request.get("tools"))
    tools = [fields.table(tool.get("function", tool)).get("name") for tool in offered]
    if tools:
        rest["tools"] = tools
    return Trace(
        trace_uid="",
        namespace=place.namespace,
        format=NAME,
        native_id="",
        conversation=fields.first(record, *_SESSION) or fields.first(metadata, *_SESSION),
        model=next(
            (found for one in (response, request, record) if (found := fields.first(one, "model"))), None
        ),
        version=fields.first(metadata, "version"),
        route=fields.first(metadata, "route"),
        origin=place.origin or Origin.TRAFFIC,
        start_ns=start,
        end_ns=_time(record, _END)[0],
        time_state=state,
        input_text=conversation.last(said, "user"),
        output_text=conversation.last(said, "assistant"),
        error=_error(record, response),
        metadata=fields.written(rest),
    )


def _time(record: JsonObject, keys: tuple[str, ...]) -> tuple[int | None, str]:
    """The first time that is one; "invalid" where there is only nonsense."""
    found = [fields.moment(record[key]) for key in keys if record.get(key) is not None]
    return next((one for one in found if one[0] is not None), found[0] if found else (None, "missing"))


def _error(record: JsonObject, response: JsonObject) -> str | None:
    for said in (record.get("error"), response.get("error")):
        if isinstance(said, dict):
            said = said.get("message") or said.get("type") or said.get("code")
        if fields.named(said):
            return fields.named(said)
    code = fields.whole(record.get("status_code"))
    return f"HTTP {code}" if code is not None and code >= 400 else None


def _span(trace: Trace, request: JsonObject, response: JsonObject, choice: JsonObject) -> Span:
    """The one call of the model; named by what was asked and answered, since ids repeat."""
    usage = fields.table(response.get("usage"))
    content = digest([request.get("messages"), response.get("choices"), trace.start_ns])
    attributes = {key: value for key, value in request.items() if key not in ("messages", "tools")}
    if "finish_reason" in choice:
        attributes["finish_reason"] = choice["finish_reason"]
    return Span(
        span_uid=uid(trace.trace_uid, content),
        trace_uid=trace.trace_uid,
        native_id=fields.first(response, "id") or content[:16],
        seq=len(fields.listing(request.get("messages"))),
        kind="llm",
        name="chat",
        start_ns=trace.start_ns,
        end_ns=trace.end_ns,
        status="error" if trace.error else "ok",
        error=trace.error,
        model=trace.model,
        input_tokens=fields.whole(usage.get("prompt_tokens", usage.get("input_tokens"))),
        output_tokens=fields.whole(usage.get("completion_tokens", usage.get("output_tokens"))),
        attributes=fields.written(attributes) if choice or "model" in request else None,
    )


def _scores(record: JsonObject, trace_uid: str) -> tuple[tuple[Score, ...], tuple[Refusal, ...]]:
    said: list[Json] = []
    for key in ("feedback", "scores"):
        value = record.get(key)
        said.extend(value if isinstance(value, list) else [] if value is None else [value])
    if isinstance(record.get("label"), bool):
        said.append({"name": "feedback", "value": record["label"], "source": "human", "basis": "label"})
    found = [_score(one, trace_uid) for one in said]
    return (
        tuple(one for one in found if isinstance(one, Score)),
        tuple(one for one in found if isinstance(one, Refusal)),
    )


def _score(said: Json, trace_uid: str) -> Score | Refusal:
    part = orjson.dumps(said)
    if not isinstance(said, dict):
        return Refusal(Reason.BAD_VALUE, "a score is no object", part)
    given = said.get("value", said.get("score"))
    value, correction = fields.number(given), fields.named(said.get("correction"))
    comment = fields.text(said.get("comment", said.get("explanation")))
    if given is not None and (value is None or not 0 <= value <= 1):
        return Refusal(Reason.BAD_VALUE, f"score {given!r}; expected a number from 0 (bad) to 1 (good)", part)
    if value is None and correction is None and not comment:
        return Refusal(Reason.MISSING_FIELD, "a score without value, correction or comment", part)
    name = fields.named(said.get("name")) or "feedback"
    when, _ = _time(said, ("ts_ns", *_START))
    return Score(
        score_uid=uid(trace_uid, name, str(value), correction or "", comment or "", str(when)),
        trace_uid=trace_uid,
        name=name,
        value=value,
        correction=correction,
        source=fields.named(said.get("source")) or "human",
        basis=fields.named(said.get("basis")),
        comment=comment,
        ts_ns=when,
    )
