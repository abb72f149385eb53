"""Raw text: what was read into the tables as zstd Parquet, what was held out as NDJSON in a place of its own.

Both are one file per input, named by its file id (`ingest_files` says which input that is), and appear whole,
under their names, before the input is marked as read.
"""

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from rsi.records import Split
from rsi.settings import Home
from rsi.traces.rows import Place

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetWriter


def raw_path(home: Home, file_id: str) -> Path:
    """Columns line and byte_offset (of the record, as in the tables) and body (bytes as they stood)."""
    return home.raw / f"{file_id}.parquet"


def heldout_path(home: Home, split: Split, file_id: str) -> Path:
    """One record a line, as it stood; opened by the gate and by nothing else."""
    return home.heldout / split.value / f"{file_id}.ndjson"


class RawText:
    """The two kinds of output of one input file, written as its batches come and named at its end."""

    def __init__(self, home: Home, file_id: str) -> None:
        self._home, self._file_id = home, file_id
        self._writer: ParquetWriter | None = None
        self._drafts: dict[Path, Path] = {}

    def keep(self, records: Iterable[tuple[Place, bytes]]) -> None:
        """Add records to the Parquet file."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        rows = list(records)
        if not rows:
            return
        table = pa.table(
            {
                "line": pa.array([place.line for place, _ in rows], pa.int64()),
                "byte_offset": pa.array([place.byte_offset for place, _ in rows], pa.int64()),
                "body": pa.array([body for _, body in rows], pa.binary()),
            }
        )
        if self._writer is None:
            draft = self._draft(raw_path(self._home, self._file_id))
            self._writer = pq.ParquetWriter(draft, table.schema, compression="zstd")
        self._writer.write_table(table)

    def hold_out(self, split: Split, bodies: Iterable[bytes]) -> None:
        """Add records to the NDJSON file of a split."""
        with self._draft(heldout_path(self._home, split, self._file_id)).open("ab") as file:
            for body in bodies:
                # Outside of strings JSON may have line ends, inside it may not: no text is changed.
                file.write(body.replace(b"\r", b" ").replace(b"\n", b" ") + b"\n")

    def finish(self) -> None:
        """Give the files their names."""
        self._close()
        for target, draft in self._drafts.items():
            with draft.open("rb") as file:
                os.fsync(file.fileno())
            draft.replace(target)
        self._drafts.clear()

    def abandon(self) -> None:
        """Remove what is not finished."""
        self._close()
        for draft in self._drafts.values():
            draft.unlink(missing_ok=True)
        self._drafts.clear()

    def _close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _draft(self, target: Path) -> Path:
        if target not in self._drafts:
            target.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(
                dir=target.parent, prefix=f".{target.name}.", delete=False
            ) as file:
                self._drafts[target] = Path(file.name)
        return self._drafts[target]
