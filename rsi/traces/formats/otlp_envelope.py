"""OTLP/JSON without its wrapping: spans and log records of one trace, attributes decoded.

Also read: the older names (``batches``, ``instrumentationLibrarySpans``), ids in base64 or upper case,
attributes that are a plain object already, values without their type key.
"""

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass

import orjson

from rsi.traces.formats import fields
from rsi.traces.rows import Json, JsonObject, Reason, Refusal

_RESOURCES = (
    ("resourceSpans", ("scopeSpans", "instrumentationLibrarySpans"), "spans"),
    ("batches", ("scopeSpans", "instrumentationLibrarySpans"), "spans"),
    ("resourceLogs", ("scopeLogs", "instrumentationLibraryLogs"), "logRecords"),
)
KEYS = tuple(key for key, _, _ in _RESOURCES)
_SPAN_DIGITS, _TRACE_DIGITS = 16, 32


@dataclass(frozen=True)
class Item:
    """A span or a log record, with the attributes of what sent it."""

    record: JsonObject
    resource: JsonObject
    trace_id: str
    span_id: str | None
    is_log: bool


@dataclass(frozen=True)
class _Found:
    """A span or log record and the path to it."""

    key: str
    group: str
    leaf: str
    outer: JsonObject
    inner: JsonObject
    record: JsonObject


def by_trace(record: JsonObject) -> tuple[dict[str, list[Item]], dict[str, bytes], list[Refusal]]:
    """Items by trace id; raw text by trace id where there is more than one trace; what has no usable id."""
    items: dict[str, list[Item]] = {}
    found: dict[str, list[_Found]] = {}
    refusals, resources = list[Refusal](), dict[int, JsonObject]()
    for one in _walk(record):
        is_log = one.leaf == "logRecords"
        trace_id = hex_id(one.record.get("traceId"), _TRACE_DIGITS)
        span_id = hex_id(one.record.get("spanId"), _SPAN_DIGITS)
        if trace_id is None or (span_id is None and not is_log):
            missing = "traceId" if trace_id is None else "spanId"
            what = "log record" if is_log else f"span {str(one.record.get('name'))[:60]!r}"
            refusals.append(
                Refusal(Reason.MISSING_FIELD, f"{what} without a usable {missing}", orjson.dumps(one.record))
            )
            continue
        resource = resources.setdefault(
            id(one.outer), attributes(fields.table(one.outer.get("resource")).get("attributes"))
        )
        items.setdefault(trace_id, []).append(Item(one.record, resource, trace_id, span_id, is_log))
        found.setdefault(trace_id, []).append(one)
    several = len(items) + len(refusals) > 1
    parts = {trace_id: _wrapped(ones) for trace_id, ones in found.items()} if several else {}
    return items, parts, refusals


def attributes(value: Json) -> JsonObject:
    """Attributes as an object: from ``[{"key", "value": {"stringValue"…}}…]``, or one already."""
    if isinstance(value, dict):
        return value
    return {
        key: any_value(one.get("value"))
        for one in fields.tables(value)
        if (key := fields.text(one.get("key"))) is not None
    }


def any_value(value: Json) -> Json:
    """OTLP's AnyValue: an object with one key that names the type."""
    if not isinstance(value, dict) or len(value) != 1:
        return value
    ((kind, inner),) = value.items()
    if kind == "intValue":
        return fields.whole(inner)
    if kind == "doubleValue":
        return fields.number(inner)
    if kind == "arrayValue":
        return [any_value(one) for one in fields.listing(fields.table(inner).get("values"))]
    if kind == "kvlistValue":
        return attributes(fields.table(inner).get("values", []))
    return inner if kind in ("stringValue", "boolValue", "bytesValue") else value


def hex_id(value: Json, digits: int) -> str | None:
    """An id in lower-case hex, also from base64; null for zeros and for what is no id."""
    if not isinstance(value, str):
        return None
    text = value.lower()
    if not re.fullmatch(rf"[0-9a-f]{{{digits}}}", text):
        try:
            text = base64.b64decode(value, validate=True).hex()
        except (binascii.Error, ValueError):
            return None
    return text if len(text) == digits and text.strip("0") else None


def _walk(record: JsonObject) -> Iterator[_Found]:
    for key, groups, leaf in _RESOURCES:
        for outer in fields.tables(record.get(key)):
            for group in groups:
                for inner in fields.tables(outer.get(group)):
                    for one in fields.tables(inner.get(leaf)):
                        yield _Found(key, group, leaf, outer, inner, one)


def _wrapped(ones: list[_Found]) -> bytes:
    """The same document with these spans and log records only."""
    document: dict[str, list[JsonObject]] = {}
    outers, inners = dict[int, list[Json]](), dict[int, list[Json]]()
    for one in ones:
        if id(one.outer) not in outers:
            outers[id(one.outer)] = []
            kept = {key: value for key, value in one.outer.items() if key != one.group}
            document.setdefault(one.key, []).append({**kept, one.group: outers[id(one.outer)]})
        if id(one.inner) not in inners:
            inners[id(one.inner)] = []
            kept = {key: value for key, value in one.inner.items() if key != one.leaf}
            outers[id(one.outer)].append({**kept, one.leaf: inners[id(one.inner)]})
        inners[id(one.inner)].append(one.record)
    return orjson.dumps(document)
