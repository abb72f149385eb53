"""Names made from content."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi.errors import ContractError
from rsi.ids import canonical, digest, night, safe_name


def test_digest_does_not_depend_on_key_order():
    """Equal values have equal digests, however they were built."""
    assert digest({"b": 1, "a": [2, "ä"]}) == digest({"a": [2, "ä"], "b": 1})
    assert digest({"a": 1}) != digest({"a": 2})


def test_canonical_json_is_compact_and_sorted():
    """One text a value."""
    assert canonical({"b": 1, "a": None}) == b'{"a":null,"b":1}'


def test_8_night_is_the_utc_date_of_the_schedule():
    """A time east of Greenwich after midnight still belongs to the UTC date."""
    late = datetime(2026, 3, 1, 0, 30, tzinfo=timezone(timedelta(hours=2)))

    assert night(late) == "2026-02-28"
    assert night(datetime(2026, 3, 1, tzinfo=UTC)) == "2026-03-01"
    assert night("2026-03-01.2") == "2026-03-01.2"


@pytest.mark.parametrize("bad", ["", "2026-3-1", "2026-03-01.0", "../2026-03-01", "2026-03-01.12345"])
def test_other_texts_are_no_night(bad):
    """The message repeats what was found and says what is expected."""
    with pytest.raises(ContractError, match="YYYY-MM-DD"):
        night(bad)


@pytest.mark.parametrize(
    "bad",
    [
        "",
        ".",
        "..",
        "../x",
        "/x",
        "C:\\x",
        "a\0b",
        "CON",
        "con.txt",
        "x" * 101,
        "-rf",
        "a/b",
        "а",
        "a..b",
        "nul",
    ],
)
def test_hostile_names_are_refused(bad):
    """Outside text never becomes a path of its own choice."""
    with pytest.raises(ContractError):
        safe_name(bad)


@given(st.text(max_size=120))
def test_a_safe_name_stays_inside_its_folder(text):
    """Whatever is accepted is one plain component of a path, unchanged."""
    try:
        name = safe_name(text)
    except ContractError:
        return
    inside = (Path("/home/rsi") / name).resolve()

    assert inside.parent == Path("/home/rsi")
    assert name == text
