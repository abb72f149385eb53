"""The readers' copy of the store: ``snapshot.duckdb``, remade beside it only when something changed.

It holds the tables and views but no raw text and no excerpts of refused input, in storage version v1.5.0 so
that older tools open it. It is written under a temporary name and renamed, so that a reader sees the old copy
or the new one; readers that have the old one open keep it.
"""

import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from rsi.errors import ContractError
from rsi.ids import digest
from rsi.ports import Clock
from rsi.settings import Home
from rsi.store.database import prepare, set_meta, store_batch
from rsi.store.ledger import Ledger
from rsi.store.locks import hold

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

STORAGE = "v1.5.0"
WHO = "snapshot"
LEFT_OUT = {"spans": ("start_ts", "end_ts"), "scores": ("ts",), "quarantine": ("excerpt",)}
"""Columns that are computed again, or must not leave the store."""
TABLES = (
    "batches",
    "trace_parts",
    "spans",
    "messages",
    "tool_call_parts",
    "scores",
    "ingest_files",
    "quarantine",
    "failure_modes",
    "tasks",
    "ledger",
)

_FINGERPRINT = """
select
    (select coalesce(max(ordinal), 0) from batches),
    (select count(*) from ingest_files),
    (select count(*) from ledger),
    (select [count(*)::varchar, coalesce(bit_xor(hash(m)), 0)::varchar] from failure_modes m),
    (select [count(*)::varchar, coalesce(bit_xor(hash(t)), 0)::varchar] from tasks t)
"""
_STATE = "select value from meta where key = 'fingerprint'"
_LEDGER_END = "select count(*), max_by(prev, seq) from ledger"
_LEDGER_CLEAR = "delete from ledger"
_LEDGER_FILL = """
insert into ledger by name
select * exclude (at_text), at_text::timestamp as recorded_at from ledger_rows
"""


def refresh(home: Home, clock: Clock) -> bool:
    """Remake the snapshot if the store or the ledger changed since; say whether it was remade.

    Raises:
        BusyError: the store lock is held by somebody else for longer than half a minute.
        IntegrityError: the ledger's chain is broken.
    """
    with hold(home.store_lock, WHO, clock.now().isoformat(timespec="seconds"), 30.0):
        with store_batch(home, clock, WHO) as connection:
            mirror_ledger(connection, home, clock)
            now = fingerprint(connection)
        if home.snapshot.exists() and _state(home.snapshot) == now:
            return False
        _make(home, now)
    return True


def open_snapshot(home: Home) -> "DuckDBPyConnection":
    """The snapshot, read-only, without access to files, network or settings.

    Raises:
        ContractError: there is none yet.
    """
    if not home.snapshot.exists():
        raise ContractError(f"no snapshot at {home.snapshot}; run `rsi snapshot` to make one")
    return _read_only(home.snapshot)


def fingerprint(connection: "DuckDBPyConnection") -> str:
    """Changes whenever a table that readers see changes: all but modes and tasks only grow."""
    return digest(connection.execute(_FINGERPRINT).fetchall())


def mirror_ledger(connection: "DuckDBPyConnection", home: Home, clock: Clock) -> None:
    """Make table `ledger` equal to the ledger file."""
    import pyarrow as pa

    records = Ledger(home.ledger, clock).records()
    end = (len(records), records[-1].prev if records else None)
    if connection.execute(_LEDGER_END).fetchall() == [end]:
        return
    rows = [
        {
            **record.model_dump(exclude={"at", "body"}),
            "at_text": datetime.fromisoformat(record.at).astimezone(UTC).replace(tzinfo=None).isoformat(),
            "body": orjson.dumps(record.body).decode(),
        }
        for record in records
    ]
    connection.execute(_LEDGER_CLEAR)
    if rows:
        connection.register("ledger_rows", pa.Table.from_pylist(rows))
        connection.execute(_LEDGER_FILL)
        connection.unregister("ledger_rows")


def _make(home: Home, state: str) -> None:
    import duckdb

    folder = Path(tempfile.mkdtemp(dir=home.root, prefix=".snapshot."))
    draft = folder / home.snapshot.name
    try:
        with duckdb.connect() as connection:
            connection.execute(f"attach {_quoted(home.store)} as store (read_only)")
            connection.execute(f"attach {_quoted(draft)} as draft (storage_version '{STORAGE}')")
            connection.execute("use draft")
            prepare(connection, draft)
            for table in TABLES:
                left_out = LEFT_OUT.get(table)
                columns = f"* exclude ({', '.join(left_out)})" if left_out else "*"
                connection.execute(f"insert into {table} by name select {columns} from store.{table}")
            set_meta(connection, "fingerprint", state)
            connection.execute("checkpoint draft")
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        draft.replace(home.snapshot)
    finally:
        for left in folder.iterdir():
            left.unlink()
        folder.rmdir()


def _state(path: Path) -> str | None:
    import duckdb

    try:
        with _read_only(path) as connection:
            found = connection.execute(_STATE).fetchall()
    except duckdb.Error:
        return None
    return str(found[0][0]) if found else None


def _read_only(path: Path) -> "DuckDBPyConnection":
    import duckdb

    config = {"enable_external_access": "false", "lock_configuration": "true"}
    return duckdb.connect(str(path), read_only=True, config=config)


def _quoted(path: Path) -> str:
    """A path as an SQL literal: ATTACH takes no parameters."""
    text = str(path).replace("'", "''")
    return f"'{text}'"
