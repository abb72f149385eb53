"""Answers as JSON, CSV and Parquet."""

import csv
import io
from pathlib import Path

import orjson
import pyarrow.parquet as pq
import pytest

from rsi.settings import Home
from rsi.store import answer
from rsi.store.query import asked, streamed
from rsi.store.snapshot import refresh
from tests.traces.inputs import CLOCK

ODD = (
    "select 1 as a, 2 as a, 'x,\"y\u00e9' as text, [1, null] as list, {'k': 1.5::decimal(4, 1)} as object, "
    "null as nothing, true as yes, timestamp '2026-01-02 03:04:05' as at, 'nan'::double as no_number, "
    "9007199254740993 as whole, "
    "170141183460469231731687303715884105727::hugeint as huge, 'ab'::blob as bytes, map {1: 'one'} as mapped"
)


@pytest.fixture
def asked_home(home: Home) -> Home:
    refresh(home, CLOCK)
    return home


def test_json_has_every_value_and_no_invalid_number(asked_home: Home) -> None:
    """The second of two equal names gets a number; what JSON has no number for is null or text."""
    file = io.BytesIO()
    with asked(asked_home, ODD) as found:
        assert answer.json(found, file) == 1

    assert orjson.loads(file.getvalue()) == [
        {
            "a": 1, "a_2": 2, "text": "x,\"y\u00e9", "list": [1, None], "object": {"k": 1.5}, "nothing": None,
            "yes": True, "at": "2026-01-02T03:04:05", "no_number": None, "whole": 9007199254740993,
            "huge": "170141183460469231731687303715884105727", "bytes": "ab", "mapped": {"1": "one"},
        }
    ]  # fmt: skip


def test_csv_reads_back(asked_home: Home) -> None:
    """Commas, quotes and line ends inside of values stay there; null is empty, lists are JSON."""
    file = io.BytesIO()
    with asked(asked_home, f"{ODD}, 'two' || chr(10) || 'lines' as lines") as found:
        answer.comma_separated(found, file)
    header, row = csv.reader(io.StringIO(file.getvalue().decode(), newline=""))
    said = dict(zip(header, row, strict=True))

    assert (said["a_2"], said["text"], said["nothing"], said["yes"]) == ("2", 'x,"y\u00e9', "", "true")
    assert (said["list"], said["object"], said["lines"]) == ("[1,null]", '{"k":1.5}', "two\nlines")


def test_parquet_keeps_types(asked_home: Home, tmp_path: Path) -> None:
    """Readable by any reader, with both columns of one name."""
    path = tmp_path / "a.parquet"
    with streamed(asked_home, ODD, 100) as batches, path.open("wb") as file:
        assert answer.parquet(batches, file) == 1
    (row,) = pq.read_table(path).to_pylist()

    assert (row["a"], row["a_2"], row["list"], row["yes"]) == (1, 2, [1, None], True)
    assert row["at"].isoformat() == "2026-01-02T03:04:05"


def test_an_answer_of_several_blocks_is_whole(asked_home: Home, tmp_path: Path, monkeypatch) -> None:
    """In each form, in order; an empty one is empty."""
    monkeypatch.setattr(answer, "BLOCK", 10)
    expected = list(range(25))
    file, text, path = io.BytesIO(), io.BytesIO(), tmp_path / "b.parquet"
    with asked(asked_home, "select range as n from range(25) order by n") as found:
        assert answer.json(found, file) == 25
    with asked(asked_home, "select range as n from range(25) order by n") as found:
        answer.comma_separated(found, text)
    with (
        streamed(asked_home, "select range as n from range(25) order by n", 10) as batches,
        path.open("wb") as out,
    ):
        answer.parquet(batches, out)

    assert [row["n"] for row in orjson.loads(file.getvalue())] == expected
    assert text.getvalue().decode().split() == ["n", *map(str, expected)]
    assert pq.read_table(path)["n"].to_pylist() == expected
    empty = io.BytesIO()
    with asked(asked_home, "select 1 as n where false") as found:
        assert answer.json(found, empty) == 0
    assert orjson.loads(empty.getvalue()) == []
