"""Files of the home without the records of deleted traces: raw text, held-out text and the inbox.

A record is named by the traces it tells of, so that every record is read again, as ingest reads it: copies of a
record in other files are found as well, and of a record about several traces the other parts stay. A segment
that is still being written is left alone, and named.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rsi.ids import digest_file
from rsi.ports import Progress
from rsi.records import Split
from rsi.settings import Home
from rsi.store.files import whole
from rsi.traces import detect
from rsi.traces.batch import Batch, Input, Rules
from rsi.traces.pieces import LINES, OPEN, pieces, taken
from rsi.traces.reading import Chunk, batches, processes
from rsi.traces.rows import Rows
from rsi.traces.split import HELD_OUT
from rsi.traces.streams import joined
from rsi.traces.values import Piece

if TYPE_CHECKING:
    import pyarrow as pa

CHUNK_RECORDS = 20_000
CHUNK_BYTES = 16 << 20


class Kind(StrEnum):
    """What a file is to the home."""

    RAW = "raw"
    HELDOUT = "heldout"
    INBOX = "inbox"


class Source(NamedTuple):
    """A file with text of traces."""

    path: Path
    kind: Kind
    input: Input


class Scrubbed(NamedTuple):
    """What was removed."""

    records: dict[Kind, int]
    places: list[tuple[str, int]]
    """File id and byte offset of raw text that went."""
    growing: tuple[Path, ...]
    """Segments that hold such records and are still being written."""


Hits = dict[tuple[int, bytes], list[bytes]]
"""Byte offset and text of a record that goes -> parts of it that stay."""
Known = Callable[[str, Path, int], None]
"""Told before a file of the inbox gets its new content: digest of the old one, the draft, its records."""


def sources(home: Home, uris: dict[str, tuple[str, str]], namespace: str) -> list[Source]:
    """Every file with text of traces; `uris` has uri and namespace by file id, where it was ingested."""
    found = [(path, Kind.RAW, path.stem) for path in sorted(home.raw.glob("*.parquet"))]
    for split in HELD_OUT:
        paths = sorted((home.heldout / Split(split).value).glob("*.ndjson"))
        found += [(path, Kind.HELDOUT, path.stem) for path in paths]
    inbox = sorted(path for path in home.inbox.rglob("*") if path.is_file() and taken(path))
    found += [(path, Kind.INBOX, "") for path in inbox]
    made = []
    for number, (path, kind, file_id) in enumerate(one for one in found if one[0].name[0] != "."):
        uri, named = uris.get(file_id, (str(path), namespace))
        made.append(Source(path, kind, Input(number, uri, file_id, named, None)))
    return made


def read(found: Sequence[Source], rules: Rules, progress: Progress) -> Iterator[tuple[Chunk, Batch]]:
    """The records of some files, read as ingest reads them; each source keeps its number."""
    size = sum(one.path.stat().st_size for one in found)
    yield from batches(_chunks(found, progress), rules, processes(size))


def scrub(
    found: Sequence[Source], rules: Rules, gone: Collection[str], known: Known, progress: Progress
) -> Scrubbed:
    """Rewrite the files that tell of traces in `gone` without them. Again, it changes nothing."""
    hits = _hits(found, rules, gone, progress)
    counts = dict.fromkeys(Kind, 0)
    places, growing = [], []
    for one in found:
        mine = hits.get(one.input.number)
        if not mine:
            continue
        if one.kind is Kind.RAW:
            _raw(one.path, mine)
            places += [(one.input.file_id, offset) for offset, _ in mine]
        elif one.kind is Kind.HELDOUT:
            _lines(one, one.path, mine, None)
        elif one.path.name.endswith(OPEN):
            growing.append(one.path)
            continue
        else:
            _inbox(one, mine, known)
        counts[one.kind] += len(mine)
    return Scrubbed(counts, places, tuple(growing))


def _hits(
    found: Sequence[Source], rules: Rules, gone: Collection[str], progress: Progress
) -> dict[int, Hits]:
    import pyarrow as pa
    import pyarrow.compute as pc

    wanted = pa.array(sorted(gone), pa.string())
    hits: dict[int, Hits] = {}
    for chunk, batch in read(found, rules, progress):
        told = pc.is_in(batch.units["trace_uid"], wanted)
        for record in pc.unique(batch.units.filter(told)["record"]).to_pylist():
            source, piece = chunk[record]
            if isinstance(piece, Piece):
                body = bytes(batch.records["body"][record].as_py())
                rest = _rest(piece, body, source, gone)
                hits.setdefault(source.number, {})[piece.byte_offset, piece.body] = rest
    return hits


def _rest(piece: Piece, body: bytes, source: Input, gone: Collection[str]) -> list[bytes]:
    """Parts of a record that are about other traces."""
    place = source.place(piece.line, piece.byte_offset)
    _, found = detect.read(Piece(piece.line, piece.byte_offset, body), place)
    others = (one for one in found if isinstance(one, Rows) and one.trace_uid not in gone)
    return [one.part for one in others if one.part]


def _chunks(found: Sequence[Source], progress: Progress) -> Iterator[Chunk]:
    chunk: Chunk = []
    size = 0
    for number, one in enumerate(found):
        progress("read again", number, len(found))
        for piece in _pieces(one):
            chunk.append((one.input, piece))
            size += len(piece.body)
            if size >= CHUNK_BYTES or len(chunk) >= CHUNK_RECORDS:
                yield chunk
                chunk, size = [], 0
    if chunk:
        yield chunk
    progress("read again", len(found), len(found))


def _pieces(one: Source) -> Iterator[Piece]:
    """The whole records of a file; a file that is gone by now has none."""
    with suppress(FileNotFoundError):
        if one.kind is Kind.RAW:
            for block in _blocks(one.path):
                for row in block.to_pylist():
                    yield Piece(row["line"], row["byte_offset"], row["body"])
        elif one.kind is Kind.HELDOUT:
            yield from (piece for piece in pieces(one.path) if isinstance(piece, Piece))
        else:
            yield from (piece for piece in joined(pieces(one.path)) if isinstance(piece, Piece))


def _blocks(path: Path) -> "Iterator[pa.RecordBatch]":
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        yield from file.iter_batches(2000)


def _raw(path: Path, hits: Hits) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema, left = pq.read_schema(path), 0
    with (
        whole(path) as file,
        pq.ParquetWriter(file, schema, compression="zstd", use_dictionary=False) as writer,
    ):
        for block in _blocks(path):
            rows = []
            for row in block.to_pylist():
                parts = hits.get((row["byte_offset"], row["body"]))
                rows += [row] if parts is None else [{**row, "body": part, "whole": False} for part in parts]
            left += len(rows)
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))
    if not left:
        path.unlink()


def _inbox(one: Source, hits: Hits, known: Known) -> None:
    """What stays, one record a line; a document or a compressed file becomes a file of lines beside it."""
    plain = one.path.suffix.lower() in LINES
    target = one.path if plain else one.path.with_name(f"{one.path.name}.ndjson")
    _lines(one, target, hits, known)
    if not plain:
        one.path.unlink()


def _lines(one: Source, target: Path, hits: Hits, known: Known | None) -> None:
    left = 0
    before = str(digest_file(one.path))
    with whole(target) as file:
        for piece in _pieces(one):
            for body in hits.get((piece.byte_offset, piece.body), [piece.body]):
                # Outside of strings JSON may have line ends, inside it may not: no text is changed.
                file.write(body.replace(b"\r", b" ").replace(b"\n", b" ") + b"\n")
                left += 1
        file.flush()
        if known is not None and left:
            known(before, Path(str(file.name)), left)
    if not left:
        target.unlink()
