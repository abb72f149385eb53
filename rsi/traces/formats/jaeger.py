"""Traces as Jaeger's query API and its Elasticsearch store write them.

``{"data": [{"traceID", "spans", "processes"}]}``, one trace of it, or one span a record. Times and durations are
microseconds; tags, logs and references are lists, also of OpenTelemetry spans that Jaeger took in.
"""

from rsi.traces.formats import fields, otel_dump
from rsi.traces.formats.otel_dump import Dumped, identifier, nameless
from rsi.traces.formats.otel_span import Told
from rsi.traces.formats.otlp_content import Event
from rsi.traces.rows import Json, JsonObject, Place, Refusal, Rows

NAME = "jaeger"
_SCOPE = ("otel.scope.name", "otel.library.name")


def matches(record: JsonObject) -> bool:
    """Data with traces, one trace, or one span, by Jaeger's spelling of ids and processes."""
    data = record.get("data")
    if isinstance(data, list) and data:
        return _is_trace(data[0])
    return _is_trace(record) or ("traceID" in record and "spanID" in record and "operationName" in record)


def read(record: JsonObject, place: Place) -> tuple[Rows | Refusal, ...]:
    """Rows for each trace; spans without ids are refused."""
    found: list[Dumped | Refusal] = []
    if _is_trace(record):
        found += _spans(record)
    elif "operationName" in record:
        found.append(_span(record, fields.table(record.get("process")), None))
    else:
        for one in fields.tables(record.get("data")):
            found += _spans(one)
    return otel_dump.read(found, NAME, place, _part)


def _is_trace(value: Json) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("spans"), list):
        return False
    return "processes" in value or "traceID" in value


def _spans(trace: JsonObject) -> list[Dumped | Refusal]:
    processes = fields.table(trace.get("processes"))
    found: list[Dumped | Refusal] = []
    for one in fields.tables(trace.get("spans")):
        process = fields.table(one.get("process")) or fields.table(processes.get(str(one.get("processID"))))
        found.append(_span(one, process, fields.named(trace.get("traceID"))))
    return found


def _span(span: JsonObject, process: JsonObject, trace: str | None) -> Dumped | Refusal:
    trace_id = identifier(span.get("traceID") or trace, 32)
    span_id = identifier(span.get("spanID"), 16)
    if trace_id is None or span_id is None:
        return nameless(span, span.get("operationName"), "traceID" if trace_id is None else "spanID")
    attributes = _tags(span)
    parent, links = _references(span, trace_id)
    start, end, state = _times(span)
    code = fields.named(attributes.get("otel.status_code"))
    failed = code == "ERROR" or attributes.get("error") in (True, "true")
    told = Told(
        span_id,
        parent,
        fields.named(span.get("operationName")) or "",
        attributes,
        start,
        end,
        state,
        "error" if failed else "ok" if code == "OK" else "unset",
        fields.first(attributes, "otel.status_description", "error.message"),
        [_event(one) for one in fields.tables(span.get("logs"))],
        links,
        fields.first(attributes, *_SCOPE),
        _resource(process),
    )
    return Dumped(trace_id, told, {**span, "process": process}, "data")


def _tags(holder: JsonObject) -> JsonObject:
    """Tags as a list of typed values, or as an object whose keys have no dots."""
    found: JsonObject = {
        key.replace("@", "."): value for key, value in fields.table(holder.get("tag")).items()
    }
    for one in fields.tables(holder.get("tags")):
        key, value = fields.text(one.get("key")), one.get("value")
        if key is None:
            continue
        if one.get("type") == "int64":
            value = fields.whole(value)
        elif one.get("type") == "float64":
            value = fields.number(value)
        elif one.get("type") == "bool" and isinstance(value, str):
            value = value == "true"
        found[key] = value
    return found


def _references(span: JsonObject, trace_id: str) -> tuple[str | None, list[Json]]:
    """The parent, and references that are none."""
    parent = identifier(span.get("parentSpanID"), 16)
    links: list[Json] = []
    for one in fields.tables(span.get("references")):
        inside = identifier(one.get("traceID"), 32) in (trace_id, None)
        if parent is None and inside and one.get("refType") == "CHILD_OF":
            parent = identifier(one.get("spanID"), 16)
        else:
            links.append(one)
    return parent, links


def _times(span: JsonObject) -> tuple[int | None, int | None, str]:
    start, duration = fields.whole(span.get("startTime")), fields.whole(span.get("duration"))
    if not start:
        return None, None, "missing" if span.get("startTime") in (None, 0, "") else "invalid"
    start_ns, state = fields.moment(start * 1000) if abs(start) < 2**53 else (None, "invalid")
    if start_ns is None or duration is None or not 0 <= duration < 2**50:
        return start_ns, None, state
    return start_ns, start_ns + duration * 1000, state


def _event(log: JsonObject) -> Event:
    attributes = _tags({"tags": log.get("fields")})
    at = fields.whole(log.get("timestamp"))
    name = fields.first(attributes, "event", "name", "event.name") or ""
    return Event(name, fields.moment(at * 1000)[0] if at and abs(at) < 2**53 else None, attributes)


def _resource(process: JsonObject) -> JsonObject:
    service = fields.named(process.get("serviceName"))
    return {**({"service.name": service} if service else {}), **_tags(process)}


def _part(ones: list[Dumped]) -> Json:
    return {"spans": [one.record for one in ones], "traceID": ones[0].trace_id}
