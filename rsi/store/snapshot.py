"""The readers' copy of the store: ``snapshot.duckdb``, remade beside it only when something changed.

It holds no raw text and no excerpts of refused input, and what the store derives from parts (traces, spans,
messages, calls, outcomes) as tables, in storage version v1.5.0 so that older tools open it. Writers wait only
while the store's file is copied; the snapshot is made from that copy, under a temporary name, and renamed, so
that a reader sees the old one or the new one; readers that have the old one open keep it.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from rsi.errors import ContractError
from rsi.ids import digest
from rsi.ports import Clock
from rsi.settings import Home
from rsi.store import kept
from rsi.store.database import DERIVED, LINKS, SCHEMA, SCHEMA_VERSION, VIEWS, reading, set_meta, store_batch
from rsi.store.files import sync
from rsi.store.intact import NOTHING, copied
from rsi.store.ledger import Ledger
from rsi.store.locks import hold

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

STORAGE = "v1.5.0"
WHO = "snapshot"
WAIT_S = 300.0
LEFT_OUT = {"quarantine": ("excerpt",)}
"""Columns that must not leave the store."""
TABLES = (
    "batches",
    "scores",
    "ingest_files",
    "quarantine",
    "quarantine_settled",
    "split_moves",
    "failure_modes",
    "mode_traces",
    "tasks",
    "refusals",
    "ledger",
    "banks",
    "verdicts",
    "versions",
    "jobs",
)
PARTS = (
    "trace_parts",
    "span_parts",
    "message_parts",
    "tool_call_parts",
    "trace_sides",
    "trace_texts",
    "moving_traces",
    "deleted_traces",
)
"""Tables that have no place here: what they say stands in the next."""
DERIVED_TABLES = ("traces", "spans", "messages", "tool_calls", "outcomes")
"""Views of the store that are tables here."""
READERS = (
    VIEWS,
    VIEWS.with_name("loop_views.sql"),
    VIEWS.with_name("comments.sql"),
    VIEWS.with_name("comments_views.sql"),
)
"""What is laid over the tables for readers."""
MEMORY = "1GB"

_FINGERPRINT = """
select
    (select coalesce(max(ordinal), 0) from batches),
    (select count(*) from ingest_files),
    (select count(*) from quarantine_settled),
    (select count(*) from deleted_traces),
    (select count(*) from split_moves),
    (select count(*) from ledger),
    (select count(*) from banks) + (select count(*) from verdicts) + (select count(*) from versions)
        + (select count(*) from jobs),
    (select [count(*)::varchar, coalesce(bit_xor(hash(m)), 0)::varchar] from failure_modes m),
    (select [count(*)::varchar, coalesce(bit_xor(hash(m)), 0)::varchar] from mode_traces m),
    (select [count(*)::varchar, coalesce(bit_xor(hash(t)), 0)::varchar] from tasks t)
"""
_LINK = """
create table linked as from span_links;
drop view span_links;
alter table linked rename to span_links;
"""
_STATE = "select value from meta where key = 'fingerprint'"
_LEDGER_CLEAR = "delete from ledger"
_LEDGER_FILL = """
insert into ledger by name
select * exclude (at_text), at_text::timestamp as recorded_at from ledger_rows
"""


def refresh(home: Home, clock: Clock) -> bool:
    """Remake the snapshot if the store or the ledger changed since; say whether it was remade.

    Raises:
        BusyError: the store lock is held by somebody else for longer than half a minute, or another snapshot
            is being made for longer than `WAIT_S`.
        IntegrityError: the ledger's chain is broken.
    """
    with hold(home.root / "locks" / "snapshot", WHO, clock.now().isoformat(timespec="seconds"), WAIT_S):
        with store_batch(home, clock, WHO) as connection:
            mirror_ledger(connection, home, clock)
            kept.mirror(connection, home)
            now = fingerprint(connection)
        if home.snapshot.exists() and _state(home.snapshot) == now:
            return False
        with _folder(home) as folder:
            copy = folder / home.store.name
            with hold(home.store_lock, WHO, clock.now().isoformat(timespec="seconds"), 30.0):
                shutil.copyfile(home.store, copy)
            with reading(home.store):
                _make(home, folder, copy)
    return True


def open_snapshot(home: Home | None = None) -> "DuckDBPyConnection":
    """The snapshot of a home (of ``RSI_HOME`` by default), read-only, without access to files, network or settings.

    A DuckDB connection: ``rsi.open_snapshot().sql("from v_nights").df()`` is a data frame.

    Raises:
        ContractError: there is none yet.
    """
    home = home or Home.find()
    if not home.snapshot.exists():
        raise ContractError(f"no snapshot at {home.snapshot}; run `rsi snapshot` to make one")
    return _read_only(home.snapshot)


def fingerprint(connection: "DuckDBPyConnection") -> str:
    """Changes whenever a table or view that readers see changes: all tables but modes and tasks only grow."""
    scripts = [script.read_text() for script in (SCHEMA, DERIVED, LINKS, *READERS)]
    return digest([connection.execute(_FINGERPRINT).fetchall(), scripts])


def mirror_ledger(connection: "DuckDBPyConnection", home: Home, clock: Clock) -> int:
    """Make table `ledger` equal to the ledger file; how many rows were written: those that came since, as a rule."""
    import pyarrow as pa

    records = Ledger(home.ledger, clock).records()
    there = copied(connection)
    if not there.of(records):
        connection.execute(_LEDGER_CLEAR)
        there = NOTHING
    rows = [
        {
            **record.model_dump(exclude={"at", "body"}),
            "at_text": datetime.fromisoformat(record.at).astimezone(UTC).replace(tzinfo=None).isoformat(),
            "body": orjson.dumps(record.body).decode(),
        }
        for record in records[there.lines :]
    ]
    if rows:
        connection.register("ledger_rows", pa.Table.from_pylist(rows))
        connection.execute(_LEDGER_FILL)
        connection.unregister("ledger_rows")
    return len(rows)


@contextmanager
def _folder(home: Home) -> Iterator[Path]:
    """A folder of our own beside the store, removed at the end; the caller holds the lock of snapshots."""
    for left in home.root.glob(".snapshot.*"):
        # Its maker was killed: it holds a copy of the whole store, of what was deleted since as well.
        shutil.rmtree(left)
    folder = Path(tempfile.mkdtemp(dir=home.root, prefix=".snapshot."))
    try:
        yield folder
    finally:
        with suppress(OSError):
            shutil.rmtree(folder)


def _make(home: Home, folder: Path, copy: Path) -> None:
    import duckdb

    draft = folder / home.snapshot.name
    config = {
        "memory_limit": MEMORY,
        "temp_directory": str(folder / "spill"),
        "preserve_insertion_order": "false",
    }
    with duckdb.connect(config=config) as connection:
        connection.execute(f"attach {_quoted(copy)} as store (read_only)")
        connection.execute(f"attach {_quoted(draft)} as draft (storage_version '{STORAGE}')")
        connection.execute("use store")
        state = fingerprint(connection)
        connection.execute("use draft")
        connection.execute(SCHEMA.read_text())
        for table in TABLES:
            left_out = LEFT_OUT.get(table)
            columns = f"* exclude ({', '.join(left_out)})" if left_out else "*"
            connection.execute(f"insert into {table} by name select {columns} from store.{table}")
        for table in PARTS:
            connection.execute(f"drop table {table}")
        for table in DERIVED_TABLES:
            connection.execute(f"create table {table} as from store.{table}")
        connection.execute(LINKS.read_text())
        connection.execute(_LINK)
        for script in READERS:
            connection.execute(script.read_text())
        set_meta(connection, "schema_version", str(SCHEMA_VERSION))
        set_meta(connection, "fingerprint", state)
        connection.execute("checkpoint draft")
    sync(draft)
    draft.replace(home.snapshot)


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
