"""Requests over HTTP with their responses, as proxies, test recorders and browsers keep them.

- flat: ``{"method", "url", "status_code", "request": body, "response": body}``;
- nested: ``{"request": {"method", "url", "body"}, "response": {"status", "body"}}``, also in a list under
  `interactions` or `http_interactions`, or in a browser's archive (``{"log": {"entries": […]}}``).

A body is an object, its JSON text, or the text of server-sent events. The two bodies are read as those of their
API's own logs are, so that a call logged here and there is one. Headers are not kept: they hold keys.
"""

import binascii
from base64 import b64decode
from email.utils import parsedate_to_datetime
from typing import NamedTuple

import orjson

from rsi.traces.formats import fields
from rsi.traces.formats.assembly import assembled, is_chunk, is_event, sse, stream
from rsi.traces.formats.bodies import api, run
from rsi.traces.formats.logged import START, Logged, logged
from rsi.traces.formats.run import Run, rows
from rsi.traces.formats.stream_bodies import Body
from rsi.traces.rows import Json, JsonObject, Place, Reason, Refusal, Rows

NAME = "http_exchange"
_URL = ("url", "uri", "path", "endpoint", "request_url")
_REQUEST = ("request", "request_body", "requestBody", "body")
_RESPONSE = ("response", "response_body", "responseBody")
_STATUS = ("status_code", "status", "statusCode", "response_status", "code")
_DATE = ("date", "response_date", "startedDateTime", "recorded_at")
_HIDDEN = {
    *_URL, *_REQUEST, *_RESPONSE, *_STATUS, "headers", "request_headers", "response_headers", "cookies", "method",
    *_DATE, "timings", "cache", "pageref", "connection", "serverIPAddress", "recorded_with",
}  # fmt: skip
_TEXT = ("data:", "event:", ":", "{", "[")


class Exchange(NamedTuple):
    """One request and its response."""

    url: str
    status: int | None
    request: JsonObject
    response: Body
    readable: bool
    """Whether the response is JSON or a stream of it."""


def matches(record: JsonObject) -> bool:
    """Two bodies with a URL, or at least one of them as text or in pieces; or a list of exchanges."""
    if _entries(record):
        return True
    if "custom_id" in record or not any(key in record for key in _RESPONSE):
        return False
    request, response = _first(record, _REQUEST), _first(record, _RESPONSE)
    inner = fields.table(request)
    if fields.first(record, *_URL) is not None or fields.first(inner, "url", "uri") is not None:
        return request is not None
    is_text = isinstance(request, str) and request.lstrip().startswith("{") and '"model"' in request
    return is_text or ("model" in inner and _is_text(response))


def read(record: JsonObject, place: Place) -> tuple[Rows | Refusal, ...]:
    """One trace a call; requests that are not to a model are refused, those of a list all at once."""
    entries = _entries(record)
    if not entries:
        return _read(record, place, None)
    found: list[Rows | Refusal] = []
    others: list[Json] = []
    for one in entries:
        read_ = _read(one, place, orjson.dumps(one))
        if isinstance(read_[0], Refusal) and read_[0].reason is Reason.UNKNOWN_FORMAT:
            others.append(one)
        else:
            found.extend(read_)
    if others:
        detail = f"{len(others)} of {len(entries)} requests are not to a model"
        found.append(Refusal(Reason.UNKNOWN_FORMAT, detail, orjson.dumps({"interactions": others})))
    return tuple(found)


def _read(record: JsonObject, place: Place, part: bytes | None) -> tuple[Rows | Refusal, ...]:
    told = _exchange(record)
    kind = api(told.request, told.response.body, told.url)
    if kind is None:
        return (Refusal(Reason.UNKNOWN_FORMAT, f"a request to {told.url[:200]!r}, which is no model", part),)
    frame = _framed(record, told)
    whole = told.response.whole or frame.error is not None
    made = run(kind, told.request, told.response.body, frame, whole=whole)
    if not any(one.turns or one.error or one.kind == "embedding" for one in made.steps):
        return (Refusal(Reason.BAD_VALUE, "neither request nor response holds anything that was said", part),)
    return (rows(_marked(made, told), NAME, place, part), *frame.refusals)


def _entries(record: JsonObject) -> list[JsonObject]:
    """The exchanges of a browser's archive or a recorder's cassette."""
    listed = fields.table(record.get("log")).get("entries")
    for key in ("interactions", "http_interactions"):
        listed = record.get(key) if listed is None else listed
    return [
        one for one in fields.tables(listed) if isinstance(one.get("request"), dict) and "response" in one
    ]


def _exchange(record: JsonObject) -> Exchange:
    request, response = _first(record, _REQUEST), _first(record, _RESPONSE)
    asked, answered = fields.table(request), fields.table(response)
    url = fields.first(record, *_URL)
    status = next((code for key in _STATUS if (code := fields.whole(record.get(key))) is not None), None)
    if fields.first(asked, "url", "uri") is not None:
        url = fields.first(asked, "url", "uri")
        request = _first(asked, ("body", "postData", "content", "json", "data"))
    if any(key in answered for key in ("body", "headers")) or isinstance(answered.get("content"), dict):
        said = answered.get("status", answered.get("status_code"))
        status = fields.whole(said.get("code") if isinstance(said, dict) else said)
        response = _first(answered, ("body", "content"))
    asked = _object(request)
    found = _body(response)
    return Exchange(url or "", status, asked, found or Body({}, True), found is not None or response is None)


def _framed(record: JsonObject, told: Exchange) -> Logged:
    """What is said beside the bodies; what has no id of its own is named by its time as well."""
    is_archived = "startedDateTime" in record
    hidden = _HIDDEN | {"time"} if is_archived else _HIDDEN
    outer = {key: value for key, value in record.items() if key not in hidden}
    frame = logged({**outer, "status_code": told.status}, told.request, told.response.body)
    date, state = _date(_first(record, _DATE))
    if frame.start_ns is None and date is not None:
        took = fields.number(record.get("time")) if is_archived else None
        end = frame.end_ns if took is None or took < 0 else date + round(took * 1e6)
        frame = frame._replace(start_ns=date, end_ns=end, time_state=state)
    elif date is not None and not any(key in record for key in START):
        frame = frame._replace(end_ns=frame.end_ns or date)
    elif frame.start_ns is None and state == "invalid":
        frame = frame._replace(time_state=state)
    error = frame.error
    if error is None and not told.readable:
        error = f"HTTP {told.status}: the response is neither JSON nor a stream of it"
    request_id = fields.first(told.response.body, "id", "request_id") or frame.record_id
    started = None if frame.start_ns is None else f"request at {frame.start_ns}"
    return frame._replace(error=error, record_id=request_id or started)


def _marked(made: Run, told: Exchange) -> Run:
    """The call with its address and HTTP status."""
    beside: JsonObject = {"url": told.url.partition("?")[0] or None, "status_code": told.status}
    told_ = {key: value for key, value in beside.items() if value is not None}
    return made._replace(
        steps=tuple(one._replace(attributes={**(one.attributes or {}), **told_}) for one in made.steps)
    )


def _first(record: JsonObject, keys: tuple[str, ...]) -> Json:
    return next((record[key] for key in keys if record.get(key) is not None), None)


def _is_text(body: Json) -> bool:
    """JSON or events as text, or in pieces."""
    if isinstance(body, str):
        return body.lstrip().startswith(_TEXT)
    if isinstance(body, dict):
        return isinstance(body.get("assembled"), dict)
    first = next(iter(fields.tables(body)), {})
    return is_chunk(first) or is_event(first)


def _object(body: Json) -> JsonObject:
    text = _text(body)
    return fields.table(fields.parsed(text)) if text is not None else fields.table(body)


def _body(body: Json) -> Body | None:
    """A response body, put together where it is a stream; null where it is neither."""
    inner = fields.table(body)
    held = next(
        (one for key in ("text", "string") if "assembled" in (one := fields.table(inner.get(key)))), body
    )
    text = _text(held)
    if (found := stream(held if text is None else text.lstrip())) is not None:
        return found
    if text is None:
        return Body(held, True) if isinstance(held, dict) else None
    whole = fields.parsed(text)
    if isinstance(whole, dict):
        return Body(whole, True)
    return stream(whole) if isinstance(whole, list) else assembled(sse(text))


def _text(body: Json) -> str | None:
    """The text of a body that is text, also inside an object and in base64."""
    if isinstance(body, dict) and not set(body) - {
        "text",
        "string",
        "encoding",
        "mimeType",
        "size",
        "base64_string",
    }:
        inner = fields.first(body, "text", "string", "base64_string")
        if inner is not None and (body.get("encoding") == "base64" or "base64_string" in body):
            return _decoded(inner)
        return inner
    return body if isinstance(body, str) else None


def _decoded(text: str) -> str:
    try:
        return b64decode(text).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return text


def _date(value: Json) -> tuple[int | None, str]:
    """A time in any spelling, and that of HTTP."""
    found, state = fields.moment(value)
    if state != "invalid" or not isinstance(value, str):
        return found, state
    try:
        return int(parsedate_to_datetime(value).timestamp()) * 10**9, "exact"
    except (ValueError, TypeError, OverflowError, IndexError):
        return None, "invalid"
