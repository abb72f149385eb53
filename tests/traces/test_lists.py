"""Documents too large to be read as one, cut at the list that they hold."""

import json
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rsi.settings import Home
from rsi.traces import pieces as cutting
from rsi.traces.lists import opening
from rsi.traces.rows import Json, Reason
from rsi.traces.values import Flaw, Piece, values
from tests.traces.inputs import chat, load, rows

ELEMENTS = st.lists(
    st.dictionaries(
        st.sampled_from(["data", "a", "x]"]),
        st.text(alphabet='ab"\\[]{}\n é', max_size=8) | st.lists(st.integers(0, 9), max_size=2),
        min_size=1,
        max_size=2,
    ),
    min_size=40,
    max_size=50,
)
LIMIT = 200
DECODER = json.JSONDecoder()


def blocks(text: bytes, size: int) -> Iterator[bytes]:
    """The text in blocks of a size."""
    return (text[at : at + size] for at in range(0, len(text), size))


def cut(text: bytes, size: int = 64, limit: int = LIMIT) -> list[Piece | Flaw]:
    return list(values(blocks(text, size), 0, limit))


@given(elements=ELEMENTS, size=st.integers(1, 400), indent=st.booleans())
@settings(max_examples=150, deadline=None)
def test_a_long_list_becomes_its_elements(elements: list[Json], size: int, indent: bool) -> None:
    """Each with what stands around the list, in any blocks, and found again at its offset and line."""
    text = orjson.dumps({"object": "list", "hits": {"n": 1, "hits": elements}, "more": [1]},
                        option=orjson.OPT_INDENT_2 if indent else None) + b'\n{"next": 1}'  # fmt: skip
    *listed, last = cut(text, size)
    assert [orjson.loads(one.body) for one in listed if isinstance(one, Piece)] == [
        {"object": "list", "hits": {"n": 1, "hits": [element]}} for element in elements
    ]
    for one, element in zip(listed, elements, strict=True):
        assert isinstance(one, Piece)
        assert text[: one.byte_offset].count(b"\n") + 1 == one.line
        begun, _ = DECODER.raw_decode(text[one.byte_offset :].decode())
        assert begun == element
    assert isinstance(last, Piece)
    assert (orjson.loads(last.body), last.byte_offset) == ({"next": 1}, text.rindex(b'{"next"'))


def test_what_stands_behind_the_list_comes_too_where_it_is_a_list() -> None:
    """As a document of its own; a mere cursor does not."""
    page = {"trace": {"id": "t"}, "observations": [{"id": n} for n in range(99)], "scores": [{"id": "s"}]}
    found = [orjson.loads(one.body) for one in cut(orjson.dumps(page)) if isinstance(one, Piece)]
    assert found[3] == {"trace": {"id": "t"}, "observations": [{"id": 3}]}
    assert found[99:] == [{"trace": {"id": "t"}, "observations": [], "scores": [{"id": "s"}]}]
    page = {"data": [{"id": n} for n in range(99)], "meta": {"cursor": "c", "ids": [1]}}
    assert len(cut(orjson.dumps(page))) == 99


def test_what_is_no_list_of_records_is_refused_whole() -> None:
    """A conversation is not cut into messages; nor is a list inside of a list, or a mere object."""
    for record in (
        {"messages": [{"role": "user", "content": "x"}] * 99},
        {"odd": [{"data": [{"a": 1}] * 99}]},
        {"data": {"text": "[" * 999}},
    ):
        flaw, after = cut(orjson.dumps(record) + b'{"a":1}')
        assert isinstance(flaw, Flaw)
        assert (flaw.reason, flaw.byte_offset) == (Reason.TOO_LARGE, 0)
        assert isinstance(after, Piece)


def test_an_element_that_is_too_large_is_refused_alone() -> None:
    """As are a number between elements and an end that is missing."""
    text = b'{"data":[{"a":1},{"b":"' + b"x" * 500 + b'"},7,{"c":3},{"d":'
    one, large, odd, other, end = cut(text)
    assert isinstance(one, Piece) and isinstance(other, Piece)
    assert (one.body, other.body) == (b'{"data":[{"a":1}]}', b'{"data":[{"c":3}]}')
    assert [flaw.reason for flaw in (large, odd, end) if isinstance(flaw, Flaw)] == [
        Reason.TOO_LARGE,
        Reason.NOT_JSON,
        Reason.CUT_LINE,
    ]


def test_a_long_head_does_not_go_with_every_element() -> None:
    """The way to the list does."""
    text = b'{"info":"' + b"x" * 70_000 + b'","data":{"n":1,"spans":[{"id":1},'
    found = opening(text)
    assert found is not None
    assert (found.front, found.back, text[found.at :]) == (b'{"data":{"spans":[', b"]}}", b'{"id":1},')


@given(st.binary(max_size=200), st.integers(1, 50))
def test_arbitrary_bytes_never_raise(text: bytes, size: int) -> None:
    """In a list that is cut, or behind it."""
    cut(b'{"data":[{"a":1},' + b'{"a":1},' * 30 + text, size)
    cut(b'{"data":[{"a":1}' + b',{"a":1}' * 30 + b"]" + text, size)


def test_a_large_page_loads_as_its_records(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Into the store, each under its own place."""
    monkeypatch.setattr(cutting, "MAX_RECORD", 2000)
    path: Path = home.root / "a.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(orjson.dumps({"object": "list", "data": [chat(f"q {n}") for n in range(50)]}))
    totals = load(home, path)
    assert (totals.read, totals.loaded) == (50, 50)
    assert rows(home, "select count(distinct byte_offset) from traces") == [(50,)]
