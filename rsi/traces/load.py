"""One batch of columns into the store: decide the sides, insert what is new, say what became of each unit.

Rows go in with an anti-join on what they say, so that a record read twice, or a file that grew or was shuffled,
adds only what is new. The caller holds the transaction (`rsi.store.database.store_batch`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from rsi.ports import Clock
from rsi.store.database import last_ordinal
from rsi.store.statements import named
from rsi.traces.batch import Batch

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_QUERIES = named(Path(__file__).with_suffix(".sql"))
_BATCH = "insert into batches values (?, ?, ?)"
_BROUGHT = "create or replace temp table brought (unit bigint)"
_BRING = "insert into brought select distinct unit from fresh"
_COUNT = "select count(distinct unit) from brought"
_ONE = {"known": "part_uid", "key": "part_uid", "same": "t.part_uid = b.part_uid", "parts": "b.part_uid"}
_FRESH: Mapping[str, Mapping[str, str]] = {
    "trace_parts": _ONE,
    "span_parts": _ONE,
    "tool_call_parts": _ONE,
    "scores": {name: text.replace("part_uid", "score_uid") for name, text in _ONE.items()},
    # A part of a message is not worth keeping where another wins or draws in all that it says (`rsi.traces.said`).
    "message_parts": {
        "known": "message_uid, at_ns, seq, role, author, tool_call_id, said, thought",
        "key": "message_uid",
        "same": "t.message_uid = b.message_uid and {'at': t.at_ns, 'seq': t.seq} <= {'at': b.at_ns, 'seq': b.seq} "
        "and t.said >= b.said and t.thought >= b.thought and t.role <= b.role "
        "and (b.author is null or t.author <= b.author) "
        "and (b.tool_call_id is null or t.tool_call_id <= b.tool_call_id)",
        "parts": "b.message_uid, b.at_ns, b.seq, b.said, b.thought, b.role, b.author, b.tool_call_id",
    },
}
"""By table, how query `fresh` tells what is there already from what is new."""


class Fate(StrEnum):
    """What became of a unit."""

    LOADED = "loaded"
    DUPLICATE = "duplicate"
    """All that it says was there, or its trace was deleted."""
    QUARANTINED = "quarantined"
    HELD_OUT = "heldout"


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a unit went."""

    file: int
    record: int
    unit: int
    side: str
    """Of the split; refusals are on no side and say train."""
    fate: Fate
    deleted: bool
    """Its trace was deleted before: nothing of it is kept."""


def load(
    connection: "DuckDBPyConnection", clock: Clock, batch: Batch, place: str | None = None
) -> list[Placed]:
    """Insert a batch under the next ordinal, which is only used up if something was new.

    `place` says where its texts lie (`trace_texts.place`), if not where its traces' sides say.
    """
    import pyarrow as pa

    ordinal = {"ordinal": last_ordinal(connection) + 1}
    staged: dict[str, pa.Table] = {
        "batch_units": batch.units,
        "batch_records": batch.records.drop_columns(["body"]),
        "batch_files": pa.table(
            {
                "file": [one.number for one in batch.files],
                "file_id": [one.file_id for one in batch.files],
                "uri": [one.uri for one in batch.files],
                "namespace": [one.namespace for one in batch.files],
                "origin": pa.array([one.origin and one.origin.value for one in batch.files], pa.string()),
            }
        ),
    }
    for name, table in staged.items():
        connection.register(name, table)
    for name in ("sided", "placed", "new_sides", "said_sides"):
        connection.execute(_QUERIES[name])
    connection.execute(_QUERIES["texts"], {"place": place})
    connection.execute(_BROUGHT)
    for name, table in batch.tables.items():
        numbered = table.append_column("row", pa.array(range(table.num_rows), pa.int64()))
        connection.register("batch_rows", numbered)
        connection.execute(_QUERIES["fresh"].format(table=name, **_FRESH[name]))
        split = "p.side as split," if name == "trace_parts" else ""
        connection.execute(_QUERIES["insert"].format(table=name, split=split), ordinal)
        connection.unregister("batch_rows")
        connection.execute(_BRING)
    connection.execute(_QUERIES["refuse"], ordinal)
    connection.execute(_QUERIES["insert_refused"])
    connection.execute(_BRING)
    ((new,),) = connection.execute(_COUNT).fetchall()
    if new:
        at = clock.now().astimezone(UTC).replace(tzinfo=None)
        connection.execute(_BATCH, [ordinal["ordinal"], at, new])
    placed = [
        Placed(file, record, unit, side, Fate(fate), deleted)
        for file, record, unit, side, fate, deleted in connection.execute(_QUERIES["fates"]).fetchall()
    ]
    for name in staged:
        connection.unregister(name)
    return placed
