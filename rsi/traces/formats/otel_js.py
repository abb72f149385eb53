"""Spans as the JavaScript SDK of OpenTelemetry holds them, dumped as JSON.

One span a record (``spanContext`` and times ``[seconds, nanos]``, or what the console exporter prints), or a
document with lists of them under any keys.
"""

from rsi.traces.formats import fields, otel_dump
from rsi.traces.formats.otel_dump import Dumped, identifier, nameless
from rsi.traces.formats.otel_span import Told, moment, times
from rsi.traces.formats.otlp_content import Event
from rsi.traces.rows import Json, JsonObject, Place, Refusal, Rows

NAME = "otel_js"
_CONTEXT = ("spanContext", "_spanContext")
_STATUS = {0: "unset", 1: "ok", 2: "error"}


def matches(record: JsonObject) -> bool:
    """A span of that SDK, or lists of such."""
    return _is_span(record) or any(
        isinstance(one, list) and one and _is_span(one[0]) for one in record.values()
    )


def read(record: JsonObject, place: Place) -> tuple[Rows | Refusal, ...]:
    """Rows for each trace; spans without ids are refused."""
    if _is_span(record):
        found = [_span(record, "spans")]
    else:
        found = [
            _span(one, key)
            for key, ones in record.items()
            if isinstance(ones, list) and ones and _is_span(ones[0])
            for one in fields.tables(ones)
        ]
    return otel_dump.read(found, NAME, place, otel_dump.by_group)


def _is_span(value: Json) -> bool:
    if not isinstance(value, dict):
        return False
    if any(
        isinstance(value.get(key), dict) and "traceId" in fields.table(value[key])
        for key in _CONTEXT
        if key in value
    ):
        return True
    return (
        "traceId" in value
        and "id" in value
        and "timestamp" in value
        and "duration" in value
        and "attributes" in value
    )


def _span(span: JsonObject, group: str) -> Dumped | Refusal:
    context = fields.table(span.get("spanContext") or span.get("_spanContext"))
    trace_id = identifier(context.get("traceId", span.get("traceId")), 32)
    span_id = identifier(context.get("spanId", span.get("id")), 16)
    if trace_id is None or span_id is None:
        return nameless(span, span.get("name"), "traceId" if trace_id is None else "spanId")
    start, end, state = _times(span)
    status = fields.table(span.get("status"))
    scope = fields.table(span.get("instrumentationScope") or span.get("instrumentationLibrary"))
    told = Told(
        span_id,
        _parent(span),
        fields.named(span.get("name")) or "",
        dict(fields.table(span.get("attributes"))),
        start,
        end,
        state,
        _STATUS.get(fields.whole(status.get("code")) or 0, "unset"),
        fields.named(status.get("message")),
        [_event(one) for one in fields.tables(span.get("events"))],
        fields.listing(span.get("links")),
        fields.named(scope.get("name")),
        _resource(fields.table(span.get("resource"))),
    )
    return Dumped(trace_id, told, span, group)


def _parent(span: JsonObject) -> str | None:
    parent = fields.table(span.get("parentSpanContext"))
    return identifier(parent.get("spanId") or span.get("parentSpanId") or span.get("parentId"), 16)


def _times(span: JsonObject) -> tuple[int | None, int | None, str]:
    if "startTime" in span:
        return times(span["startTime"], span.get("endTime"))
    start, duration = fields.whole(span.get("timestamp")), fields.number(span.get("duration"))
    start_ns, state = fields.moment(start)
    if start_ns is None or duration is None or not 0 <= duration < 2**50:
        return start_ns, None, state
    return start_ns, start_ns + round(duration * 1000), state


def _event(event: JsonObject) -> Event:
    return Event(
        fields.named(event.get("name")) or "",
        moment(event.get("time"))[0],
        dict(fields.table(event.get("attributes"))),
    )


def _resource(resource: JsonObject) -> JsonObject:
    """Attributes as an object, or as the pairs that newer versions keep."""
    found = resource.get("attributes") or resource.get("_attributes")
    if isinstance(found, dict):
        return found
    pairs = [
        one
        for one in fields.listing(resource.get("_rawAttributes"))
        if isinstance(one, list) and len(one) == 2
    ]
    return {name: value for key, value in pairs if (name := fields.named(key))}
