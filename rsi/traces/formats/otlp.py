"""OpenTelemetry spans, events and log records with ``gen_ai.*`` names, as OTLP/JSON.

A trace is a trace id; its spans may come in several batches, in any order. Each batch becomes one part of the
trace, and the views join the parts. Tool calls are told by the model's message and by the tool's span: the
same id makes them one. Evaluation events become scores.
"""

from collections import Counter
from dataclasses import dataclass

from rsi.ids import digest, uid
from rsi.records import Message, Origin, Score, Span, ToolCall, Trace
from rsi.traces.formats import conversation, fields, otlp_envelope
from rsi.traces.formats.conversation import Call
from rsi.traces.formats.otlp_content import Event, Said, said
from rsi.traces.formats.otlp_envelope import Item
from rsi.traces.rows import JsonObject, Place, Reason, Refusal, Rows

NAME = "otlp"
_EVALUATION = "gen_ai.evaluation.result"
_KINDS = {
    "chat": "llm",
    "generate_content": "llm",
    "text_completion": "llm",
    "execute_tool": "tool",
    "invoke_agent": "agent",
    "create_agent": "agent",
    "invoke_workflow": "step",
    "plan": "step",
}
_LABELS = {"pass": 1.0, "passed": 1.0, "correct": 1.0, "true": 1.0, "yes": 1.0, "good": 1.0}
_LABELS |= {"fail": 0.0, "failed": 0.0, "incorrect": 0.0, "false": 0.0, "no": 0.0, "bad": 0.0}
_ERROR_CODES = (2, "2", "STATUS_CODE_ERROR", "ERROR", "Error")
_OK_CODES = (1, "1", "STATUS_CODE_OK", "OK", "Ok")


@dataclass(frozen=True)
class _Span:
    """A span with its content."""

    row: Span
    attributes: JsonObject
    said: Said
    root: bool

    @property
    def start(self) -> int:
        return self.row.start_ns or 0

    @property
    def leads(self) -> bool:
        """Its failure is the run's."""
        return self.root or self.row.kind == "agent"


def matches(record: JsonObject) -> bool:
    """Resource spans or logs, also under their older name."""
    return any(isinstance(record.get(key), list) for key in otlp_envelope.KEYS)


def read(record: JsonObject, place: Place) -> tuple[Rows | Refusal, ...]:
    """Rows for each trace in the document; spans without ids and events that are not about models are
    refused."""
    items, parts, refusals = otlp_envelope.by_trace(record)
    found: list[Rows | Refusal] = []
    foreign = Counter[str]()
    for trace_id, ones in items.items():
        rows, refused = _trace(trace_id, ones, parts.get(trace_id), place, foreign)
        if rows.trace or rows.scores or rows.messages:
            found.append(rows)
        found.extend(refused)
    if foreign:
        names = ", ".join(f"{name} {count}" for name, count in sorted(foreign.items())[:5])
        refusals.append(
            Refusal(Reason.UNKNOWN_FORMAT, f"log records that are not about a model: {names}", b"")
        )
    if not found and not refusals:
        refusals.append(Refusal(Reason.MISSING_FIELD, "an OTLP document without spans or log records"))
    return (*found, *refusals)


def _trace(
    trace_id: str, items: list[Item], part: bytes | None, place: Place, foreign: Counter[str]
) -> tuple[Rows, list[Refusal]]:
    trace_uid = uid(place.namespace, NAME, trace_id)
    logs = _logs(items, foreign)
    spans = [_span(trace_uid, item, logs.get(item.span_id or "", [])) for item in items if not item.is_log]
    spans.sort(key=lambda one: (one.start, one.row.span_uid))
    known = {one.row.native_id for one in spans}
    content = [one.said for one in spans] + [said({}, ones) for key, ones in logs.items() if key not in known]
    scores, refusals = _scores(trace_uid, items, logs)
    session = _named(spans, "gen_ai.conversation.id", "session.id")
    rows = Rows(
        trace_uid=trace_uid,
        namespace=place.namespace,
        native=trace_id,
        session=session,
        trace=_trace_row(trace_uid, trace_id, session, spans, content, items[0], place),
        spans=tuple(one.row for one in spans),
        messages=_messages(trace_uid, content),
        tool_calls=_tool_calls(trace_uid, spans, content),
        scores=scores,
        part=part,
    )
    return rows, refusals


def _logs(items: list[Item], foreign: Counter[str]) -> dict[str, list[Event]]:
    """Log records about models by span id ("" where they have none); others are counted by name."""
    logs: dict[str, list[Event]] = {}
    for item in items:
        if not item.is_log:
            continue
        event = _event(item.record)
        if event.name.startswith("gen_ai."):
            logs.setdefault(item.span_id or "", []).append(event)
        else:
            foreign[event.name[:60] or "unnamed"] += 1
    return logs


def _event(record: JsonObject) -> Event:
    attributes = otlp_envelope.attributes(record.get("attributes"))
    body = otlp_envelope.any_value(record.get("body"))
    if isinstance(body, dict):
        attributes = {**body, **attributes}
    name = fields.first(record, "eventName", "name") or fields.first(attributes, "event.name") or ""
    return Event(name, fields.moment(record.get("timeUnixNano"))[0], attributes)


def _span(trace_uid: str, item: Item, logs: list[Event]) -> _Span:
    record = item.record
    attributes = otlp_envelope.attributes(record.get("attributes"))
    events = [_event(one) for one in fields.tables(record.get("events"))] + logs
    kind = _kind(record, attributes)
    parent = otlp_envelope.hex_id(record.get("parentSpanId"), 16)
    status, error = _status(fields.table(record.get("status")), attributes)
    start = fields.moment(record.get("startTimeUnixNano"))[0]
    row = Span(
        span_uid=uid(trace_uid, item.span_id or ""),
        trace_uid=trace_uid,
        native_id=item.span_id or "",
        native_parent_id=parent,
        seq=start or 0,
        kind=kind,
        name=fields.named(record.get("name")) or kind,
        start_ns=start,
        end_ns=fields.moment(record.get("endTimeUnixNano"))[0],
        status=status,
        error=error,
        model=fields.first(attributes, "gen_ai.response.model", "gen_ai.request.model"),
        input_tokens=_tokens(attributes, "input", "prompt"),
        output_tokens=_tokens(attributes, "output", "completion"),
        attributes=fields.written(attributes),
    )
    return _Span(row, attributes, said(attributes, events) if kind == "llm" else Said(), parent is None)


def _kind(record: JsonObject, attributes: JsonObject) -> str:
    operation = fields.first(attributes, "gen_ai.operation.name")
    if operation is not None:
        return _KINDS.get(operation, "other")
    if "gen_ai.tool.name" in attributes:
        return "tool"
    asks = fields.first(attributes, "gen_ai.request.model", "gen_ai.response.model")
    return "llm" if asks else _KINDS.get(str(record.get("name")).split(" ")[0], "other")


def _status(status: JsonObject, attributes: JsonObject) -> tuple[str, str | None]:
    error_type = fields.first(attributes, "error.type")
    if status.get("code") in _ERROR_CODES or error_type is not None:
        return "error", fields.first(status, "message") or error_type or "error without a message"
    return ("ok" if status.get("code") in _OK_CODES else "unset"), None


def _tokens(attributes: JsonObject, new: str, old: str) -> int | None:
    value = fields.whole(attributes.get(f"gen_ai.usage.{new}_tokens"))
    return fields.whole(attributes.get(f"gen_ai.usage.{old}_tokens")) if value is None else value


def _trace_row(
    trace_uid: str,
    trace_id: str,
    session: str | None,
    spans: list[_Span],
    content: list[Said],
    item: Item,
    place: Place,
) -> Trace | None:
    """What this batch knows of the trace; null where it only judges one."""
    heard = [one for one in content if one.turns]
    if not spans and not heard:
        return None
    starts = [one.row.start_ns for one in spans if one.row.start_ns]
    ends = [one.row.end_ns for one in spans if one.row.end_ns]
    is_run = len(heard) > 1 or any(one.row.kind in ("agent", "tool") for one in spans)
    asked = heard[0].asked if heard else ()
    answered = [text for one in heard if (text := conversation.last(one.answered, "assistant"))]
    return Trace(
        trace_uid=trace_uid,
        namespace=place.namespace,
        format=NAME,
        native_id=trace_id,
        conversation=session,
        agent=_named(spans, "gen_ai.agent.name"),
        model=next((one.row.model for one in spans if one.row.kind == "llm" and one.row.model), None),
        origin=place.origin or Origin.TRAFFIC,
        start_ns=min(starts, default=None),
        end_ns=max(ends, default=None),
        time_state="exact" if starts else "missing",
        input_text=conversation.opening(asked, "user") if is_run else conversation.last(asked, "user"),
        output_text=answered[-1] if answered else None,
        error=next((one.row.error for one in spans if one.leads and one.row.error), None),
        metadata=fields.written({"resource": item.resource} if item.resource else None),
    )


def _named(spans: list[_Span], *keys: str) -> str | None:
    return next((found for one in spans if (found := fields.first(one.attributes, *keys))), None)


def _messages(trace_uid: str, content: list[Said]) -> tuple[Message, ...]:
    rows: dict[str, Message] = {}
    for one in content:
        for row in conversation.message_rows(trace_uid, one.turns):
            rows.setdefault(row.message_uid, row)
    return tuple(rows.values())


def _tool_calls(trace_uid: str, spans: list[_Span], content: list[Said]) -> tuple[ToolCall, ...]:
    """Calls as conversations tell them, and as the tools' spans do.

    The order of a span that no message in sight asked for is its time, which is larger than any place.
    """
    rows = [row for one in content for row in conversation.call_rows(trace_uid, one.turns)]
    seen: Counter[str] = Counter()
    for one in spans:
        if one.row.kind != "tool":
            continue
        arguments, state = fields.arguments(one.attributes.get("gen_ai.tool.call.arguments"))
        name = fields.first(one.attributes, "gen_ai.tool.name") or one.row.name.removeprefix("execute_tool ")
        call = Call(fields.first(one.attributes, "gen_ai.tool.call.id"), name, arguments, state)
        answer = one.attributes.get("gen_ai.tool.call.result")
        result = answer if isinstance(answer, str) else fields.written(answer)
        key = conversation.call_name(call) if call.native_id or arguments else one.row.span_uid
        rows.append(
            ToolCall(
                call_uid=uid(trace_uid, key, str(seen[key])),
                trace_uid=trace_uid,
                seq=one.start,
                native_id=call.native_id,
                name=name,
                arguments=arguments,
                arguments_state=state,
                result=result or one.row.error,
                status=conversation.status(result, one.row.status == "error"),
            )
        )
        seen[key] += 1
    return tuple({row.digest: row for row in rows}.values())


def _scores(
    trace_uid: str, items: list[Item], logs: dict[str, list[Event]]
) -> tuple[tuple[Score, ...], list[Refusal]]:
    events = [(key, event) for key, ones in logs.items() for event in ones if event.name == _EVALUATION]
    for item in items:
        for one in fields.tables(item.record.get("events")) if not item.is_log else []:
            event = _event(one)
            if event.name == _EVALUATION:
                events.append((item.span_id or "", event))
    scores, refusals = list[Score](), list[Refusal]()
    for span_id, event in events:
        found = _score(trace_uid, span_id, event)
        if isinstance(found, Score):
            scores.append(found)
        else:
            refusals.append(found)
    return tuple(scores), refusals


def _score(trace_uid: str, span_id: str, event: Event) -> Score | Refusal:
    part = (fields.written(event.attributes) or "{}").encode()
    name = fields.first(event.attributes, "gen_ai.evaluation.name")
    if name is None:
        return Refusal(Reason.MISSING_FIELD, f"{_EVALUATION} without gen_ai.evaluation.name", part)
    label = fields.first(event.attributes, "gen_ai.evaluation.score.label")
    value = fields.number(event.attributes.get("gen_ai.evaluation.score.value"))
    value = _LABELS.get((label or "").lower()) if value is None else value
    if value is not None and not 0 <= value <= 1:
        detail = f"evaluation {name} has value {value}; expected 0 (bad) to 1 (good)"
        return Refusal(Reason.BAD_VALUE, detail, part)
    return Score(
        score_uid=uid(trace_uid, span_id, name, str(value), str(event.ts_ns), digest(event.attributes)),
        trace_uid=trace_uid,
        name=name,
        value=value,
        source="code",
        basis=f"label {label}" if label else None,
        comment=fields.text(event.attributes.get("gen_ai.evaluation.explanation")),
        ts_ns=event.ts_ns,
    )
