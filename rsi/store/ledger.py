"""The ledger: append-only, hash-chained NDJSON, fsynced; the truth about every night.

One line a record; each names the digest of the line before. A last line without its newline was never
acknowledged (the process died in the write) and is cut off by the next append; anything else that does not
fit the chain is an IntegrityError. Callers hold the store lock while they append.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson
from pydantic import ValidationError

from rsi import faults
from rsi.errors import IntegrityError
from rsi.ids import canonical
from rsi.ports import Clock
from rsi.records import LedgerRecord

GENESIS = "0" * 64


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
        prev, found = GENESIS, []
        for number, line in enumerate(self._lines(), 1):
            try:
                record = LedgerRecord.parse(line)
            except ValidationError as error:
                raise IntegrityError(
                    f"{self._path} line {number} is not a ledger record ({error.error_count()} errors); "
                    "restore the file from a backup"
                ) from None
            if record.prev != prev or record.seq != number:
                raise IntegrityError(
                    f"{self._path} line {number} does not follow line {number - 1}: expected it to name "
                    f"{prev[:12]}…, found {record.prev[:12]}…; a line was changed, lost or added"
                )
            prev = record.digest
            found.append(record)
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
        self._write(canonical(record.model_dump(mode="json")) + b"\n", whole)
        faults.point("ledger.after_append")
        return record

    def _write(self, line: bytes, whole: int) -> None:
        """Append past all buffers; a line that does not fit is taken back to the last whole one."""
        handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            rest = memoryview(line)
            while rest:
                rest = rest[os.write(handle, rest) :]
            os.fsync(handle)
        except OSError:
            os.ftruncate(handle, whole)
            raise
        finally:
            os.close(handle)

    def _lines(self) -> list[bytes]:
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return []
        return data.split(b"\n")[:-1]

    def _cut_torn_tail(self) -> None:
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return
        whole = data.rfind(b"\n") + 1
        if whole != len(data):
            os.truncate(self._path, whole)
