"""Files cut into records."""

import gzip
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi.traces import pieces as cutting
from rsi.traces.pieces import Left, pieces, taken
from rsi.traces.rows import Reason
from rsi.traces.values import Cut, Flaw, Piece, values

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(alphabet='ab"\\[]{}\n é', max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def found(path: Path) -> list[Piece | Flaw | Left]:
    return list(pieces(path))


def test_lines_keep_number_and_offset_across_blanks_crlf_and_a_byte_order_mark(tmp_path: Path) -> None:
    """Line numbers count blank lines; offsets point at the line in the file, mark included."""
    text = b'\xef\xbb\xbf{"a":1}\r\n\r\n  {"b":2}\n'
    path = tmp_path / "a.jsonl"
    path.write_bytes(text)
    first, second = found(path)
    assert isinstance(first, Piece)
    assert isinstance(second, Piece)
    assert (first.line, first.byte_offset, first.body) == (1, 3, b'{"a":1}')
    assert (second.line, second.byte_offset, second.body) == (3, 14, b'{"b":2}')
    assert text[second.byte_offset :].lstrip().startswith(second.body)


def test_an_unterminated_last_line_is_marked_and_of_an_open_segment_left(tmp_path: Path) -> None:
    """Whether it is whole is for the reader to say; a segment that is being written waits."""
    text = b'{"a":1}\n{"b":2}'
    closed, still_open = tmp_path / "a.ndjson", tmp_path / "a.ndjson.open"
    closed.write_bytes(text)
    still_open.write_bytes(text)
    assert found(closed)[1] == Piece(2, 8, b'{"b":2}', Cut.PERHAPS)
    assert found(still_open) == [Piece(1, 0, b'{"a":1}'), Left(8)]


def test_a_line_beyond_the_limit_is_a_flaw_and_the_next_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it spans many blocks."""
    monkeypatch.setattr(cutting, "MAX_RECORD", 100)
    monkeypatch.setattr(cutting, "BLOCK", 16)
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a":"' + b"x" * 500 + b'"}\n{"b":2}\n')
    flaw, piece = found(path)
    assert isinstance(flaw, Flaw)
    assert (flaw.line, flaw.byte_offset, flaw.reason) == (1, 0, Reason.TOO_LARGE)
    assert piece == Piece(2, 509, b'{"b":2}')


@pytest.mark.parametrize("block", [1, 2, 3, 7, 64])
def test_an_oversized_value_is_a_flaw_and_the_next_is_read(block: int) -> None:
    """The same for documents, whatever the blocks."""
    text = b'[{"a":"' + b"\\" * 40 + b"x" * 500 + b'"}, {"b":2}]'
    blocks = (text[at : at + block] for at in range(0, len(text), block))
    flaw, piece = list(values(blocks, 0, 100))
    assert isinstance(flaw, Flaw)
    assert flaw.reason is Reason.TOO_LARGE
    assert piece == Piece(1, text.index(b'{"b"'), b'{"b":2}')


@given(
    records=st.lists(st.dictionaries(st.text(max_size=3), JSON, max_size=3), max_size=5),
    block=st.integers(1, 40),
    as_array=st.booleans(),
    indent=st.booleans(),
)
def test_values_are_found_whatever_they_hold_and_wherever_blocks_end(
    records: list[dict[str, object]], block: int, as_array: bool, indent: bool
) -> None:
    """Arrays and values in a row give the same records, each at its offset and line."""
    option = orjson.OPT_INDENT_2 if indent else 0
    text = orjson.dumps(records, option=option)
    if not as_array:
        text = b"\n".join(orjson.dumps(record, option=option) for record in records)
    blocks = (text[at : at + block] for at in range(0, len(text), block))
    cut = list(values(blocks, 0, 1000))
    assert [orjson.loads(piece.body) for piece in cut if isinstance(piece, Piece)] == records
    for piece in cut:
        assert isinstance(piece, Piece)
        assert text[piece.byte_offset :].startswith(piece.body)
        assert piece.line == text[: piece.byte_offset].count(b"\n") + 1


def test_a_broken_element_does_not_take_the_others_with_it() -> None:
    """It is cut out by its brackets, for the decoder to refuse."""
    cut = list(values(iter([b'[{"a": nope}, garbage, {"b": 2}]']), 0, 1000))
    assert [type(one) for one in cut] == [Piece, Flaw, Piece]
    assert isinstance(cut[1], Flaw)
    assert cut[1].reason is Reason.NOT_JSON


def test_a_file_that_ends_inside_a_value_says_so() -> None:
    """The whole values before it are kept."""
    whole, flaw = list(values(iter([b'{"a": 1} {"b": "unfini']), 0, 1000))
    assert whole == Piece(1, 0, b'{"a": 1}')
    assert isinstance(flaw, Flaw)
    assert (flaw.reason, flaw.byte_offset, flaw.excerpt) == (Reason.CUT_LINE, 9, b'{"b": "unfini')
    _, unclosed = list(values(iter([b'[{"a": 1}']), 0, 1000))
    assert isinstance(unclosed, Flaw)
    assert unclosed.reason is Reason.CUT_LINE


def test_a_file_that_is_no_json_from_the_start_is_one_flaw() -> None:
    """However many braces it has."""
    (flaw,) = values(iter([b"Dear {name},\n" * 1000]), 0, 1000)
    assert isinstance(flaw, Flaw)
    assert flaw.reason is Reason.NOT_JSON


def test_a_damaged_gzip_gives_what_comes_before_the_damage(tmp_path: Path) -> None:
    """Then the half line, then the stream."""
    lines = b"".join(b'{"n":%d}\n' % number for number in range(1000))
    packed = gzip.compress(lines)
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(packed[: len(packed) // 2])
    cut = found(path)
    whole = [piece for piece in cut if isinstance(piece, Piece) and piece.cut is Cut.NO]
    assert len(whole) > 100
    assert whole[-1].body == b'{"n":%d}' % (len(whole) - 1)
    assert isinstance(cut[-1], Flaw)
    assert cut[-1].reason is Reason.CUT_STREAM


def test_several_gzip_members_are_one_text(tmp_path: Path) -> None:
    """As log rotation makes them."""
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a":1}\n') + gzip.compress(b'{"b":2}\n'))
    assert [piece.body for piece in found(path) if isinstance(piece, Piece)] == [b'{"a":1}', b'{"b":2}']


def test_a_file_of_lines_that_holds_a_document_is_read_as_one(tmp_path: Path) -> None:
    """An array in a .jsonl file, or an object over several lines."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'[\n {"a":1},\n {"b":2}\n]\n')
    assert [piece.line for piece in found(path) if isinstance(piece, Piece)] == [2, 3]
    path.write_bytes(b'{\n "a": 1\n}\n')
    assert [piece.line for piece in found(path) if isinstance(piece, Piece)] == [1]


@pytest.mark.parametrize(
    ("name", "is_taken"),
    [
        ("a.json", True),
        ("a.jsonl.gz", True),
        ("a.NDJSON", True),
        ("a.ndjson.open", True),
        ("a.jsonl.zst", True),
        ("a.txt", False),
        ("a.gz", False),
        ("json", False),
    ],
)
def test_names_that_are_taken(name: str, is_taken: bool) -> None:
    """By ending, also behind a compression or the mark of an open segment."""
    assert taken(Path(name)) is is_taken
