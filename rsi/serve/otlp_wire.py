"""An export request in protobuf or JSON as OTLP/JSON: groups of spans under their resource and scope.

Protobuf is taken apart by hand, field by field, since the library's own way to JSON is many times slower. Ids become
lower-case hex, 64-bit numbers text, as OTLP/JSON writes them. Loaded lazily: it needs the `serve` extra.
"""

import base64
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

from rsi.errors import ContractError
from rsi.traces.decode import decode_record
from rsi.traces.formats.otlp_envelope import hex_id
from rsi.traces.rows import Json, JsonObject, Refusal

MAX_NESTING = 20
"""Arrays and maps inside each other in the value of an attribute; each takes three levels of JSON."""

_SCOPES = ("scopeSpans", "instrumentationLibrarySpans")


class RefusedSpan(Exception):
    """A span that cannot be stored; the reason is the message."""


@dataclass
class Group:
    """Spans of one scope."""

    resource: JsonObject
    """What stands beside the scopes."""
    scope: JsonObject
    """What stands beside the spans."""
    spans: list[JsonObject] = field(default_factory=list)


@dataclass
class Request:
    """What an exporter sent."""

    groups: list[Group] = field(default_factory=list)
    refused: int = 0
    why: str = ""
    """Reason of the first refusal."""

    def refuse(self, why: str) -> None:
        """Count a span that cannot be stored."""
        self.refused += 1
        self.why = self.why or why


_Attributes: TypeAlias = Iterable[KeyValue]


def from_protobuf(body: bytes) -> Request:
    """Read an ``ExportTraceServiceRequest``.

    Raises:
        ContractError: it is none.
    """
    try:
        message = ExportTraceServiceRequest.FromString(body)
    except DecodeError as error:
        raise ContractError(f"the body is no ExportTraceServiceRequest in protobuf: {error}") from None
    found = Request()
    for outer in message.resource_spans:
        resource = _resource(outer)
        for inner in outer.scope_spans:
            group = Group(resource, _scope(inner))
            for span in inner.spans:
                try:
                    group.spans.append(_span(span))
                except RefusedSpan as why:
                    found.refuse(str(why))
            found.groups.append(group)
    return found


def from_json(body: bytes) -> Request:
    """Read an export request in OTLP/JSON; fields that are not known stay.

    Raises:
        ContractError: it is no JSON object, or holds something else where lists and objects must be.
    """
    record = decode_record(body)
    if isinstance(record, Refusal):
        raise ContractError(f"the body is no export request in JSON: {record.detail}")
    found = Request()
    for outer in _objects(record.get("resourceSpans"), "resourceSpans"):
        resource: JsonObject = {key: value for key, value in outer.items() if key not in _SCOPES}
        for key in _SCOPES:
            for inner in _objects(outer.get(key), key):
                group = Group(resource, {name: value for name, value in inner.items() if name != "spans"})
                for span in _objects(inner.get("spans"), "spans"):
                    if hex_id(span.get("traceId"), 32) and hex_id(span.get("spanId"), 16):
                        group.spans.append(span)
                    else:
                        found.refuse(_unnamed(str(span.get("name"))))
                found.groups.append(group)
    return found


def _objects(value: Json, name: str) -> Iterator[JsonObject]:
    if value is None:
        return
    if not isinstance(value, list):
        raise ContractError(f"{name} is no array")
    for one in value:
        if not isinstance(one, dict):
            raise ContractError(f"{name} holds something that is no object")
        yield one


def _unnamed(name: str) -> str:
    return f"span {name[:60]!r} has no valid traceId (16 bytes) and spanId (8 bytes)"


def _resource(outer: ResourceSpans) -> JsonObject:
    resource: Resource = outer.resource
    found: JsonObject = {"resource": _with({}, resource.attributes, resource.dropped_attributes_count)}
    if outer.schema_url:
        found["schemaUrl"] = outer.schema_url
    return found


def _scope(inner: ScopeSpans) -> JsonObject:
    scope: InstrumentationScope = inner.scope
    said: JsonObject = {"name": scope.name}
    if scope.version:
        said["version"] = scope.version
    found: JsonObject = {"scope": _with(said, scope.attributes, scope.dropped_attributes_count)}
    if inner.schema_url:
        found["schemaUrl"] = inner.schema_url
    return found


def _span(span: Span) -> JsonObject:
    trace_id, span_id = span.trace_id, span.span_id
    if len(trace_id) != 16 or len(span_id) != 8 or not any(trace_id) or not any(span_id):
        raise RefusedSpan(_unnamed(span.name))
    found: JsonObject = {
        "traceId": trace_id.hex(),
        "spanId": span_id.hex(),
        "name": span.name,
        "kind": span.kind,
        "startTimeUnixNano": str(span.start_time_unix_nano),
        "endTimeUnixNano": str(span.end_time_unix_nano),
    }
    if span.parent_span_id:
        found["parentSpanId"] = span.parent_span_id.hex()
    if span.trace_state:
        found["traceState"] = span.trace_state
    if span.flags:
        found["flags"] = span.flags
    _with(found, span.attributes, span.dropped_attributes_count)
    if span.events:
        found["events"] = [
            _with(
                {"timeUnixNano": str(one.time_unix_nano), "name": one.name},
                one.attributes,
                one.dropped_attributes_count,
            )
            for one in span.events
        ]
        if span.dropped_events_count:
            found["droppedEventsCount"] = span.dropped_events_count
    if span.links:
        found["links"] = [_link(one) for one in span.links]
    if span.HasField("status"):
        status: JsonObject = {"code": span.status.code}
        if span.status.message:
            status["message"] = span.status.message
        found["status"] = status
    return found


def _link(link: Span.Link) -> JsonObject:
    found: JsonObject = {"traceId": link.trace_id.hex(), "spanId": link.span_id.hex()}
    if link.trace_state:
        found["traceState"] = link.trace_state
    return _with(found, link.attributes, link.dropped_attributes_count)


def _with(found: JsonObject, attributes: _Attributes, dropped: int) -> JsonObject:
    if said := _attributes(attributes, 0):
        found["attributes"] = said
    if dropped:
        found["droppedAttributesCount"] = dropped
    return found


def _attributes(attributes: _Attributes, depth: int) -> list[Json]:
    said: list[Json] = []
    for one in attributes:
        value = one.value
        kind = value.WhichOneof("value")
        if kind == "string_value":
            said.append({"key": one.key, "value": {"stringValue": value.string_value}})
        elif kind == "int_value":
            said.append({"key": one.key, "value": {"intValue": str(value.int_value)}})
        else:
            said.append({"key": one.key, "value": _value(value, kind, depth)})
    return said


def _value(value: AnyValue, kind: str | None, depth: int) -> JsonObject:
    if depth > MAX_NESTING:
        raise RefusedSpan(f"an attribute is nested deeper than {MAX_NESTING} levels")
    match kind:
        case "string_value":
            return {"stringValue": value.string_value}
        case "int_value":
            return {"intValue": str(value.int_value)}
        case "bool_value":
            return {"boolValue": value.bool_value}
        case "double_value":
            return {"doubleValue": _double(value.double_value)}
        case "array_value":
            inner = [_value(one, one.WhichOneof("value"), depth + 1) for one in value.array_value.values]
            return {"arrayValue": {"values": list[Json](inner)}}
        case "kvlist_value":
            return {"kvlistValue": {"values": _attributes(value.kvlist_value.values, depth + 1)}}
        case "bytes_value":
            return {"bytesValue": base64.b64encode(value.bytes_value).decode()}
    return {}


def _double(value: float) -> Json:
    """JSON has no words for what is no number; protobuf's JSON has."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
