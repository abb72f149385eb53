"""What may be named to be ingested."""

import gzip
import io
import os
import threading
from pathlib import Path

import fsspec
import pytest

from rsi.errors import ContractError, TransientError
from rsi.settings import Home
from rsi.traces import sources
from rsi.traces.pieces import pieces
from rsi.traces.sources import Source, listed
from rsi.traces.values import Piece

LINE = b'{"a":1}\n'


def bodies(source: Source) -> list[bytes]:
    return [one.body for one in pieces(source.path) if isinstance(one, Piece)]


def put(path: Path, text: bytes = LINE) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)
    return path


def incoming(home: Home) -> list[Path]:
    return sorted((home.root / "incoming").glob("*"))


def test_a_folder_gives_files_with_known_names_in_order(home: Home, tmp_path: Path) -> None:
    """Deep ones too, hidden ones not; each once, also when it is named beside its folder."""
    root = tmp_path / "in"
    names = ["a.jsonl", "b/c.traj", "b/d.eval", "b/e.json.gz", "f.ndjson.open", "g.jsonl.zst"]
    for name in [*names, "notes.txt", ".h.json", ".git/i.json", "j.parquet"]:
        put(root / name)

    found = listed(home, [str(root / "f.ndjson.open"), str(root)])

    assert [one.uri for one in found if not one.skipped] == [
        str(root / name) for name in ["f.ndjson.open", *names[:4], "g.jsonl.zst"]
    ]
    assert [one.path.name for one in found if one.skipped] == ["j.parquet", "notes.txt"]
    assert not any(one.temporary for one in found)


def test_a_named_file_of_any_name_is_read_if_its_content_is_json(home: Home, tmp_path: Path) -> None:
    """Compressed or not; with a known name it is read whatever is in it."""
    log, packed = (
        put(tmp_path / "trace.log", b"\xef\xbb\xbf \n" + LINE),
        put(tmp_path / "dump", gzip.compress(LINE)),
    )
    empty = put(tmp_path / "empty.json", b"")

    found = listed(home, [str(log), str(packed), str(empty)])

    assert [bodies(one) for one in found] == [[b'{"a":1}'], [b'{"a":1}'], []]


def test_a_file_that_its_folder_skips_is_read_where_it_is_named(home: Home, tmp_path: Path) -> None:
    """In either order."""
    log = put(tmp_path / "in" / "trace.log")
    for inputs in ([str(log), str(log.parent)], [str(log.parent), str(log)]):
        assert [(one.path, one.skipped) for one in listed(home, inputs)] == [(log, False)]


@pytest.mark.parametrize("text", [b"Dear reader", b"", b"\x00\x01"])
def test_a_named_file_of_another_kind_is_refused_with_what_is_expected(
    home: Home, tmp_path: Path, text: bytes
) -> None:
    """The message names the file and the endings."""
    path = put(tmp_path / "notes.txt", text)
    with pytest.raises(
        ContractError, match=r"notes\.txt is no kind of file that is read; expected .*\.jsonl"
    ):
        listed(home, [str(path)])


@pytest.mark.parametrize("missing", ["gone.json", "gone/*.json"])
def test_what_is_not_there_is_one_clear_error(home: Home, tmp_path: Path, missing: str) -> None:
    """A file as well as a pattern."""
    with pytest.raises(ContractError, match="nothing to ingest at"):
        listed(home, [str(tmp_path / missing)])


def test_a_pattern_passes_over_what_is_no_trace(home: Home, tmp_path: Path) -> None:
    """It takes known names, content that is JSON, and folders; a file whose name is the pattern is that file."""
    for name in ["x/a.jsonl", "x/b.log", "x/deep/c.json", "x/[1].json"]:
        put(tmp_path / name)
    put(tmp_path / "x/readme.txt", b"text")

    assert [one.path.name for one in listed(home, [f"{tmp_path}/x/*"])] == [
        "[1].json",
        "a.jsonl",
        "b.log",
        "c.json",
    ]
    assert [one.path.name for one in listed(home, [f"{tmp_path}/**/c.*"])] == ["c.json"]
    assert [one.path.name for one in listed(home, [f"{tmp_path}/x/[1].json"])] == ["[1].json"]


def test_standard_input_is_copied_and_the_copy_discarded(home: Home) -> None:
    """So that it can be read twice; nobody else can read the copy."""
    (source,) = listed(home, ["-"], io.BytesIO(gzip.compress(LINE * 2)))

    assert source.uri == "stdin"
    assert bodies(source) == bodies(source) == [b'{"a":1}'] * 2
    assert source.path.stat().st_mode & 0o077 == 0
    source.discard()
    source.discard()
    assert incoming(home) == []


def test_a_pipe_is_read_like_standard_input(home: Home, tmp_path: Path) -> None:
    """As a shell gives it for the output of a command."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(LINE))
    writer.start()
    (source,) = listed(home, [str(pipe)])
    writer.join()

    assert source.temporary
    assert bodies(source) == [b'{"a":1}']


def test_urls_are_copied_into_the_home_with_their_endings(home: Home) -> None:
    """A file, a folder and a pattern of any file system that fsspec knows."""
    memory = fsspec.filesystem("memory")
    for name in ["logs/a.jsonl", "logs/b.jsonl", "logs/deep/c.json.gz", "logs/notes.txt", "logs/.d.json"]:
        memory.pipe(f"/{name}", gzip.compress(LINE) if name.endswith("gz") else LINE)

    folder = listed(home, ["memory://logs"])
    pattern = listed(home, ["memory://logs/*.jsonl"])
    one = listed(home, ["memory://logs/notes.txt"])

    names = ["a.jsonl", "b.jsonl", "deep/c.json.gz"]
    assert [source.uri for source in folder] == [f"memory:///logs/{name}" for name in names]
    assert [bodies(source) for source in folder] == [[b'{"a":1}']] * 3
    assert folder[2].path.name.endswith(".json.gz")
    assert len(pattern) == 2
    assert bodies(one[0]) == [b'{"a":1}']
    assert all(source.temporary for source in [*folder, *pattern, *one])


def test_a_file_url_is_the_file(home: Home, tmp_path: Path) -> None:
    """It is read where it lies."""
    path = put(tmp_path / "a.jsonl")
    assert listed(home, [path.as_uri()]) == [Source(path, str(path))]


def test_a_driver_that_is_missing_or_unknown_is_named(home: Home) -> None:
    """With what to install, as fsspec says it; nothing secret of the URL is shown."""
    with pytest.raises(ContractError, match=r"cannot read gs://bucket/a\.json: its driver .* gcsfs"):
        listed(home, ["gs://user:hunter2@bucket/a.json?sig=abc"])
    with pytest.raises(ContractError, match="Protocol not known: nowhere"):
        listed(home, ["nowhere://a.json"])


def test_a_url_with_nothing_there_leaves_no_copies(home: Home) -> None:
    """Neither of itself nor of those before it."""
    fsspec.filesystem("memory").pipe("/here/a.json", LINE)
    with pytest.raises(ContractError, match="nothing to ingest at memory://"):
        listed(home, ["memory://here/a.json", "memory://nothing/b.json"])
    assert incoming(home) == []


def test_a_stream_that_breaks_is_worth_another_try(home: Home) -> None:
    """What was copied of it is removed."""

    class Broken(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise OSError("connection reset")

    with pytest.raises(TransientError, match="could not read stdin: OSError connection reset"):
        listed(home, ["-"], Broken())
    assert incoming(home) == []


def test_copies_of_a_killed_ingest_go_after_a_day(home: Home) -> None:
    """Younger ones may belong to an ingest that runs."""
    old, young = put(home.root / "incoming/old.json"), put(home.root / "incoming/young.json")
    os.utime(old, (0, old.stat().st_mtime - sources.SWEEP_S - 60))
    (source,) = listed(home, ["-"], io.BytesIO(LINE))

    assert incoming(home) == sorted([source.path, young])
