"""Bytes to JSON by stated rules."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi.traces.decode import MAX_DEPTH, decode, decode_record
from rsi.traces.rows import Reason, Refusal


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b'{"a": "x\\ud800y"}', {"a": "x\ufffdy"}),
        (b'{"a": "\\ud83d\\ude00"}', {"a": "\U0001f600"}),
        (b'{"a\\u0000b": "c\\u0000d"}', {"a\ufffdb": "c\ufffdd"}),
        (b'{"a": NaN, "b": -Infinity, "c": 1e999}', {"a": None, "b": None, "c": None}),
        (b'{"a": 1, "a": 2}', {"a": 2}),
        (b'{"a": "tab\there"}', {"a": "tab\there"}),
        (b'{"a": 123456789012345678901234567890, "b": NaN}', {"a": 1.2345678901234568e29, "b": None}),
    ],
)
def test_odd_but_readable(body: bytes, value: object) -> None:
    """Half characters, NUL, what is no number, repeated keys, control characters, long integers."""
    assert decode(body) == value


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'{"a": "\xff"}', Reason.NOT_UTF8),
        (b'{"a": 1} trailing', Reason.NOT_JSON),
        (b"", Reason.NOT_JSON),
        (b"[" * 50_000 + b"]" * 50_000, Reason.TOO_DEEP),
        (b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), Reason.TOO_DEEP),
        (b"1" * 10_000 + b"x", Reason.NOT_JSON),
    ],
)
def test_unreadable(body: bytes, reason: Reason) -> None:
    """Refused with its reason."""
    found = decode(body)
    assert isinstance(found, Refusal)
    assert found.reason is reason


def test_nesting_up_to_the_limit_is_read() -> None:
    """The limit itself is allowed."""
    assert not isinstance(decode(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH), Refusal)


def test_a_record_is_an_object() -> None:
    """Other JSON is of no format."""
    found = decode_record(b"[1]")
    assert isinstance(found, Refusal)
    assert found.reason is Reason.UNKNOWN_FORMAT


@given(st.binary(max_size=80) | st.text(max_size=40).map(lambda text: text.encode()))
def test_what_was_read_can_be_written(body: bytes) -> None:
    """Whatever the bytes: no exception, and the value is JSON in UTF-8 again."""
    found = decode(body)
    if not isinstance(found, Refusal):
        orjson.dumps(found)


def test_brackets_inside_text_are_no_nesting() -> None:
    """Colours of a terminal open many and close none."""
    text = "\x1b[31m" * 500
    assert decode(orjson.dumps({"traceback": text})) == {"traceback": text}
    hidden = orjson.dumps({"a": "]" * 500, "b": text})[:-1] + b',"c":' + b"[" * 150 + b"]" * 150 + b"}"
    found = decode(hidden)
    assert isinstance(found, Refusal)
    assert found.reason is Reason.TOO_DEEP
