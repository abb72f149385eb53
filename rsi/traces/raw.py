"""Raw text: what was read into the tables as zstd Parquet, what was held out as NDJSON in a place of its own.

Both are one file per input, named by its file id (`ingest_files` says which input that is), and appear whole,
under their names, before the input is marked as read.
"""

import fcntl
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rsi.records import Split
from rsi.settings import Home
from rsi.store.files import naming, sync
from rsi.traces.batch import Batch
from rsi.traces.load import Placed
from rsi.traces.parts import Parts
from rsi.traces.split import HELD_OUT

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

DRAFT = ".draft"
"""How drafts end; their names are hidden."""


def raw_path(home: Home, file_id: str) -> Path:
    """Columns line and byte_offset (of the record, as in the tables), body (bytes as they stood) and whole (not so
    where the body is only a part of the record, the rest being held out or deleted)."""
    return home.raw / f"{file_id}.parquet"


def heldout_path(home: Home, split: Split, file_id: str) -> Path:
    """One record a line, as it stood; opened by the gate and by nothing else."""
    return home.heldout / split.value / f"{file_id}.ndjson"


def one_line(body: bytes) -> bytes:
    """A record without line ends: outside of strings JSON may have them, inside it may not, so no text changes."""
    return body.replace(b"\r", b" ").replace(b"\n", b" ")


class RawText:
    """The two kinds of output of one input file, written as its batches come and named at its end."""

    def __init__(self, home: Home, file_id: str) -> None:
        self._home, self._file_id = home, file_id
        self._writer: ParquetWriter | None = None
        self._drafts: dict[Path, Path] = {}
        self._held: list[int] = []

    def keep(self, table: "pa.Table") -> None:
        """Add records (line, byte_offset, body, whole) to the Parquet file."""
        import pyarrow.parquet as pq

        if self._writer is None:
            draft = self._draft(raw_path(self._home, self._file_id))
            # Statistics of a column of long texts cost more than its compression, and nobody asks for them.
            self._writer = pq.ParquetWriter(
                draft,
                table.schema,
                compression="zstd",
                compression_level=1,
                use_dictionary=False,
                write_statistics=False,
            )
        self._writer.write_table(table)

    def hold_out(self, split: Split, bodies: Iterable[bytes]) -> None:
        """Add records to the NDJSON file of a split."""
        draft = self._draft(heldout_path(self._home, split, self._file_id))
        with naming(draft), draft.open("ab") as file:
            for body in bodies:
                file.write(one_line(body) + b"\n")

    def finish(self) -> None:
        """Give the files their names."""
        self._close()
        for target, draft in self._drafts.items():
            sync(draft)
            draft.replace(target)
        self._let_go()

    def abandon(self) -> None:
        """Remove what is not finished."""
        self._close()
        for draft in self._drafts.values():
            draft.unlink(missing_ok=True)
        self._let_go()

    def _close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _let_go(self) -> None:
        self._drafts.clear()
        for handle in self._held:
            os.close(handle)
        self._held.clear()

    def _draft(self, target: Path) -> Path:
        if target not in self._drafts:
            target.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(DRAFT, f".{target.name}.", target.parent)
            # The lock dies with this process, and then says that the draft is nobody's.
            fcntl.flock(handle, fcntl.LOCK_EX)
            self._held.append(handle)
            self._drafts[target] = Path(name)
        return self._drafts[target]


def folders(home: Home) -> tuple[Path, ...]:
    """Where raw text and held-out text lie."""
    return (home.raw, *(home.heldout / split.value for split in HELD_OUT))


def sweep(home: Home) -> None:
    """Remove drafts whose ingest was killed; the caller holds the store lock, under which drafts are begun."""
    for path in (one for folder in folders(home) for one in folder.glob(f".*{DRAFT}")):
        with suppress(OSError), path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()


def keep(files: Mapping[int, RawText], batch: Batch, placed: Sequence[Placed]) -> None:
    """The text of a batch: each record once, but of those that are held out or deleted the other parts only."""
    import pyarrow as pa
    import pyarrow.compute as pc

    aside = {one.record for one in placed if one.deleted or one.side in HELD_OUT}
    records = batch.records
    wanted = pc.greater(pc.binary_length(records["body"]), 0)
    if aside:
        wanted = pc.and_not(wanted, pc.is_in(records["record"], pa.array(sorted(aside), pa.int64())))
    parts = Parts(batch)
    split = _kept(batch, placed, aside, parts) if aside else {}
    for number, raw in files.items():
        mine = pc.and_(wanted, pc.equal(records["file"], number)) if len(files) > 1 else wanted
        kept = records.select(["line", "byte_offset", "body"]).filter(mine)
        kept = kept.append_column("whole", pa.array([True] * kept.num_rows, pa.bool_()))
        if number in split:
            kept = pa.concat_tables([kept, pa.Table.from_pylist(split[number], schema=kept.schema)])
        if kept.num_rows:
            raw.keep(kept)
    for side in HELD_OUT:
        bodies: dict[int, list[bytes]] = {}
        for one in placed:
            if one.side == side and not one.deleted:
                bodies.setdefault(one.file, []).append(parts.text(one.unit))
        for number, ones in bodies.items():
            files[number].hold_out(side, ones)


def _kept(
    batch: Batch, placed: Sequence[Placed], aside: set[int], parts: Parts
) -> dict[int, list[dict[str, int | bytes]]]:
    """By file, the parts that stay of records of which others go."""
    found: dict[int, list[dict[str, int | bytes]]] = {}
    for one in placed:
        if one.record not in aside or one.deleted or one.side in HELD_OUT:
            continue
        part = parts.of(one.unit)
        if part:
            line, offset = (batch.records[name][one.record].as_py() for name in ("line", "byte_offset"))
            row: dict[str, int | bytes] = {"line": line, "byte_offset": offset, "body": part, "whole": False}
            found.setdefault(one.file, []).append(row)
    return found
