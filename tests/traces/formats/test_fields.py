"""Single fields: times and arguments in all their spellings."""

import pytest

from rsi.traces.formats import fields
from rsi.traces.rows import Json


@pytest.mark.parametrize(
    ("value", "nanoseconds", "state"),
    [
        (1_760_000_000, 1_760_000_000_000_000_000, "exact"),
        (1_760_000_000.25, 1_760_000_000_250_000_000, "exact"),
        (1_760_000_000_123, 1_760_000_000_123_000_000, "exact"),
        (1_760_000_000_123_456, 1_760_000_000_123_456_000, "exact"),
        ("1760000000123456789", 1_760_000_000_123_456_789, "exact"),
        ("2025-10-09T10:53:20+02:00", 1_760_000_000_000_000_000, "exact"),
        ("2025-10-09 08:53:20", 1_760_000_000_000_000_000, "assumed_utc"),
        ("2025-10-09T08:53:20.000000001Z", 1_760_000_000_000_000_001, "exact"),
        (None, None, "missing"),
        ("", None, "missing"),
        (0, None, "missing"),
        ("yesterday", None, "invalid"),
        (-5, None, "invalid"),
        (True, None, "invalid"),
        (1e300, None, "invalid"),
        ({"a": 1}, None, "invalid"),
    ],
)
def test_times(value: Json, nanoseconds: int | None, state: str) -> None:
    """Every spelling to nanoseconds, with what is known about it."""
    assert fields.moment(value) == (nanoseconds, state)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": 1}, ('{"a":1}', "object")),
        ('{"b": 2, "a": 1}', ('{"a":1,"b":2}', "object")),
        ('"{\\"a\\": 1}"', ('{"a":1}', "object")),
        ("{}", ("{}", "object")),
        ("", (None, "missing")),
        (None, (None, "missing")),
        ("{'a': 1}", ('{"a":1}', "object")),
        ("{'a': [None, True, 'it\\'s']}", ('{"a":[null,true,"it\'s"]}', "object")),
        ("{'a': open('b')}", (None, "invalid")),
        ("{'a': b'1'}", (None, "invalid")),
        ("{'a': " + "[" * 5000, (None, "invalid")),
        ("[1]", (None, "invalid")),
    ],
)
def test_arguments_of_tools(value: Json, expected: tuple[str | None, str]) -> None:
    """Object, text, text of text, a dictionary of Python; what is none of them is said to be."""
    assert fields.arguments(value) == expected


@pytest.mark.parametrize("nobody", ["", " ", "None", "null", None, True, 1.5, [], {}])
def test_what_is_nobodys_name(nobody: Json) -> None:
    """Proxies write these where they know no id."""
    assert fields.named(nobody) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (5, 5),
        ("7", 7),
        (5.0, 5),
        (5.5, None),
        (True, None),
        ("5.5", None),
        (2**63, None),
        (-(2**63), -(2**63)),
    ],
)
def test_whole_numbers(value: Json, expected: int | None) -> None:
    """Of 64 bits, also as text or an integral double."""
    assert fields.whole(value) == expected
