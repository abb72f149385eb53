"""One batch of records into the store: decide their sides, insert what is new, say what became of each.

Rows go in as Arrow tables with an anti-join on their id, so that a record read twice, or a file that grew or
was shuffled, adds only what is new. The caller holds the transaction (`rsi.store.database.store_batch`).
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC
from enum import StrEnum
from typing import TYPE_CHECKING, get_args

from rsi.ids import digest, uid
from rsi.ports import Clock
from rsi.records import Message, Record, Score, Span, Split, ToolCall, Trace
from rsi.store.database import last_ordinal
from rsi.traces.pieces import OPEN
from rsi.traces.rows import Place, Refusal, Rows
from rsi.traces.split import HELD_OUT, Splitter

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection

EXCERPT = 200

_TABLES: Mapping[str, tuple[str, type[Record]]] = {
    "trace_parts": ("part_uid", Trace),
    "spans": ("span_uid", Span),
    "messages": ("message_uid", Message),
    "tool_call_parts": ("part_uid", ToolCall),
    "scores": ("score_uid", Score),
}
"""Table -> its key, and the record that its rows are made of."""

_INSERT = """
insert into {table} by name
select * from batch_rows anti join {table} using ({key})
returning file_id, byte_offset, trace_uid
"""
_REFUSE = """
insert into quarantine by name
select * from batch_rows anti join quarantine using (quarantine_uid)
returning quarantine_uid
"""
_HOLD_OUT = """
insert into heldout_traces by name
select * from batch_rows anti join heldout_traces using (trace_uid)
"""
_SIDES = """
select trace_uid, split from heldout_traces semi join batch_rows using (trace_uid)
union all
select trace_uid, any_value(split) from trace_parts semi join batch_rows using (trace_uid) group by trace_uid
"""
_BATCH = "insert into batches values (?, ?, ?)"


class Fate(StrEnum):
    """What became of a record."""

    LOADED = "loaded"
    DUPLICATE = "duplicate"
    """All that it says was there."""
    QUARANTINED = "quarantined"
    HELD_OUT = "heldout"


@dataclass(frozen=True)
class Unit:
    """One record, or one trace's part of it, as it goes in."""

    uri: str
    place: Place
    found: Rows | Refusal
    body: bytes
    """Raw text of the whole record, or the beginning of what was none."""

    @property
    def key(self) -> tuple[str, int, str]:
        """Tells units of a batch apart by columns that every table has; a refusal by its quarantine id."""
        if isinstance(self.found, Rows):
            return self.place.file_id, self.place.byte_offset, self.found.trace_uid
        # The same bad place is the same refusal after the file has grown or lost its suffix.
        where = [
            self.uri.removesuffix(OPEN),
            str(self.place.byte_offset),
            self.found.reason,
            self.found.detail,
        ]
        return "", 0, uid(self.place.namespace, *where)


@dataclass(frozen=True)
class Placed:
    """A unit with its side and fate."""

    unit: Unit
    side: Split
    """Refusals are on no side and say train."""
    fate: Fate


def load(
    connection: "DuckDBPyConnection", clock: Clock, units: Sequence[Unit], splitter: Splitter
) -> list[Placed]:
    """Insert a batch under the next ordinal, which is only used up if something was new."""
    ordinal = last_ordinal(connection) + 1
    sides = _sides(connection, units, splitter)
    kept = [
        (unit, unit.found, side)
        for unit, side in zip(units, sides, strict=True)
        if isinstance(unit.found, Rows) and side not in HELD_OUT
    ]
    new = _insert(connection, kept, ordinal) | _refuse(connection, units, ordinal)
    _hold_out(connection, units, sides)
    if new:
        at = clock.now().astimezone(UTC).replace(tzinfo=None)
        connection.execute(_BATCH, [ordinal, at, len(new)])
    placed = []
    for unit, side in zip(units, sides, strict=True):
        # The second of two equal units in one batch is a duplicate too.
        is_new = unit.key in new
        new.discard(unit.key)
        placed.append(Placed(unit, side, _fate(unit, side, is_new)))
    return placed


def _fate(unit: Unit, side: Split, is_new: bool) -> Fate:
    if side in HELD_OUT:
        return Fate.HELD_OUT
    if not is_new:
        return Fate.DUPLICATE
    return Fate.LOADED if isinstance(unit.found, Rows) else Fate.QUARANTINED


def _sides(connection: "DuckDBPyConnection", units: Sequence[Unit], splitter: Splitter) -> list[Split]:
    """Where a trace has a side it stays there; else its session decides, whichever unit names it."""
    import pyarrow as pa

    sessions: dict[str, str] = {}
    uids: set[str] = set()
    for unit in units:
        if isinstance(unit.found, Rows):
            uids.add(unit.found.trace_uid)
            if unit.found.session is not None:
                sessions.setdefault(unit.found.trace_uid, unit.found.session)
    with _staged(connection, pa.table({"trace_uid": pa.array(sorted(uids), pa.string())})):
        known = {str(one): Split(side) for one, side in connection.execute(_SIDES).fetchall()}
    sides = []
    for unit in units:
        rows = unit.found
        if isinstance(rows, Refusal):
            sides.append(Split.TRAIN)
        elif rows.trace_uid in known:
            sides.append(known[rows.trace_uid])
        else:
            sides.append(splitter.of(rows.namespace, sessions.get(rows.trace_uid, rows.native)))
    return sides


def _insert(
    connection: "DuckDBPyConnection", kept: Sequence[tuple[Unit, Rows, Split]], ordinal: int
) -> set[tuple[str, int, str]]:
    """Keys of the units that brought something new."""
    batch: dict[str, dict[str, tuple[Record, Unit, Split]]] = {table: {} for table in _TABLES}
    for unit, rows, side in kept:
        for table, key, record in _keyed(rows):
            batch[table].setdefault(key, (record, unit, side))
    new: set[tuple[str, int, str]] = set()
    for table, (key_column, record_type) in _TABLES.items():
        rows_of = batch[table]
        if not rows_of:
            continue
        with _staged(connection, _columns(key_column, record_type, rows_of, ordinal)):
            query = _INSERT.format(table=table, key=key_column)
            new.update(
                (str(file_id), int(offset), str(trace))
                for file_id, offset, trace in connection.execute(query).fetchall()
            )
    return new


def _keyed(rows: Rows) -> Iterator[tuple[str, str, Record]]:
    """(table, key, row); the parts of a trace or call are the same where they say the same."""
    if rows.trace is not None:
        # Who caused a trace is said by whoever ingests it, and makes no new part of it.
        said = rows.trace.model_dump(mode="json", exclude={"origin"})
        yield "trace_parts", digest(said)[:32], rows.trace
    for span in rows.spans:
        yield "spans", span.span_uid, span
    for message in rows.messages:
        yield "messages", message.message_uid, message
    for call in rows.tool_calls:
        yield "tool_call_parts", call.digest[:32], call
    for score in rows.scores:
        yield "scores", score.score_uid, score


def _columns(
    key_column: str, record_type: type[Record], rows: Mapping[str, tuple[Record, Unit, Split]], ordinal: int
) -> "pa.Table":
    import pyarrow as pa

    columns: dict[str, pa.Array] = {key_column: pa.array(list(rows), pa.string())}
    found = list(rows.values())
    for name, field in record_type.model_fields.items():
        kinds = {one for one in (field.annotation, *get_args(field.annotation)) if isinstance(one, type)}
        kind = pa.int64() if int in kinds else pa.float64() if float in kinds else pa.string()
        columns[name] = pa.array([getattr(record, name) for record, _, _ in found], kind)
    if record_type is Trace:
        columns["split"] = pa.array([side.value for _, _, side in found], pa.string())
    columns["ordinal"] = pa.array([ordinal] * len(found), pa.int64())
    columns["file_id"] = pa.array([unit.place.file_id for _, unit, _ in found], pa.string())
    columns["line"] = pa.array([unit.place.line for _, unit, _ in found], pa.int64())
    columns["byte_offset"] = pa.array([unit.place.byte_offset for _, unit, _ in found], pa.int64())
    return pa.table(columns)


def _refuse(
    connection: "DuckDBPyConnection", units: Sequence[Unit], ordinal: int
) -> set[tuple[str, int, str]]:
    """Put refusals into quarantine; the keys of those that were not there."""
    import pyarrow as pa

    rows = {}
    for unit in units:
        if isinstance(unit.found, Refusal):
            said = unit.body if unit.found.part is None else unit.found.part
            rows[unit.key[2]] = {
                "quarantine_uid": unit.key[2],
                "file_id": unit.place.file_id,
                "uri": unit.uri,
                "line": unit.place.line,
                "byte_offset": unit.place.byte_offset,
                "reason": unit.found.reason.value,
                "detail": unit.found.detail,
                "excerpt": said[:EXCERPT].decode(errors="replace").replace("\0", "\ufffd"),
                "ordinal": ordinal,
            }
    if not rows:
        return set()
    with _staged(connection, pa.Table.from_pylist(list(rows.values()))):
        return {("", 0, str(key)) for (key,) in connection.execute(_REFUSE).fetchall()}


def _hold_out(connection: "DuckDBPyConnection", units: Sequence[Unit], sides: Sequence[Split]) -> None:
    """Remember which traces are held out, so that the rest of them follows."""
    import pyarrow as pa

    found = {
        unit.found.trace_uid: side.value
        for unit, side in zip(units, sides, strict=True)
        if side in HELD_OUT and isinstance(unit.found, Rows) and unit.found.trace is not None
    }
    if found:
        table = pa.table({"trace_uid": list(found), "split": list(found.values())})
        with _staged(connection, table):
            connection.execute(_HOLD_OUT)


@contextmanager
def _staged(connection: "DuckDBPyConnection", table: "pa.Table") -> Iterator[None]:
    connection.register("batch_rows", table)
    try:
        yield
    finally:
        connection.unregister("batch_rows")
