"""The gateway's spool: one line a request (``rsi.trace/1``) or a piece of feedback (``rsi.feedback/1``)."""

from rsi.ids import uid
from rsi.records import Origin, Score, Span, Trace
from rsi.traces.formats import conversation, fields
from rsi.traces.rows import Json, JsonObject, Place, Reason, Refusal, Rows

NAME = "gateway"
TRACE = "rsi.trace/1"
FEEDBACK = "rsi.feedback/1"


def matches(record: JsonObject) -> bool:
    """`schema` names one of ours, in whatever version."""
    schema = record.get("schema")
    return isinstance(schema, str) and schema.startswith(("rsi.trace/", "rsi.feedback/"))


def read(record: JsonObject, place: Place) -> tuple[Rows | Refusal, ...]:
    """One trace, or one score for a trace of the same namespace."""
    schema = record["schema"]
    if schema not in (TRACE, FEEDBACK):
        return (Refusal(Reason.UNKNOWN_FORMAT, f"schema {schema!r}; this rsi reads {TRACE} and {FEEDBACK}"),)
    native = fields.named(record.get("trace_id"))
    if native is None:
        return (Refusal(Reason.MISSING_FIELD, f"{schema} without trace_id"),)
    namespace = fields.named(record.get("namespace")) or place.namespace
    trace_uid = uid(namespace, NAME, native)
    if schema == FEEDBACK:
        return (_feedback(record, trace_uid, namespace, native),)
    return (_trace(record, trace_uid, namespace, native, place.origin),)


def _trace(
    record: JsonObject, trace_uid: str, namespace: str, native: str, origin: Origin | None
) -> Rows | Refusal:
    if not isinstance(record.get("messages"), list):
        return Refusal(Reason.MISSING_FIELD, f"{TRACE} without the list messages")
    said = record.get("origin")
    if said is not None and said not in list(Origin):
        return Refusal(Reason.BAD_VALUE, f"origin {said!r}; expected one of {', '.join(Origin)}")
    answer, route = fields.table(record.get("answer")), fields.table(record.get("route"))
    asked = conversation.turns(fields.listing(record.get("messages")))
    answered = (conversation.turn({"role": "assistant", **answer}),) if answer else ()
    start, state = fields.moment(record.get("start_ns"))
    whole = asked + answered
    trace = Trace(
        trace_uid=trace_uid,
        namespace=namespace,
        format=NAME,
        native_id=native,
        conversation=fields.named(record.get("session")),
        model=fields.named(record.get("model")),
        version=fields.named(record.get("version")),
        route=fields.named(route.get("role")),
        origin=Origin(str(said)) if said else origin or Origin.TRAFFIC,
        start_ns=start,
        end_ns=fields.moment(record.get("end_ns"))[0],
        time_state=state,
        input_text=conversation.last(asked, "user"),
        output_text=conversation.last(answered, "assistant"),
        error=fields.named(record.get("error")),
        metadata=fields.written({key: answer[key] for key in ("finish_reason",) if key in answer}),
    )
    return Rows(
        trace_uid=trace_uid,
        namespace=namespace,
        native=native,
        session=trace.conversation,
        trace=trace,
        spans=_spans(trace, route, bool(answer), fields.table(record.get("usage"))),
        messages=conversation.message_rows(trace_uid, whole),
        tool_calls=conversation.call_rows(trace_uid, whole),
    )


def _spans(trace: Trace, route: JsonObject, answered: bool, usage: JsonObject) -> tuple[Span, ...]:
    """The two hops. Only the whole request has times; the route hop's milliseconds stay an attribute."""
    spans = []
    if route:
        attributes: Json = route
        spans.append(
            Span(
                span_uid=uid(trace.trace_uid, "route"),
                trace_uid=trace.trace_uid,
                native_id="route",
                seq=0,
                kind="llm",
                name="route",
                status="ok",
                attributes=fields.written(attributes),
            )
        )
    if answered or trace.error is not None:
        spans.append(
            Span(
                span_uid=uid(trace.trace_uid, "answer"),
                trace_uid=trace.trace_uid,
                native_id="answer",
                seq=1,
                kind="llm",
                name="answer",
                start_ns=trace.start_ns,
                end_ns=trace.end_ns,
                status="ok" if trace.error is None else "error",
                error=trace.error,
                model=trace.model,
                input_tokens=fields.whole(usage.get("prompt_tokens")),
                output_tokens=fields.whole(usage.get("completion_tokens")),
            )
        )
    return tuple(spans)


def _feedback(record: JsonObject, trace_uid: str, namespace: str, native: str) -> Rows | Refusal:
    name = fields.named(record.get("name"))
    if name is None:
        return Refusal(Reason.MISSING_FIELD, f"{FEEDBACK} without name")
    value = fields.number(record.get("score"))
    if record.get("score") is not None and (value is None or not 0 <= value <= 1):
        return Refusal(Reason.BAD_VALUE, f"score {record.get('score')!r}; expected a number from 0 to 1")
    feedback_id = fields.named(record.get("feedback_id"))
    correction, comment = fields.named(record.get("correction")), fields.text(record.get("comment"))
    said = feedback_id or uid(name, str(value), correction or "", comment or "", str(record.get("ts_ns")))
    score = Score(
        score_uid=uid(namespace, NAME, native, said),
        trace_uid=trace_uid,
        name=name,
        value=value,
        correction=correction,
        source=fields.named(record.get("source")) or "end_user",
        comment=comment,
        ts_ns=fields.moment(record.get("ts_ns"))[0],
    )
    session = fields.named(record.get("session"))
    return Rows(trace_uid, namespace, native, session=session, scores=(score,))
