"""Wrappings of OTLP, and what their ids and values are."""

import orjson
import pytest

from rsi.traces.formats import otlp
from rsi.traces.formats.otlp_envelope import any_value, attributes, hex_id
from rsi.traces.rows import Json, JsonObject, Place, Refusal, Rows

HERE = Place("default", None, "file", 1, 0)
TRACE, SPAN = "ab" * 16, "cd" * 8
BARE: JsonObject = {
    "traceId": TRACE, "spanId": SPAN, "name": "chat m", "startTimeUnixNano": "1760000000000000000",
    "attributes": [{"key": "gen_ai.usage.input_tokens", "value": {"intValue": "7"}},
                   {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}],
}  # fmt: skip
FLAT: JsonObject = {**BARE, "attributes": {"gen_ai.usage.input_tokens": 7, "gen_ai.operation.name": "chat"}}
RESOURCE: JsonObject = {"attributes": [{"key": "service.version", "value": {"stringValue": "9"}}]}
OUTER: JsonObject = {"resource": RESOURCE, "scopeSpans": [{"scope": {"name": "lib"}, "spans": [BARE]}]}
SNAKE: JsonObject = {
    "resource_spans": [{"resource": {"attributes": [{"key": "service.version", "value": {"string_value": "9"}}]},
     "scope_spans": [{"scope": {"name": "lib"}, "spans": [
       {"trace_id": "q6urq6urq6urq6urq6urqw==", "span_id": "zc3Nzc3Nzc0=", "name": "chat m",
        "start_time_unix_nano": "1760000000000000000",
        "attributes": [{"key": "gen_ai.usage.input_tokens", "value": {"int_value": "7"}},
                       {"key": "gen_ai.operation.name", "value": {"string_value": "chat"}}]}]}]}]
}  # fmt: skip


@pytest.mark.parametrize(
    "record",
    [
        {"resourceSpans": [OUTER]},
        {"batches": [{"resource": RESOURCE, "instrumentationLibrarySpans": [
            {"instrumentationLibrary": {"name": "lib"}, "spans": [BARE]}]}]},
        {"trace": {"resourceSpans": [OUTER]}},
        {"result": {"resourceSpans": [OUTER]}},
        OUTER,
        {**BARE, "resource": RESOURCE, "scope": {"name": "lib"}},
        {**FLAT, "resource": {"attributes": {"service.version": "9"}}, "scope": {"name": "lib"}},
        SNAKE,
        {"resourceSpans": [{**OUTER, "scopeSpans": [{"scope": {"name": "lib"}, "spans": [
            {**BARE, "traceId": TRACE.upper(), "spanId": SPAN.upper(), "parentSpanId": "0" * 16}]}]}]},
    ],
)  # fmt: skip
def test_every_wrapping_holds_the_same_span(record: JsonObject) -> None:
    """Current and older names, query APIs, a resource or a span a line, the protobuf's names, ids of any case."""
    assert otlp.matches(record)
    (found,) = otlp.read(record, HERE)
    assert isinstance(found, Rows)
    (span,) = found.spans
    assert found.trace is not None
    assert (found.native, span.native_id, span.native_parent_id) == (TRACE, SPAN, None)
    assert (span.kind, span.input_tokens, span.instrumentation, found.trace.release) == ("llm", 7, "lib", "9")
    assert found.part is None


def test_a_bare_log_record() -> None:
    """One a line, with its name in the attributes."""
    record: JsonObject = {
        "traceId": TRACE, "spanId": SPAN, "timeUnixNano": "5", "body": {"content": "Hi?"},
        "attributes": {"event.name": "gen_ai.user.message"},
    }  # fmt: skip
    assert otlp.matches(record)
    (found,) = otlp.read(record, HERE)
    assert isinstance(found, Rows)
    assert [one.content for one in found.messages] == ["Hi?"]


@pytest.mark.parametrize(
    "record",
    [
        {}, {"trace": {"id": "x"}}, {"traceId": TRACE}, {"traceId": TRACE, "spanId": SPAN, "name": "x"},
        {"resourceSpans": {}}, {"result": []}, {"batches": 5},
    ],
)  # fmt: skip
def test_other_records_are_not_ours(record: JsonObject) -> None:
    """Half of the keys is not enough."""
    assert not otlp.matches(record)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (TRACE, TRACE),
        (TRACE.upper(), TRACE),
        ("abababab-abab-abab-abab-abababababab", TRACE),
        ("q6urq6urq6urq6urq6urqw==", TRACE),
        ("0" * 32, None),
        ("", None),
        ("ab", None),
        ("zz" * 16, None),
        (5, None),
        (None, None),
    ],
)
def test_ids(said: Json, expected: str | None) -> None:
    """Hex, upper case, with dashes, base64; zeros and nonsense are none."""
    assert hex_id(said, 32) == expected


def test_values() -> None:
    """Each type of OTLP, numbers as text or number, structure inside structure, and what has no type."""
    inner: Json = {"kvlistValue": {"values": [{"key": "k", "value": {"stringValue": "v"}}]}}
    said: list[Json] = [
        {"key": "text", "value": {"stringValue": "a"}},
        {"key": "int", "value": {"intValue": "-9007199254740993"}},
        {"key": "number", "value": {"intValue": 5}},
        {"key": "far", "value": {"intValue": "9" * 30}},
        {"key": "double", "value": {"doubleValue": 0.5}},
        {"key": "nan", "value": {"doubleValue": "NaN"}},
        {"key": "bool", "value": {"boolValue": False}},
        {"key": "list", "value": {"arrayValue": {"values": [{"intValue": "1"}, inner]}}},
        {"key": "empty", "value": {"arrayValue": {}}},
        {"key": "none", "value": {}},
        {"key": "plain", "value": "as it is"},
        {"key": 5, "value": {"stringValue": "no name"}},
        "no attribute",
    ]  # fmt: skip
    assert attributes(said) == {
        "text": "a", "int": -9007199254740993, "number": 5, "far": None, "double": 0.5, "nan": None, "bool": False,
        "list": [1, {"k": "v"}], "empty": [], "none": None, "plain": "as it is",
    }  # fmt: skip
    assert any_value({"a": 1, "b": 2}) == {"a": 1, "b": 2}


def test_one_span_without_an_id_does_not_take_the_others_along() -> None:
    """It is refused with its own text; the part of the others does not hold it."""
    record: JsonObject = {
        "resourceSpans": [{"scopeSpans": [{"spans": [BARE, {"name": "lost", "traceId": TRACE}]}]}],
        "resourceLogs": "no list",
    }
    found, refused = otlp.read(record, HERE)
    assert isinstance(found, Rows)
    assert isinstance(refused, Refusal)
    assert refused.part == orjson.dumps({"name": "lost", "traceId": TRACE})
    assert found.part is not None
    assert b"lost" not in found.part
