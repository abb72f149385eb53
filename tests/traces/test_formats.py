"""The table of readers: each on its sample."""

from pathlib import Path

import pytest

from rsi.settings import Home
from rsi.traces.decode import decode_record
from rsi.traces.detect import detect, read
from rsi.traces.formats import FORMATS
from rsi.traces.pieces import pieces
from rsi.traces.rows import Format, Place, Refusal, Rows
from rsi.traces.streams import joined
from rsi.traces.values import Piece
from tests.traces.inputs import SAMPLES, load, rows

HERE = Place("default", None, "file", 1, 0, "sample")


def sample(name: str) -> Path:
    """The fixture of a format is named like it."""
    (found,) = SAMPLES.glob(f"{name}.*")
    return found


def pieces_of(name: str) -> list[Piece]:
    found = list(joined(pieces(sample(name))))
    assert found
    assert all(isinstance(one, Piece) for one in found)
    return [one for one in found if isinstance(one, Piece)]


@pytest.mark.parametrize("format_", FORMATS, ids=lambda one: one.NAME)
def test_every_format_takes_its_sample(format_: Format) -> None:
    """Each record of the sample goes to the format's reader; most of what it says becomes rows."""
    found: list[Rows | Refusal] = []
    for piece in pieces_of(format_.NAME):
        record = decode_record(piece.body)
        assert not isinstance(record, Refusal)
        assert detect(record) is format_
        found.extend(read(piece, HERE)[1])
    assert sum(isinstance(one, Rows) for one in found) > sum(isinstance(one, Refusal) for one in found)


@pytest.mark.parametrize("format_", FORMATS, ids=lambda one: one.NAME)
def test_reading_twice_gives_the_same_rows(format_: Format) -> None:
    """Ids come from content and place in it, nothing else."""
    once, again = ([read(one, HERE) for one in pieces_of(format_.NAME)] for _ in range(2))
    assert once == again


@pytest.mark.parametrize("format_", FORMATS, ids=lambda one: one.NAME)
def test_a_sample_loads_with_its_name(home: Home, format_: Format) -> None:
    """Into the store: each trace says which reader made it, nothing of a reader is missing in the tables."""
    load(home, sample(format_.NAME))
    assert rows(home, "select distinct format from traces") == [(format_.NAME,)]
    assert rows(home, "select count(*) from quarantine where reason = 'reader_failed'") == [(0,)]


def test_no_two_formats_share_a_name() -> None:
    """The column `format` tells them apart."""
    assert len({one.NAME for one in FORMATS}) == len(FORMATS)
