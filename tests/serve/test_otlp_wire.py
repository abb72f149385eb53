"""Export requests as OTLP/JSON: the same as the library's own, only faster."""

import base64

from google.protobuf.json_format import MessageToDict
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from rsi.errors import ContractError
from rsi.serve.otlp_wire import MAX_NESTING, Request, from_json, from_protobuf

IDS = ("traceId", "spanId", "parentSpanId")
SCALARS = st.one_of(
    st.text(max_size=5).map(lambda value: AnyValue(string_value=value)),
    st.booleans().map(lambda value: AnyValue(bool_value=value)),
    st.integers(-(2**63), 2**63 - 1).map(lambda value: AnyValue(int_value=value)),
    st.floats().map(lambda value: AnyValue(double_value=value)),
    st.binary(max_size=5).map(lambda value: AnyValue(bytes_value=value)),
    st.just(AnyValue()),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda values: AnyValue(array_value=ArrayValue(values=values)))
        | st.dictionaries(st.text(max_size=3), inner, max_size=3).map(
            lambda values: AnyValue(
                kvlist_value=KeyValueList(
                    values=[KeyValue(key=key, value=one) for key, one in values.items()]
                )
            )
        )
    ),
    max_leaves=6,
)
ATTRIBUTES = st.dictionaries(st.text(max_size=5), VALUES, max_size=3).map(
    lambda values: [KeyValue(key=key, value=one) for key, one in values.items()]
)
SMALL = st.integers(0, 3)


def filled(size: int) -> st.SearchStrategy[bytes]:
    return st.binary(min_size=size, max_size=size).filter(any)


EVENTS = st.builds(
    Span.Event,
    time_unix_nano=SMALL,
    name=st.text(max_size=3),
    attributes=ATTRIBUTES,
    dropped_attributes_count=SMALL,
)
LINKS = st.builds(
    Span.Link,
    trace_id=filled(16),
    span_id=filled(8),
    trace_state=st.sampled_from(["", "a=b"]),
    attributes=ATTRIBUTES,
)
SPANS = st.builds(
    Span,
    trace_id=filled(16),
    span_id=filled(8),
    parent_span_id=st.just(b"") | filled(8),
    trace_state=st.sampled_from(["", "a=b"]),
    flags=SMALL,
    name=st.text(max_size=5),
    kind=st.integers(0, 5),
    start_time_unix_nano=st.integers(0, 2**64 - 1),
    end_time_unix_nano=st.integers(0, 2**64 - 1),
    attributes=ATTRIBUTES,
    dropped_attributes_count=SMALL,
    events=st.lists(EVENTS, max_size=2),
    links=st.lists(LINKS, max_size=2),
    status=st.none() | st.builds(Status, code=st.integers(0, 2), message=st.text(max_size=3)),
)


def request(*spans: Span) -> ExportTraceServiceRequest:
    message = ExportTraceServiceRequest()
    outer = message.resource_spans.add(schema_url="outer")
    outer.resource.attributes.add(key="service.name").value.string_value = "shop"
    inner = outer.scope_spans.add(schema_url="inner")
    inner.scope.name, inner.scope.version = "scope", "1"
    inner.spans.extend(spans)
    return message


def document(found: Request) -> object:
    return {
        "resourceSpans": [
            {**one.resource, "scopeSpans": [{**one.scope, "spans": one.spans}]} for one in found.groups
        ]
    }


def plain(value: object) -> object:
    """The library's JSON with ids in hex and without what stands for nothing."""
    if isinstance(value, dict):
        kept = {key: hexed(key, one) for key, one in value.items()}
        return {key: plain(one) for key, one in kept.items() if key not in NOTHING or one not in NOTHING[key]}
    return [plain(one) for one in value] if isinstance(value, list) else value


NOTHING: dict[str, tuple[object, ...]] = {
    "name": ("",), "kind": (0, "SPAN_KIND_UNSPECIFIED"), "startTimeUnixNano": ("0",),
    "endTimeUnixNano": ("0",), "timeUnixNano": ("0",),
    "code": (0,), "key": ("",), "value": ({},), "values": ([],),
}  # fmt: skip


def hexed(key: str, value: object) -> object:
    return base64.b64decode(value).hex() if key in IDS and isinstance(value, str) else value


def unhexed(value: object) -> object:
    """Our JSON, without what stands for nothing."""
    if isinstance(value, dict):
        return {
            key: unhexed(one) for key, one in value.items() if key not in NOTHING or one not in NOTHING[key]
        }
    return [unhexed(one) for one in value] if isinstance(value, list) else value


@given(spans=st.lists(SPANS, min_size=1, max_size=3))
def test_protobuf_becomes_the_same_json_as_by_the_library(spans: list[Span]) -> None:
    """Whatever the spans hold: values of every type, events, links, status, dropped counts."""
    message = request(*spans)
    found = from_protobuf(message.SerializeToString())
    expected = plain(MessageToDict(message, use_integers_for_enums=True))

    assert found.refused == 0
    assert unhexed(document(found)) == expected


def test_json_keeps_what_it_does_not_know() -> None:
    """Old names of scopes are read; each group keeps its resource and scope."""
    span = {"traceId": "ab" * 16, "spanId": "cd" * 8, "future": True}
    body = b'{"resourceSpans": [{"x": 1, "instrumentationLibrarySpans": [{"y": 2, "spans": [%s]}]}]}'
    found = from_json(body % str(span).replace("'", '"').replace("True", "true").encode())
    assert [(one.resource, one.scope, one.spans) for one in found.groups] == [({"x": 1}, {"y": 2}, [span])]


def test_a_value_nested_too_deep_is_refused_alone() -> None:
    """What was accepted must be readable as JSON later."""
    value = AnyValue(string_value="core")
    for _ in range(MAX_NESTING + 2):
        value = AnyValue(array_value=ArrayValue(values=[value]))
    ids = {"trace_id": b"1" * 16, "span_id": b"1" * 8}
    deep, flat = (
        Span(name="deep", attributes=[KeyValue(key="a", value=value)], **ids),
        Span(name="flat", **ids),
    )
    found = from_protobuf(request(deep, flat).SerializeToString())
    assert (found.refused, [one["name"] for one in found.groups[0].spans]) == (1, ["flat"])
    assert "nested deeper" in found.why


@given(body=st.binary(max_size=200))
def test_arbitrary_bytes_are_read_or_refused(body: bytes) -> None:
    """By a ContractError, which becomes 400."""
    for read in (from_protobuf, from_json):
        try:
            read(body)
        except ContractError as error:
            assert "the body is no" in str(error) or "no object" in str(error) or "no array" in str(error)
