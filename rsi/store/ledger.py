"""The ledger: append-only, hash-chained NDJSON, fsynced; the truth about every night.

One line a record, with its own digest (`sum`; lines of the first versions have none); each names the digest of the
one before. A last line without its newline was never acknowledged (the process died in the write) and is cut off by
the next append; anything else that does not fit the chain is an IntegrityError. Callers hold the store lock while
they append.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import orjson

from rsi import faults
from rsi.errors import IntegrityError
from rsi.ids import canonical
from rsi.ports import Clock
from rsi.records import LedgerRecord
from rsi.store.files import naming

GENESIS = "0" * 64
SUM = "sum"
"""Key of a line's own digest: the chain alone says nothing of the last line."""
_KEPT = 4
"""Ledgers whose records are kept in memory."""


class _Read(NamedTuple):
    """Lines as they stood on disk, and what they say."""

    lines: bytes
    records: tuple[LedgerRecord, ...]


_known: dict[Path, _Read] = {}
"""What this process read before. A night asks its ledger some forty times: lines that are the same, byte for byte, are
not parsed and chained again."""


def forget() -> None:
    """Read everything from the disk the next time, as a process that has just started."""
    _known.clear()


class Ledger:
    """The records of one home, read whole and appended one at a time."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock

    def __iter__(self) -> Iterator[LedgerRecord]:
        return iter(self.records())

    def records(self) -> tuple[LedgerRecord, ...]:
        """All records, oldest first, with the chain checked.

        Raises:
            IntegrityError: a line does not parse, or does not name the line before it.
        """
        data = self._whole()
        known = _known.get(self._path, _Read(b"", ()))
        if not data.startswith(known.lines):
            known = _Read(b"", ())
        found = list(known.records)
        for line in data[len(known.lines) :].split(b"\n")[:-1]:
            found.append(self._follows(found[-1] if found else None, len(found) + 1, line))
        _known.pop(self._path, None)
        _known[self._path] = _Read(data, tuple(found))
        while len(_known) > _KEPT:
            _known.pop(next(iter(_known)), None)
        return tuple(found)

    def last(self, matches: Callable[[LedgerRecord], bool]) -> LedgerRecord | None:
        """The newest record that matches."""
        return next((record for record in reversed(self.records()) if matches(record)), None)

    def append(
        self,
        kind: str,
        *,
        night: str | None = None,
        stage: str | None = None,
        input: str | None = None,
        output: str | None = None,
        body: dict[str, object] | None = None,
    ) -> LedgerRecord:
        """Add one record and have it on disk before returning."""
        before = self.records()
        record = LedgerRecord(
            seq=len(before) + 1,
            at=self._clock.now().isoformat(timespec="seconds"),
            kind=kind,
            night=night,
            stage=stage,
            input=input,
            output=output,
            body=orjson.loads(canonical(body or {})),
            prev=before[-1].digest if before else GENESIS,
        )
        faults.point("ledger.before_append")
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._cut_torn_tail()
        whole = self._path.stat().st_size if self._path.exists() else 0
        self._write(canonical({**record.model_dump(mode="json"), SUM: record.digest}) + b"\n", whole)
        faults.point("ledger.after_append")
        return record

    def _write(self, line: bytes, whole: int) -> None:
        """Append past all buffers; a line that does not fit is taken back to the last whole one."""
        handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            with naming(self._path):
                rest = memoryview(line)
                while rest:
                    rest = rest[os.write(handle, rest) :]
                os.fsync(handle)
        except OSError:
            os.ftruncate(handle, whole)
            raise
        finally:
            os.close(handle)

    def _follows(self, before: LedgerRecord | None, number: int, line: bytes) -> LedgerRecord:
        """What a line says, which the line before it and its own digest must bear out."""
        try:
            said = orjson.loads(line)
            own = said.pop(SUM, None)
            record = LedgerRecord.model_validate(said)
        except (ValueError, TypeError, AttributeError):
            raise IntegrityError(
                f"{self._path} line {number} is not a ledger record; restore the file from a backup"
            ) from None
        prev = before.digest if before else GENESIS
        if record.prev != prev or record.seq != number:
            raise IntegrityError(
                f"{self._path} line {number} does not follow line {number - 1}: expected it to name "
                f"{prev[:12]}…, found {record.prev[:12]}…; a line was changed, lost or added"
            )
        if own not in (None, record.digest):
            raise IntegrityError(
                f"{self._path} line {number} was changed: its digest is {record.digest[:12]}…, it says "
                f"{str(own)[:12]}…; restore the file from a backup"
            )
        return record

    def _whole(self) -> bytes:
        """All lines that were acknowledged.

        Raises:
            IntegrityError: the last one is whole, but for its newline, which is another byte.
        """
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return b""
        end = data.rfind(b"\n") + 1
        if _is_json(data[end:-1]):
            raise IntegrityError(
                f"{self._path} does not end with a newline: its last byte was changed to {data[-1:]!r}"
            )
        return data[:end]

    def _cut_torn_tail(self) -> None:
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return
        whole = data.rfind(b"\n") + 1
        if whole != len(data):
            os.truncate(self._path, whole)


def _is_json(text: bytes) -> bool:
    """What a write left that broke off is none, however much of it there is."""
    try:
        orjson.loads(text)
    except ValueError:
        return False
    return True
