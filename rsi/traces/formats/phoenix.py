"""Spans as Arize Phoenix exports them, as the Python SDK of OpenTelemetry prints them, and as tables hold them.

One span a record, or a page (``data``) or a trace (``spans``) of them: trace and span id in ``context`` or beside,
ISO times, attributes flat or nested, annotations beside. Columns of Phoenix's data frame (``context.trace_id``) are
read as well, and annotations of whole traces.
"""

from rsi.traces.formats import fields, otel_dump, otel_scores
from rsi.traces.formats.otel_dump import Dumped, identifier, nameless
from rsi.traces.formats.otel_flat import flattened
from rsi.traces.formats.otel_run import FAMILY
from rsi.traces.formats.otel_span import Told, moment, times
from rsi.traces.formats.otlp_content import Event
from rsi.traces.formats.run import Judgement, Run, rows
from rsi.traces.rows import Json, JsonObject, Place, Reason, Refusal, Rows

NAME = "phoenix"
_LISTS = ("data", "spans")
_START = ("start_time", "start_timestamp", "start_time_unix_nano")
_END = ("end_time", "end_timestamp", "end_time_unix_nano")


def matches(record: JsonObject) -> bool:
    """A span with its context, a list of such, or an annotation."""
    if _is_span(record) or _is_annotation(record):
        return True
    return any(isinstance(ones := record.get(key), list) and ones and _known(ones[0]) for key in _LISTS)


def read(record: JsonObject, place: Place) -> tuple[Rows | Refusal, ...]:
    """Rows for each trace; spans without ids, and annotations that name no trace, are refused."""
    ones = [record] if _known(record) else [one for key in _LISTS for one in fields.tables(record.get(key))]
    spans = [_span(one) for one in ones if _is_span(one)]
    found = (
        otel_dump.read(spans, NAME, place, lambda mine: {"data": [one.record for one in mine]})
        if spans
        else ()
    )
    said = [_annotation(one, place) for one in ones if _is_annotation(one)]
    if not found and not said:
        return (Refusal(Reason.MISSING_FIELD, "a page without spans or annotations"),)
    return (*found, *said)


def _known(value: Json) -> bool:
    return isinstance(value, dict) and (_is_span(value) or _is_annotation(value))


def _is_span(record: JsonObject) -> bool:
    context = record.get("context")
    if isinstance(context, dict):
        return "trace_id" in context and "span_id" in context
    if "trace_id" in record and "span_id" in record:
        return isinstance(record.get("attributes"), dict)
    return "context.trace_id" in record and "context.span_id" in record


def _is_annotation(record: JsonObject) -> bool:
    return "annotator_kind" in record and "name" in record and ("span_id" in record or "trace_id" in record)


def _span(span: JsonObject) -> Dumped | Refusal:
    context = fields.table(span.get("context")) or span
    trace_id = identifier(context.get("trace_id", span.get("context.trace_id")), 32)
    span_id = identifier(context.get("span_id", span.get("context.span_id")), 16)
    name = span.get("name") or span.get("span_name")
    if trace_id is None or span_id is None:
        return nameless(span, name, "trace_id" if trace_id is None else "span_id")
    start, end, state = times(_one(span, *_START), _one(span, *_END))
    status, message = _status(span)
    scope = fields.table(span.get("instrumentation_scope") or span.get("scope"))
    told = Told(
        span_id,
        identifier(span.get("parent_id") or span.get("parent_span_id"), 16),
        fields.named(name) or "",
        _attributes(span),
        start,
        end,
        state,
        status,
        message,
        [_event(one) for one in fields.tables(span.get("events"))],
        fields.listing(span.get("links")),
        fields.named(scope.get("name")) or fields.first(span, "otel_scope_name"),
        _resource(span),
    )
    said = [
        _judged(one, span_id)
        for key in ("annotations", "span_annotations")
        for one in fields.tables(span.get(key))
    ]
    return Dumped(trace_id, told, span, "data", tuple(one for one in said if one is not None))


def _one(span: JsonObject, *keys: str) -> Json:
    return next((span[key] for key in keys if span.get(key) is not None), None)


def _status(span: JsonObject) -> tuple[str, str | None]:
    """A code beside its message, or an object of both, by name with or without what it is a name of."""
    status = fields.table(span.get("status"))
    code = (
        fields.first(span, "status_code", "otel_status_code")
        or fields.first(status, "status_code", "code")
        or ""
    )
    code = code.rpartition(".")[2].lower().removeprefix("status_code_")
    message = fields.first(span, "status_message", "otel_status_message")
    return code if code in ("ok", "error") else "unset", message or fields.first(
        status, "description", "message"
    )


def _resource(span: JsonObject) -> JsonObject:
    found = fields.table(span.get("resource"))
    return dict(fields.table(found.get("attributes") or span.get("otel_resource_attributes")))


def _attributes(span: JsonObject) -> JsonObject:
    """Flat, whether they were nested, flat, or columns."""
    found = flattened(fields.table(span.get("attributes")))
    columns = {
        key.removeprefix("attributes."): value for key, value in span.items() if key.startswith("attributes.")
    }
    if columns:
        found |= flattened({key: value for key, value in columns.items() if value is not None})
    kind = fields.named(span.get("span_kind"))
    if kind is not None and "openinference.span.kind" not in found and kind.upper() != "UNKNOWN":
        found["openinference.span.kind"] = kind
    return found


def _event(event: JsonObject) -> Event:
    at = moment(event.get("timestamp", event.get("time")))[0]
    return Event(fields.named(event.get("name")) or "", at, dict(fields.table(event.get("attributes"))))


def _judged(one: JsonObject, target: str | None) -> Judgement | None:
    """An annotation with its result inside or beside."""
    at = moment(one.get("updated_at") or one.get("created_at"))[0]
    return otel_scores.annotation({**one, **fields.table(one.get("result"))}, target, at)


def _annotation(one: JsonObject, place: Place) -> Rows | Refusal:
    trace_id = identifier(one.get("trace_id"), 32)
    said = _judged(one, identifier(one.get("span_id"), 16))
    part = fields.written(one)
    if trace_id is None or said is None:
        missing = (
            "a trace id; export the spans with their annotations"
            if trace_id is None
            else "a name and a result"
        )
        return Refusal(Reason.MISSING_FIELD, f"annotation without {missing}", (part or "{}").encode())
    run = Run(trace_id, FAMILY, judgements=(said,))
    return rows(run, NAME, place, (part or "{}").encode())
