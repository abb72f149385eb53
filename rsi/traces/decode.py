"""Bytes to JSON, by rules that never raise.

1. Text is UTF-8; anything else is refused.
2. A lone surrogate escape (half a character) and NUL become U+FFFD, which every client can store and show.
3. NaN, Infinity and numbers beyond a double become null; integers beyond 64 bits become doubles.
4. Of equal keys the last one stands. Raw control characters inside strings are read as they are.
5. More than 100 levels of nesting are refused, so that whatever was read can be written again.
"""

import json
import math
import re
from itertools import accumulate

import orjson

from rsi.traces.rows import Json, JsonObject, Reason, Refusal

MAX_DEPTH = 100
_ODD = re.compile("[\x00\ud800-\udfff]")
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_INT64_DIGITS = 18
_OPEN = ord("{")
_SAME = bytes.maketrans(b"[]", b"{}")
_OTHER = bytes(one for one in range(256) if one not in b"[]{}")


def decode(body: bytes) -> Json | Refusal:
    """One JSON value."""
    try:
        value: Json = orjson.loads(body)
        odd = b"\\u0000" in body
    except orjson.JSONDecodeError:
        found = _decode_leniently(body)
        if isinstance(found, Refusal):
            return found
        value, odd = found[0], True
    if body.count(b"[") + body.count(b"{") > MAX_DEPTH and _deeper(body, MAX_DEPTH):
        return Refusal(Reason.TOO_DEEP, f"nested deeper than {MAX_DEPTH} levels")
    return clean(value) if odd else value


def decode_record(body: bytes) -> JsonObject | Refusal:
    """One JSON object."""
    value = decode(body)
    if isinstance(value, dict | Refusal):
        return value
    return Refusal(Reason.UNKNOWN_FORMAT, f"expected a JSON object, found {kind(value)}")


def decode_text(text: str) -> Json | None:
    """JSON inside a string, by the same rules; null where it is none."""
    value = decode(text.encode("utf-8", "replace"))
    return None if isinstance(value, Refusal) else value


def clean(value: Json) -> Json:
    """The value with NUL and lone surrogates replaced in every string and key."""
    if isinstance(value, str):
        return _ODD.sub("\ufffd", value)
    if isinstance(value, list):
        return [clean(one) for one in value]
    if isinstance(value, dict):
        return {_ODD.sub("\ufffd", key): clean(one) for key, one in value.items()}
    return value


def kind(value: object) -> str:
    """What a value is, in the words of JSON."""
    names = {bool: "true or false", int: "a number", float: "a number", str: "a string", list: "an array"}
    return "null" if value is None else names.get(type(value), "an object")


def _decode_leniently(body: bytes) -> tuple[Json] | Refusal:
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        return Refusal(Reason.NOT_UTF8, f"byte {error.start} of the record is not UTF-8")
    try:
        return (
            json.loads(text, strict=False, parse_constant=_no_number, parse_float=_float, parse_int=_int),
        )
    except RecursionError:
        return Refusal(Reason.TOO_DEEP, f"nested deeper than {MAX_DEPTH} levels")
    except ValueError as error:
        return Refusal(Reason.NOT_JSON, str(error))


def _no_number(_: str) -> None:
    return None


def _float(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


def _int(text: str) -> int | float | None:
    return int(text) if len(text.lstrip("-")) <= _INT64_DIGITS else _float(text)


def _deeper(body: bytes, limit: int) -> bool:
    """Whether brackets are nested deeper than `limit`. Those inside strings may hide some: a quick look first.

    What is hidden so fails later, where it is written, and is refused there.
    """
    return _is_over(body, limit) and _is_over(_STRING.sub(b"", body), limit)


def _is_over(body: bytes, limit: int) -> bool:
    """Pairs are taken away from the inside out: a level each time, where all brackets are in pairs."""
    brackets = left = body.translate(_SAME, _OTHER)
    for _ in range(limit):
        before, left = left, left.replace(b"{}", b"")
        if not left:
            return False
        if len(left) == len(before):
            break
    return max(accumulate(1 if one == _OPEN else -1 for one in brackets)) > limit
