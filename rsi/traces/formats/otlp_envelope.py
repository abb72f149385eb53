"""OTLP/JSON without its wrapping: spans and log records by trace, attributes decoded.

Also read: the older names (``batches``, ``instrumentationLibrarySpans``), the names of the protobuf definition
(``resource_spans``), documents inside ``trace`` or ``result`` (query APIs), one resource's spans or one bare span
or log record a line, ids in base64 or upper case, attributes that are a plain object already, values without
their type key.
"""

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import orjson

from rsi.traces.formats import fields
from rsi.traces.rows import Json, JsonObject, Reason, Refusal

_RESOURCES = (
    ("resourceSpans", ("scopeSpans", "instrumentationLibrarySpans"), "spans"),
    ("batches", ("scopeSpans", "instrumentationLibrarySpans"), "spans"),
    ("resourceLogs", ("scopeLogs", "instrumentationLibraryLogs"), "logRecords"),
)
_KEYS = tuple(key for key, _, _ in _RESOURCES)
_UNDER = frozenset(key for _, keys, _ in _RESOURCES for key in keys)
_WRAPPERS = ("trace", "result")
_SNAKE = """
    resource_spans scope_spans instrumentation_library_spans resource_logs scope_logs log_records trace_id span_id
    parent_span_id start_time_unix_nano end_time_unix_nano time_unix_nano observed_time_unix_nano event_name
    string_value int_value double_value bool_value array_value kvlist_value bytes_value instrumentation_library
"""
_CAMEL = {name: re.sub(r"_(.)", lambda found: found[1].upper(), name) for name in _SNAKE.split()}
"""Names as the protobuf definition writes them."""
_SPAN_DIGITS, _TRACE_DIGITS = 16, 32
_HEX = {digits: re.compile(rf"[0-9a-f]{{{digits}}}") for digits in (_SPAN_DIGITS, _TRACE_DIGITS)}


class Item(NamedTuple):
    """A span or a log record, with the attributes of what sent it."""

    record: JsonObject
    resource: JsonObject
    scope: str | None
    """Name of the library that recorded it."""
    span_id: str | None
    is_log: bool


class _Group(NamedTuple):
    """The spans or log records of one library of one resource, and the path to them."""

    key: str
    under: str
    leaf: str
    outer: JsonObject
    inner: JsonObject
    resource: JsonObject


def is_document(record: JsonObject) -> bool:
    """Whether a record is OTLP in any of its shapes, from its keys alone."""
    if any(isinstance(record.get(key), list) for key in _KEYS):
        return True
    if any(isinstance(record.get(key), list) for key in ("resource_spans", "resource_logs", *_UNDER)):
        return True
    wrapped = (record.get(key) for key in _WRAPPERS)
    return any(isinstance(one, dict) and any(key in one for key in _KEYS) for one in wrapped) or _is_bare(
        record
    )


def by_trace(
    record: JsonObject,
) -> tuple[dict[str, list[Item]], dict[str, Callable[[], bytes]], list[Refusal]]:
    """Items by trace id; raw text by trace id where there is more than one trace; what has no usable id."""
    items: dict[str, list[Item]] = {}
    kept: dict[str, list[tuple[_Group, JsonObject]]] = {}
    refusals: list[Refusal] = []
    known: dict[str, str | None] = {}
    for group in _groups(_opened(record)):
        is_log = group.leaf == "logRecords"
        scope = fields.table(group.inner.get("scope") or group.inner.get("instrumentationLibrary"))
        name = fields.named(scope.get("name"))
        for one in fields.tables(group.inner.get(group.leaf)):
            raw = one.get("traceId")
            if not isinstance(raw, str):
                trace_id = None
            elif raw in known:
                trace_id = known[raw]
            else:
                trace_id = known[raw] = hex_id(raw, _TRACE_DIGITS)
            span_id = hex_id(one.get("spanId"), _SPAN_DIGITS)
            if trace_id is None or (span_id is None and not is_log):
                refusals.append(_nameless(one, is_log, "traceId" if trace_id is None else "spanId"))
                continue
            items.setdefault(trace_id, []).append(Item(one, group.resource, name, span_id, is_log))
            kept.setdefault(trace_id, []).append((group, one))
    several = len(items) + len(refusals) > 1
    parts: dict[str, Callable[[], bytes]] = {}
    if several:
        parts = {trace_id: partial(_part, mine) for trace_id, mine in kept.items()}
    return items, parts, refusals


def attributes(value: Json) -> JsonObject:
    """Attributes as an object of its own: from ``[{"key", "value": {"stringValue"…}}…]``, or one already."""
    if isinstance(value, dict):
        return dict(value)
    found: JsonObject = {}
    for one in fields.listing(value):
        # There are a dozen in each of millions of spans: no calls where none is needed.
        if type(one) is not dict or "key" not in one:
            continue
        key, inner = one["key"], one.get("value")
        if type(key) is not str:
            continue
        if type(inner) is not dict:
            found[key] = inner
        elif "stringValue" in inner:
            found[key] = inner["stringValue"]
        elif "intValue" in inner:
            found[key] = _int(inner["intValue"])
        else:
            found[key] = any_value(inner)
    return found


def any_value(value: Json) -> Json:
    """OTLP's AnyValue: an object with one key that names the type."""
    if not isinstance(value, dict):
        return value
    if not value:
        return None
    if len(value) != 1:
        return value
    ((kind, inner),) = value.items()
    if kind == "intValue":
        return _int(inner)
    if kind == "doubleValue":
        return inner if isinstance(inner, float) else fields.number(inner)
    if kind == "arrayValue":
        return [any_value(one) for one in fields.listing(fields.table(inner).get("values"))]
    if kind == "kvlistValue":
        return attributes(fields.table(inner).get("values"))
    return inner if kind in ("stringValue", "boolValue", "bytesValue") else value


def _int(value: Json) -> int | None:
    """A 64-bit whole number, mostly as text; millions are read."""
    if isinstance(value, str) and len(value) < 19 and value.isascii() and value.isdigit():
        return int(value)
    return fields.whole(value)


def hex_id(value: Json, digits: int) -> str | None:
    """An id in lower-case hex, also from base64 or with dashes; null for zeros and for what is no id."""
    if not isinstance(value, str) or not value:
        return None
    known = _HEX[digits]
    if known.fullmatch(value):
        return value if value.strip("0") else None
    text = value.lower().replace("-", "")
    if not known.fullmatch(text):
        try:
            text = base64.b64decode(value, validate=True).hex()
        except (binascii.Error, ValueError):
            return None
    return text if len(text) == digits and text.strip("0") else None


def _opened(record: JsonObject) -> JsonObject:
    """The document with its usual names and wrapping."""
    if any(key in record for key in _KEYS):
        return record
    for key in _WRAPPERS:
        inner = record.get(key)
        if isinstance(inner, dict) and any(one in inner for one in _KEYS):
            return inner
    if "resource_spans" in record or "resource_logs" in record:
        named = camel(record)
        return named if isinstance(named, dict) else {}
    if "scopeLogs" in record or "instrumentationLibraryLogs" in record:
        return {"resourceLogs": [record]}
    if not _is_bare(record):
        return {"resourceSpans": [record]}
    around = {"resource": record.get("resource")}
    scope: JsonObject = {"scope": record.get("scope")}
    if "spanId" in record and ("startTimeUnixNano" in record or "endTimeUnixNano" in record):
        return {"resourceSpans": [{**around, "scopeSpans": [{**scope, "spans": [record]}]}]}
    return {"resourceLogs": [{**around, "scopeLogs": [{**scope, "logRecords": [record]}]}]}


def _is_bare(record: JsonObject) -> bool:
    """A span or a log record without anything around it."""
    if not isinstance(record.get("traceId"), str):
        return False
    return (isinstance(record.get("spanId"), str) and "startTimeUnixNano" in record) or (
        "timeUnixNano" in record and ("body" in record or "eventName" in record)
    )


def camel(value: Json) -> Json:
    """A document of protobuf's own names under those of OTLP's JSON."""
    if isinstance(value, dict):
        return {_CAMEL.get(key, key): camel(one) for key, one in value.items()}
    return [camel(one) for one in value] if isinstance(value, list) else value


def _groups(document: JsonObject) -> Iterator[_Group]:
    for key, groups, leaf in _RESOURCES:
        for outer in fields.tables(document.get(key)):
            resource = attributes(fields.table(outer.get("resource")).get("attributes"))
            for under in groups:
                for inner in fields.tables(outer.get(under)):
                    yield _Group(key, under, leaf, outer, inner, resource)


def _nameless(record: JsonObject, is_log: bool, missing: str) -> Refusal:
    what = "log record" if is_log else f"span {str(record.get('name'))[:60]!r}"
    return Refusal(Reason.MISSING_FIELD, f"{what} without a usable {missing}", orjson.dumps(record))


def _part(mine: list[tuple[_Group, JsonObject]]) -> bytes:
    """The document with these spans and log records only: those of one trace."""
    document: dict[str, list[Json]] = {}
    outers: dict[tuple[int, str], list[Json]] = {}
    inners: dict[int, list[Json]] = {}
    for group, record in mine:
        if id(group) not in inners:
            inners[id(group)] = []
            outer_key = (id(group.outer), group.under)
            if outer_key not in outers:
                outers[outer_key] = []
                around = {key: value for key, value in group.outer.items() if key not in _UNDER}
                document.setdefault(group.key, []).append({**around, group.under: outers[outer_key]})
            beside = {key: value for key, value in group.inner.items() if key != group.leaf}
            outers[outer_key].append({**beside, group.leaf: inners[id(group)]})
        inners[id(group)].append(record)
    return orjson.dumps(document)
