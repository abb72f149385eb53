"""Texts of what records of a batch say of one trace each."""

from rsi.traces.batch import Batch
from rsi.traces.detect import read
from rsi.traces.rows import Rows
from rsi.traces.values import Piece


class Parts:
    """Parts of records about several traces; asked for unit by unit, in order, each record is read again at most
    once."""

    def __init__(self, batch: Batch) -> None:
        """For the units of a batch."""
        self._batch = batch
        self._files = {one.number: one for one in batch.files}
        self._record = -1
        self._again: dict[str, bytes | None] = {}

    def of(self, unit: int) -> bytes | None:
        """The part of a record about several traces; null of others, and of refusals."""
        units = self._batch.units
        parted, part, trace_uid = (units[name][unit].as_py() for name in ("parted", "part", "trace_uid"))
        if part is not None or not parted:
            return None if part is None else bytes(part)
        record = units["record"][unit].as_py()
        if record != self._record:
            self._record, self._again = record, self._read(record)
        return self._again.get(trace_uid)

    def text(self, unit: int) -> bytes:
        """The part, else the whole record."""
        part = self.of(unit)
        if part is None:
            part = bytes(self._batch.records["body"][self._batch.units["record"][unit].as_py()].as_py())
        return part

    def _read(self, record: int) -> dict[str, bytes | None]:
        records = self._batch.records
        file, line, offset, body = (
            records[name][record].as_py() for name in ("file", "line", "byte_offset", "body")
        )
        _, found = read(Piece(line, offset, body), self._files[file].place(line, offset))
        return {rows.trace_uid: rows.part for rows in reversed(found) if isinstance(rows, Rows)}
