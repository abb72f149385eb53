"""Kept text of traces, read again as ingest read it, and files of it rewritten.

Kept are raw text, held-out text and the inbox. A record is named by the traces it tells of, so that it is read
again to know them: copies of a record in other files are found as well. Whoever rewrites holds `rewriting`.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from rsi.ports import Clock, Progress, silent
from rsi.settings import Home
from rsi.store.files import whole
from rsi.store.locks import hold
from rsi.traces.batch import Batch, Chunk, Input, Rules
from rsi.traces.parts import Parts
from rsi.traces.pieces import pieces
from rsi.traces.raw import DRAFT, folders, one_line
from rsi.traces.reading import batches, chunks, processes
from rsi.traces.streams import joined
from rsi.traces.values import Piece

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK = 2000
"""Rows of raw text that are taken at once."""


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


class RawRow(NamedTuple):
    """A record of raw text, or what is left of one."""

    line: int
    byte_offset: int
    body: bytes
    whole: bool


@dataclass
class Told:
    """What a record says of chosen traces and of others; the same record may stand in several places."""

    texts: tuple[tuple[str, bytes], ...]
    """Of each trace, the chosen ones and the others: the part about it, or the whole record."""
    offsets: list[int] = field(default_factory=list)

    def without(self, gone: Collection[str]) -> list[bytes]:
        """What stays of it."""
        return [text for trace_uid, text in self.texts if trace_uid not in gone]


Hits = dict[bytes, Told]
"""By the record's text."""


@contextmanager
def rewriting(home: Home, clock: Clock, who: str, wait_s: float) -> Iterator[None]:
    """Alone among those who rewrite kept text; what a killed one has drafted is removed.

    Raises:
        BusyError: somebody else does it for longer than `wait_s` seconds.
    """
    with hold(home.root / "locks" / "texts", who, clock.now().isoformat(timespec="seconds"), wait_s):
        for path in (one for folder in folders(home) for one in folder.glob(".*")):
            if not path.name.endswith(DRAFT):
                path.unlink()
        yield


def raw_rows(path: Path, offsets: Collection[int] | None = None) -> Iterator[RawRow]:
    """Raw text of a file, all of it or what stands at some offsets; none where there is no such file."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    if not path.exists():
        return
    wanted = None if offsets is None else pa.array(sorted(offsets), pa.int64())
    with pq.ParquetFile(path) as file:
        for block in file.iter_batches(BLOCK):
            found = block if wanted is None else block.filter(pc.is_in(block["byte_offset"], wanted))
            for row in found.to_pylist():
                yield RawRow(row["line"], row["byte_offset"], row["body"], row["whole"])


def records(one: Source, offsets: Collection[int] | None = None) -> Iterator[Piece]:
    """The whole records of a file (of raw text, those at some offsets); a file that is gone by now has none."""
    with suppress(FileNotFoundError):
        if one.kind is Kind.RAW:
            for row in raw_rows(one.path, offsets):
                yield Piece(row.line, row.byte_offset, row.body)
        else:
            found = pieces(one.path) if one.kind is Kind.HELDOUT else joined(pieces(one.path))
            yield from (piece for piece in found if isinstance(piece, Piece))


def read(
    found: Sequence[Source],
    rules: Rules,
    progress: Progress = silent,
    offsets: Collection[int] | None = None,
) -> Iterator[tuple[Chunk, Batch]]:
    """The records of some files, read as ingest reads them; each source keeps its number."""

    def everything() -> Iterator[tuple[Input, Piece]]:
        for number, one in enumerate(found):
            progress("read again", number, len(found))
            for piece in records(one, offsets):
                yield one.input, piece

    size = sum(one.path.stat().st_size for one in found) if offsets is None else 0
    yield from batches(chunks(everything()), rules, processes(size))
    progress("read again", len(found), len(found))


def told(
    found: Sequence[Source],
    rules: Rules,
    chosen: Collection[str],
    progress: Progress = silent,
    offsets: Collection[int] | None = None,
) -> dict[int, Hits]:
    """By number of the source, the records that tell of chosen traces."""
    import pyarrow as pa
    import pyarrow.compute as pc

    wanted = pa.array(sorted(chosen), pa.string())
    hits: dict[int, Hits] = {}
    for chunk, batch in read(found, rules, progress, offsets):
        units = batch.units.select(["unit", "record", "trace_uid"])
        mine = units.filter(pc.is_in(units["trace_uid"], wanted))["record"].combine_chunks()
        if not len(mine):
            continue
        parts = Parts(batch)
        texts: dict[int, dict[tuple[str, bytes], None]] = {}
        about = pc.and_(pc.is_in(units["record"], mine), pc.is_valid(units["trace_uid"]))
        for row in units.filter(about).to_pylist():
            piece = chunk[row["record"]][1]
            text = parts.of(row["unit"])
            if text is None and row["trace_uid"] in chosen and isinstance(piece, Piece):
                text = piece.body
            if text:
                texts.setdefault(row["record"], {})[row["trace_uid"], text] = None
        for record, ones in texts.items():
            source, piece = chunk[record]
            assert isinstance(piece, Piece)
            hit = hits.setdefault(source.number, {}).setdefault(piece.body, Told(tuple(ones)))
            hit.offsets.append(piece.byte_offset)
    return hits


def rewrite(
    path: Path, kind: Kind, replaced: Mapping[bytes, Sequence[bytes]], more: Sequence[RawRow] = ()
) -> None:
    """Raw or held-out text anew: other texts in the place of some, and more behind it. Nothing left is no file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind is Kind.RAW:
        left = _raw(path, replaced, more)
    else:
        with whole(path) as file:
            left = lines(file, records(Source(path, kind, _NOBODY)), replaced)
            left += lines(file, more, {})
    if not left:
        path.unlink()


def lines(
    file: IO[bytes], found: "Iterator[Piece] | Sequence[RawRow]", replaced: Mapping[bytes, Sequence[bytes]]
) -> int:
    """Write records one a line, with other texts in the place of some; how many there were."""
    left = 0
    for one in found:
        for body in replaced.get(one.body, (one.body,)):
            file.write(one_line(body) + b"\n")
            left += 1
    return left


_NOBODY = Input(0, "", "", "", None)


def _raw(path: Path, replaced: Mapping[bytes, Sequence[bytes]], more: Sequence[RawRow]) -> int:
    from pyarrow.parquet import ParquetWriter

    left, waiting = 0, list[RawRow]()
    schema = _schema()
    with (
        whole(path) as file,
        ParquetWriter(
            file, schema, compression="zstd", use_dictionary=False, write_statistics=False
        ) as writer,
    ):
        for row in raw_rows(path):
            texts = replaced.get(row.body)
            if texts is None:
                waiting.append(row)
            else:
                waiting += [row._replace(body=text, whole=False) for text in texts]
            if len(waiting) >= BLOCK:
                left += len(waiting)
                writer.write_table(_table(waiting, schema))
                waiting = []
        waiting += more
        left += len(waiting)
        writer.write_table(_table(waiting, schema))
    return left


def _schema() -> "pa.Schema":
    import pyarrow as pa

    kinds = {"line": pa.int64(), "byte_offset": pa.int64(), "body": pa.large_binary(), "whole": pa.bool_()}
    return pa.schema(list(kinds.items()))


def _table(found: Sequence[RawRow], schema: "pa.Schema") -> "pa.Table":
    import pyarrow as pa

    return pa.Table.from_pylist([one._asdict() for one in found], schema=schema)
