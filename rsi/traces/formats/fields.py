"""Single fields of records, read strictly in type and leniently in spelling."""

import math
import re
from ast import literal_eval as python_value
from datetime import UTC, datetime

import orjson

from rsi.traces.decode import decode_text
from rsi.traces.rows import Json, JsonObject

_INT64 = 2**63
_SCALES = ((1e11, 10**9), (1e14, 10**6), (1e17, 10**3))
"""Epoch numbers below the bound are seconds, milliseconds, microseconds; above all, nanoseconds."""
_WHOLE = re.compile(r"[+-]?\d{1,19}")
_DIGITS = re.compile(r"[+-]?\d+(\.\d+)?")
_FRACTION = re.compile(r"\.(\d+)")
_PYTHON = re.compile(r"\{\s*'")
_LONGEST_PYTHON = 20_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def text(value: Json) -> str | None:
    """A string, else null."""
    return value if isinstance(value, str) else None


def named(value: Json) -> str | None:
    """An id or name: a non-empty string, or a whole number as text; "None" and "null" are nobody's name."""
    if isinstance(value, str):
        return value if value.strip() and value not in ("None", "null") else None
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return None


def first(record: JsonObject, *keys: str) -> str | None:
    """The first of some keys that holds a name."""
    for key in keys:
        if key in record and (found := named(record[key])) is not None:
            return found
    return None


def whole(value: Json) -> int | None:
    """A 64-bit whole number, also from text or an integral double; else null."""
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        value = int(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and -_INT64 <= value < _INT64:
        return value
    return None


def number(value: Json) -> float | None:
    """A finite number, also from text; true is 1 and false is 0; else null."""
    if isinstance(value, str) and re.fullmatch(r"[+-]?\d{1,30}(\.\d{1,30})?", value.strip()):
        value = float(value)
    if isinstance(value, int | float) and abs(value) < 1e300 and math.isfinite(value):
        return float(value)
    return None


def moment(value: Json) -> tuple[int | None, str]:
    """Nanoseconds UTC and how sure they are: exact, assumed_utc (no zone said), missing or invalid.

    Epoch numbers are seconds, milli-, micro- or nanoseconds by their size; text is ISO 8601 or a number.
    """
    if value is None or value == "" or value == 0 or value == "0":
        return None, "missing"
    if isinstance(value, str) and _DIGITS.fullmatch(value) and len(value) < 25:
        value = float(value) if "." in value else int(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _epoch(value)
    if isinstance(value, str):
        return _iso(value)
    return None, "invalid"


def listing(value: Json) -> list[Json]:
    """An array, else an empty one."""
    return value if isinstance(value, list) else []


def table(value: Json) -> JsonObject:
    """An object, else an empty one."""
    return value if isinstance(value, dict) else {}


def tables(value: Json) -> list[JsonObject]:
    """The objects of an array."""
    return [one for one in listing(value) if isinstance(one, dict)]


def written(value: Json) -> str | None:
    """A value as canonical JSON text; null for null and for an empty object."""
    if value is None or value == {}:
        return None
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def parsed(value: Json) -> Json:
    """JSON inside a string, for fields known to hold it; other values as they are, broken text as null."""
    return decode_text(value) if isinstance(value, str) else value


def of_python(text: str) -> Json:
    """A literal of Python, as LangChain's tools log their input; null for what is none, or is no JSON."""
    if len(text) > _LONGEST_PYTHON:
        return None
    try:
        return decode_text(orjson.dumps(python_value(text)).decode())
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def arguments(value: Json) -> tuple[str | None, str]:
    """Arguments of a tool call as canonical JSON of an object, and their state: object, invalid or missing.

    They come as an object, as its JSON text, as JSON text of JSON text, or as Python writes a dictionary.
    """
    if value is None or value == "":
        return None, "missing"
    for _ in range(2):
        if isinstance(value, str):
            value = of_python(value) if _PYTHON.match(value) else decode_text(value)
    if isinstance(value, dict):
        return written(value) or "{}", "object"
    return None, "invalid"


def _epoch(value: int | float) -> tuple[int | None, str]:
    scale = next((scale for bound, scale in _SCALES if abs(value) < bound), 1)
    nanoseconds = value * scale if isinstance(value, int) else _exactly(value, scale)
    if nanoseconds is None or not 0 < nanoseconds < _INT64:
        return None, "invalid"
    return nanoseconds, "exact"


def _exactly(value: float, scale: int) -> int | None:
    """A double times a power of ten, without the digits that a second rounding invents."""
    if not math.isfinite(value):
        return None
    seconds = math.floor(value)
    return seconds * scale + round((value - seconds) * 1e6) * scale // 10**6


def _iso(value: str) -> tuple[int | None, str]:
    digits = _FRACTION.search(value)
    fraction = digits.group(1)[:9] if digits else ""
    plain = _FRACTION.sub("", value, count=1).strip()
    try:
        when = datetime.fromisoformat(plain)
        state = "exact" if when.tzinfo else "assumed_utc"
        seconds = (when if when.tzinfo else when.replace(tzinfo=UTC)) - _EPOCH
    except (ValueError, OverflowError):
        return None, "invalid"
    nanoseconds = (seconds.days * 86_400 + seconds.seconds) * 10**9 + int(fraction.ljust(9, "0") or 0)
    return (nanoseconds, state) if 0 < nanoseconds < _INT64 else (None, "invalid")
