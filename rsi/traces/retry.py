"""Quarantined records read once more, from their raw text: after a reader was added or mended.

What can be read now is loaded as if it had come today, and its refusal is settled; the rest stays where it is. Text
of a trace that turns out to be held out is taken out of raw text.
Pieces that were no whole record (cut, too large), and refused parts of records that are held out or deleted in
part, have no raw text to read, and wait for their file to come again.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING

from rsi.ports import Clock, Progress, silent
from rsi.records import Origin, Record
from rsi.settings import Deployment, Home
from rsi.store.database import last_ordinal, store_batch
from rsi.traces.batch import Batch, Chunk, Input, Reader, Rules
from rsi.traces.load import load
from rsi.traces.move import behind, settle
from rsi.traces.raw import raw_path
from rsi.traces.reading import chunks
from rsi.traces.texts import Kind, raw_rows, rewriting
from rsi.traces.values import Cut, Piece

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

WHO = "quarantine retry"
WAIT_S = 30.0
_OPEN = """
select
    file_id, any_value(uri), any_value(namespace), any_value(origin), list(distinct byte_offset),
    list(distinct byte_offset) filter (reason = 'cut_line')
from v_quarantine
where $reason is null or reason = $reason
group by file_id
order by 2
"""
_SETTLE = """
insert into quarantine_settled
select quarantine_uid, $at, 'loaded', $ordinal
from v_quarantine
where file_id = $file_id and list_contains($offsets, byte_offset) and not list_contains($still, quarantine_uid)
returning quarantine_uid
"""


class Retried(Record):
    """What a retry did."""

    read: int
    """Records with raw text that were read again."""
    settled: int
    """Refusals that are none any more."""
    still: int
    """Refusals of the same records that stand."""
    without_text: int
    """Places whose raw text is not kept: the file has to come again."""


@dataclass(frozen=True)
class _Open:
    """Refused places of one file."""

    input: Input
    offsets: frozenset[int]
    cut: frozenset[int]
    """Those that may have lost their end."""


def retry(
    home: Home,
    clock: Clock,
    reason: str | None = None,
    *,
    deployment: Deployment | None = None,
    progress: Progress = silent,
) -> Retried:
    """Read what is in quarantine (for one reason, or all of it) with the readers of today.

    Raises:
        BusyError: the store lock is held by somebody else, or kept text is being rewritten.
    """
    deployment = deployment or Deployment.read(home.deployment_file)
    rules = Rules(home.key(), deployment.split, deployment.redaction)
    with rewriting(home, clock, WHO, WAIT_S):
        return _retried(home, clock, rules, reason, progress)


def _retried(home: Home, clock: Clock, rules: Rules, reason: str | None, progress: Progress) -> Retried:
    reader = Reader(rules)
    with store_batch(home, clock, WHO) as connection:
        found = [
            _Open(
                Input(number, uri, file_id, namespace, Origin(origin) if origin else None),
                frozenset(offsets),
                frozenset(cut or ()),
            )
            for number, (file_id, uri, namespace, origin, offsets, cut) in enumerate(
                connection.execute(_OPEN, {"reason": reason}).fetchall()
            )
        ]
    read = settled = still = without = 0
    for number, one in enumerate(found):
        progress("retry", number, len(found), f"{settled} settled")
        seen = 0
        for chunk in chunks(_pieces(home, one)):
            batch = reader.read(chunk)
            with store_batch(home, clock, WHO) as connection:
                done, left = _again(connection, clock, one, chunk, batch)
            settled, still, seen = settled + done, still + left, seen + len(chunk)
        read, without = read + seen, without + len(one.offsets) - seen
    settle(home, clock, rules, WHO)
    progress("retry", len(found), len(found), f"{settled} settled")
    return Retried(read=read, settled=settled, still=still, without_text=without)


def _again(
    connection: "DuckDBPyConnection", clock: Clock, one: _Open, chunk: Chunk, batch: Batch
) -> tuple[int, int]:
    """Refusals settled and refusals left."""
    refused = [str(key) for key in batch.units["quarantine_uid"].to_pylist() if key is not None]
    load(connection, clock, batch, Kind.RAW.value)
    behind(connection)
    facts = {
        "at": clock.now().astimezone(UTC).replace(tzinfo=None),
        "ordinal": last_ordinal(connection),
        "file_id": one.input.file_id,
        "offsets": [piece.byte_offset for _, piece in chunk],
        "still": refused,
    }
    done = connection.execute(_SETTLE, facts).fetchall()
    return len(done), len(set(refused))


def _pieces(home: Home, one: _Open) -> Iterator[tuple[Input, Piece]]:
    """The raw text of the refused places."""
    for row in raw_rows(raw_path(home, one.input.file_id), one.offsets):
        if row.whole:
            cut = Cut.PERHAPS if row.byte_offset in one.cut else Cut.NO
            yield one.input, Piece(row.line, row.byte_offset, row.body, cut)
