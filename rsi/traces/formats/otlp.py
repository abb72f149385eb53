"""OpenTelemetry spans, events and log records as OTLP/JSON.

A trace is a trace id; its spans may come in several batches, in any order. Each batch becomes one part of the
trace, and the views join the parts. Log records about models belong to the span they name, whether it is in
the same batch or not. Evaluation events become scores.
"""

from collections.abc import Callable

from rsi.traces.formats import fields, otel_run, otel_scores, otlp_envelope
from rsi.traces.formats.otel_span import EVALUATION, Told, moment, step, times
from rsi.traces.formats.otlp_content import DETAILS, NOTHING, Event, content
from rsi.traces.formats.otlp_envelope import Item
from rsi.traces.formats.run import Judgement, Step, rows
from rsi.traces.rows import JsonObject, Place, Reason, Refusal, Rows

NAME = "otlp"
_ERROR_CODES = (2, "2", "STATUS_CODE_ERROR", "ERROR", "Error")
_OK_CODES = (1, "1", "STATUS_CODE_OK", "OK", "Ok")


def matches(record: JsonObject) -> bool:
    """Resource spans or logs, in any of their wrappings."""
    return otlp_envelope.is_document(record)


def read(record: JsonObject, place: Place) -> tuple[Rows | Refusal, ...]:
    """Rows for each trace in the document; spans without ids and log records that are not about models are
    refused."""
    items, parts, refusals = otlp_envelope.by_trace(record)
    found: list[Rows | Refusal] = []
    foreign: dict[str, int] = {}
    for trace_id, ones in items.items():
        found += _trace(trace_id, ones, parts.get(trace_id), place, foreign)
    if foreign:
        names = ", ".join(f"{name} {count}" for name, count in sorted(foreign.items())[:5])
        detail = f"log records that are not about a model: {names}"
        refusals.append(Refusal(Reason.UNKNOWN_FORMAT, detail, b""))
    if not found and not refusals:
        refusals.append(Refusal(Reason.MISSING_FIELD, "an OTLP document without spans or log records"))
    return (*found, *refusals)


def _trace(
    trace_id: str, items: list[Item], part: Callable[[], bytes] | None, place: Place, foreign: dict[str, int]
) -> list[Rows | Refusal]:
    logs = _logs(items, foreign)
    spans = [_told(item, logs.pop(item.span_id or "", ())) for item in items if not item.is_log]
    judgements: list[Judgement] = []
    refusals: list[Refusal] = []
    more: list[Step] = []
    loose = logs.pop("", [])
    for span_id, events in logs.items():
        _judge(events, span_id, judgements, refusals)
        more += _step_of_logs(span_id, [one for one in events if one.name != EVALUATION])
    _judge(loose, None, judgements, refusals)
    more += [one for event in loose if event.name == DETAILS for one in _step_of_logs(_name(event), [event])]
    said = content({}, [one for one in loose if one.name != DETAILS], True) if loose else NOTHING
    run, refused = otel_run.run(trace_id, spans, judgements, more, said.asked + said.answered)
    if run.steps or run.turns or run.judgements:
        return [rows(run, NAME, place, part), *refusals, *refused]
    return [*refusals, *refused]


def _logs(items: list[Item], foreign: dict[str, int]) -> dict[str, list[Event]]:
    """Log records about models by span id ("" where they have none); others are counted by name."""
    logs: dict[str, list[Event]] = {}
    for item in items:
        if item.is_log:
            event = _event(item.record)
            if event.name.startswith("gen_ai."):
                logs.setdefault(item.span_id or "", []).append(event)
            else:
                name = event.name[:60] or "unnamed"
                foreign[name] = foreign.get(name, 0) + 1
    return logs


def _event(record: JsonObject) -> Event:
    attributes = otlp_envelope.attributes(record.get("attributes"))
    body = otlp_envelope.any_value(record.get("body"))
    if isinstance(body, dict):
        attributes = {**body, **attributes}
    name = fields.first(record, "eventName", "name") or fields.first(attributes, "event.name") or ""
    time = record.get("timeUnixNano") or record.get("observedTimeUnixNano")
    return Event(name, moment(time)[0], attributes)


def _told(item: Item, logs: "list[Event] | tuple[()]") -> Told:
    record = item.record
    start, end, state = times(record.get("startTimeUnixNano"), record.get("endTimeUnixNano"))
    events = record.get("events")
    status = record.get("status")
    code = message = None
    if isinstance(status, dict):
        code, message = status.get("code"), fields.named(status.get("message"))
    return Told(
        item.span_id or "",
        otlp_envelope.hex_id(record.get("parentSpanId"), 16),
        fields.named(record.get("name")) or "",
        otlp_envelope.attributes(record.get("attributes")),
        start,
        end,
        state,
        "error" if code in _ERROR_CODES else "ok" if code in _OK_CODES else "unset",
        message,
        [*map(_event, fields.tables(events)), *logs] if events or logs else (),
        fields.listing(record.get("links")),
        item.scope,
        item.resource,
    )


def _judge(
    events: list[Event], span_id: str | None, judgements: list[Judgement], refusals: list[Refusal]
) -> None:
    """Evaluations of spans that are in another batch, or of none."""
    for event in events:
        if event.name == EVALUATION:
            said = otel_scores.evaluation(event, span_id)
            if isinstance(said, Refusal):
                refusals.append(said)
            else:
                judgements.append(said)


def _name(event: Event) -> str:
    return fields.first(event.attributes, "gen_ai.response.id") or f"event {event.ts_ns}"


def _step_of_logs(span_id: str, events: list[Event]) -> list[Step]:
    """The part of a model's call that only log records tell; its span says when it was."""
    if not events:
        return []
    attributes = {
        key: value for event in events if event.name == DETAILS for key, value in event.attributes.items()
    }
    attributes.setdefault("gen_ai.operation.name", "chat")
    told = Told(span_id, None, "", attributes, None, None, "missing", events=events)
    said = step(told)
    if not said.asked and all(one.name != DETAILS for one in events):
        # An answer that was streamed is told when the call's own span has ended, to the span around it.
        said = said._replace(kind="other")
    moments = [one.ts_ns for one in events if one.ts_ns]
    return [said._replace(at_ns=min(moments, default=None))]
