"""Files told by their content: how they are compressed, and whether they hold lines or documents."""

import gzip
import random
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rsi.traces.packed import blocks
from rsi.traces.pieces import Left, looks_like_json, pieces
from rsi.traces.rows import Reason
from rsi.traces.values import Cut, Flaw, Piece

LINES = [b'{"n":%d,"x":"%s"}' % (n, random.Random(n).randbytes(30).hex().encode()) for n in range(9000)]
TEXT = b"\n".join(LINES) + b"\n"


def zstd(text: bytes) -> bytes:
    """One frame."""
    packed: bytes = pa.compress(text, codec="zstd", asbytes=True)
    return packed


def cut(path: Path, text: bytes) -> list[Piece | Flaw | Left]:
    path.write_bytes(text)
    return list(pieces(path))


def bodies(found: list[Piece | Flaw | Left]) -> list[bytes]:
    return [one.body for one in found if isinstance(one, Piece)]


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.json.zst", "log.1"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd], ids=["plain", "gzip", "zstd"])
def test_compression_is_known_by_content(tmp_path: Path, name: str, pack: object) -> None:
    """A name that says otherwise is ignored."""
    assert callable(pack)
    assert bodies(cut(tmp_path / name, pack(TEXT))) == LINES
    assert looks_like_json(tmp_path / name)


def test_several_frames_and_frames_to_skip_are_one_text(tmp_path: Path) -> None:
    """As tools that append write zstd."""
    skipped = b"\x55\x2a\x4d\x18\x04\x00\x00\x00abcd"
    assert bodies(cut(tmp_path / "a.zst", skipped + zstd(b'{"a":1}\n') + zstd(b'{"b":2}\n'))) == [
        b'{"a":1}',
        b'{"b":2}',
    ]


@pytest.mark.parametrize("share", [0.3, 0.62, 0.999])
@pytest.mark.parametrize("pack", [gzip.compress, zstd], ids=["gzip", "zstd"])
def test_a_cut_stream_gives_every_record_that_was_whole(tmp_path: Path, pack: object, share: float) -> None:
    """All bytes that can be unpacked, then the line that is cut, then the stream."""
    assert callable(pack)
    packed = pack(TEXT)
    path = tmp_path / "a.jsonl"
    path.write_bytes(packed[: int(len(packed) * share)])
    text = b"".join(one for one in blocks(path, 1 << 20) if isinstance(one, bytes))
    found = list(pieces(path))

    assert len(text) > len(TEXT) * (share - 0.3)
    assert TEXT.startswith(text)
    assert bodies(found) == [line for line in text.split(b"\n") if line]
    assert isinstance(found[-1], Flaw)
    assert found[-1].reason is Reason.CUT_STREAM


def test_bytes_behind_a_gzip_stream_are_a_flaw(tmp_path: Path) -> None:
    """What comes before them is kept; zeros are padding."""
    found = cut(tmp_path / "a.gz", gzip.compress(b'{"a":1}\n') + b"junk")
    assert bodies(found) == [b'{"a":1}']
    assert isinstance(found[-1], Flaw)
    assert found[-1].reason is Reason.CUT_STREAM
    assert len(cut(tmp_path / "a.gz", gzip.compress(b'{"a":1}\n') + bytes(512))) == 1


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.log"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b'{"a":1}\n{"b":2}\n{"c":3}\n', [b'{"a":1}', b'{"b":2}', b'{"c":3}']),
        (b'[{"a":1},{"b":2}]', [b'{"a":1}', b'{"b":2}']),
        (b'[\n{"a":1},\n{"b":2}\n]\n', [b'{"a":1}', b'{"b":2}']),
        (b'{"a":1}{"b":2}', [b'{"a":1}', b'{"b":2}']),
        (b'{"a":1}{"b":2}\n{"c":3}\n', [b'{"a":1}', b'{"b":2}', b'{"c":3}']),
        (b'{\n "a": [\n  {"x":1}\n ]\n}\n{\n "b": 2\n}', [b'{\n "a": [\n  {"x":1}\n ]\n}', b'{\n "b": 2\n}']),
        (b'{ "a": 1,\n  "b": 2 }\n', [b'{ "a": 1,\n  "b": 2 }']),
        (b'{"spans":[\n{"x":1},\n{"x":2}\n]}', [b'{"spans":[\n{"x":1},\n{"x":2}\n]}']),
        (b'{"a":1}\n{\n "b": 2\n}\n{\n "c": 3\n}', [b'{"a":1}', b'{\n "b": 2\n}', b'{\n "c": 3\n}']),
    ],
    ids=["lines", "array", "printed array", "a row", "rows", "printed", "two lines", "elements", "mixed"],
)
def test_lines_and_documents_are_told_apart_by_content(
    tmp_path: Path, name: str, text: bytes, expected: list[bytes]
) -> None:
    """Whatever the name says."""
    assert bodies(cut(tmp_path / name, text)) == expected


def test_a_broken_line_among_lines_costs_only_itself(tmp_path: Path) -> None:
    """Also where the name promises a document, and where the first line is the broken one."""
    text = b'{"a": "unfinished\n{"b":2}\n{"c":3}\n{"d":4}\n'
    for name in ("a.json", "a.jsonl"):
        assert bodies(cut(tmp_path / name, text))[1:] == [b'{"b":2}', b'{"c":3}', b'{"d":4}']


def test_a_segment_that_is_being_written_is_lines(tmp_path: Path) -> None:
    """Its only line may be half there."""
    assert cut(tmp_path / "a.ndjson.open", b'{"a": 1, "b') == [Left(0)]


def test_a_last_line_without_an_end_may_be_whole(tmp_path: Path) -> None:
    """In a file of lines it stays with its text."""
    assert cut(tmp_path / "a.log", b'{"a":1}\n{"b":2}\n{"c":')[-1] == Piece(3, 16, b'{"c":', Cut.PERHAPS)


def test_utf_16_is_named(tmp_path: Path) -> None:
    """It is what PowerShell writes."""
    (flaw,) = cut(tmp_path / "a.jsonl", '{"a":1}\n'.encode("utf-16"))
    assert isinstance(flaw, Flaw)
    assert flaw.reason is Reason.NOT_UTF8
    assert "UTF-16" in flaw.detail


MAGIC = st.sampled_from(
    [
        b"",
        b"\x1f\x8b\x08",
        b"\x28\xb5\x2f\xfd",
        b"\x50\x2a\x4d\x18",
        b"PK\x03\x04",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"[",
    ]
)


@given(
    magic=MAGIC,
    text=st.binary(max_size=200)
    | st.lists(st.sampled_from([b"{", b"}", b'"', b"\n", b"a", b"[", b"]", b","])).map(b"".join),
    name=st.sampled_from(["a.json", "a.jsonl", "a.ndjson.open", "a.eval", "a.gz", "a"]),
    pack=st.sampled_from([None, "gzip", "zstd"]),
    end=st.integers(0, 300),
)
@example(magic=b"", text=b"", name="a.json", pack=None, end=0)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_arbitrary_bytes_never_raise(
    magic: bytes, text: bytes, name: str, pack: str | None, end: int
) -> None:
    """With the marks of anything at the front, packed or not, cut or not; offsets never go back."""
    body = magic + text
    if pack:
        body = (gzip.compress(body) if pack == "gzip" else zstd(body))[:end]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        found = cut(path, body)
        looks_like_json(path)
    offsets = [one.byte_offset for one in found if isinstance(one, Piece)]
    assert offsets == sorted(offsets)
