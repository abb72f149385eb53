"""The store: one DuckDB file, opened for one batch at a time under the store lock.

Nobody keeps it open: a batch is lock, connection and one transaction, so that ingest, approve, promote and
label work while a night trains. Readers use the snapshot (`rsi.store.snapshot`).
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING

from rsi.errors import BusyError, ContractError, IntegrityError, TransientError
from rsi.ports import Clock
from rsi.settings import Home
from rsi.store.locks import hold
from rsi.store.migrate import migrate

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SCHEMA_VERSION = 4
MEND = (
    "restore it from a backup (`rsi restore`), or move it away and run `rsi ingest`, which makes it again of what the "
    "inbox holds"
)
"""What to do about a store that is damaged or gone."""
_DAMAGED = (
    "corrupt",
    "could not read enough bytes",
    "failure while replaying wal",
    "database has been invalidated",
)
"""What DuckDB says of a file that is not as it wrote it."""
SCHEMA = Path(__file__).with_name("schema.sql")
DERIVED = Path(__file__).with_name("derived.sql")
LINKS = Path(__file__).with_name("links.sql")
VIEWS = Path(__file__).with_name("views.sql")

_HAS_META = """
select count(*) from duckdb_tables() where table_name = 'meta' and database_name = current_database()
"""
_VERSION = "select value from meta where key = 'schema_version'"
_SET_META = "insert into meta values (?, ?)"
_GAP = "insert into batches values (?, ?, 0)"
_LAST = "select coalesce(max(ordinal), 0) from batches"
_NEWEST = """
select coalesce(max(ordinal), 0)
from (
    select ordinal from trace_parts where list_contains($origins, origin)
    union all
    select ordinal from scores
)
"""


def connect(home: Home) -> "DuckDBPyConnection":
    """The store, read-write, with its schema; made on first use, and brought to today's schema where it is older.

    The caller holds the store lock.

    Raises:
        BusyError: another process has the file open.
        IntegrityError: the file is not a DuckDB file, or a broken one.
        TransientError: it could not be made.
        ContractError: it was written by a newer rsi, or by one that is too old.
    """
    import duckdb

    home.root.mkdir(parents=True, exist_ok=True)
    try:
        if not home.store.exists():
            _make(home)
        connection = duckdb.connect(str(home.store))
        version = schema_version(connection)
        if version is not None and version < SCHEMA_VERSION:
            connection.close()
            migrate(home.store, version, SCHEMA_VERSION, prepare)
            connection = duckdb.connect(str(home.store))
    except duckdb.Error as error:
        raise _not_opened(home.store, str(error)) from None
    try:
        prepare(connection, home.store)
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def store_batch(home: Home, clock: Clock, who: str, wait_s: float = 30.0) -> "Iterator[DuckDBPyConnection]":
    """Store lock, connection and one transaction; committed at the end, rolled back on any exception.

    Raises:
        BusyError: the lock is not free within `wait_s` seconds; the message names the holder.
        TransientError: the batch could not be written.
        IntegrityError: the file is damaged.
    """
    with hold(home.store_lock, who, clock.now().isoformat(timespec="seconds"), wait_s):
        connection = connect(home)
        try:
            connection.begin()
            with reading(home.store):
                yield connection
            _commit(connection, home.store)
        finally:
            # Closing without a commit rolls back.
            connection.close()


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """What DuckDB says of a damaged file is an IntegrityError that says what to do; anything else stays as it is."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        line = str(error).splitlines()[0]
        if not any(one in line.lower() for one in _DAMAGED):
            raise
        raise IntegrityError(f"{path} is damaged: {line}; {MEND}") from None


def prepare(connection: "DuckDBPyConnection", path: Path) -> None:
    """Make tables and views in an empty database, or check the version of a full one.

    Raises:
        ContractError: the schema is newer than this code.
    """
    version = schema_version(connection)
    if version is None:
        connection.begin()
        for script in (SCHEMA, DERIVED, LINKS, VIEWS):
            connection.execute(script.read_text())
        set_meta(connection, "schema_version", str(SCHEMA_VERSION))
        connection.commit()
        return
    if version > SCHEMA_VERSION:
        raise ContractError(
            f"{path} has schema version {version}, this rsi knows up to {SCHEMA_VERSION}; install the newer "
            "rsi that wrote it, or point RSI_HOME elsewhere"
        )


def schema_version(connection: "DuckDBPyConnection") -> int | None:
    """What a store says of itself; None for an empty one."""
    return _number(connection, _VERSION) if _number(connection, _HAS_META) else None


def _make(home: Home) -> None:
    """A store that has its name when it is whole: a full disk, or a kill, leaves none."""
    import duckdb

    with tempfile.TemporaryDirectory(dir=home.root, prefix=".store.") as folder:
        draft = Path(folder) / home.store.name
        with duckdb.connect(str(draft)) as connection:
            prepare(connection, draft)
        draft.replace(home.store)


def set_meta(connection: "DuckDBPyConnection", key: str, value: str) -> None:
    """Write a fact about the file that was not there before."""
    connection.execute(_SET_META, [key, value])


def last_ordinal(connection: "DuckDBPyConnection") -> int:
    """Number of the last ingest batch, 0 before the first: what a night names as its input."""
    return _number(connection, _LAST)


def go_on_after(connection: "DuckDBPyConnection", taken: int, clock: Clock) -> None:
    """Number the next batch above one that a night took, where the store that held it is gone.

    What is read again then counts as new.
    """
    if last_ordinal(connection) < taken:
        connection.execute(_GAP, [taken, clock.now().astimezone(UTC).replace(tzinfo=None)])


def newest(connection: "DuckDBPyConnection", origins: Sequence[str]) -> int:
    """Number of the last batch that brought a score, or a trace of one of these origins; 0 before the first."""
    return _number(connection, _NEWEST, {"origins": list(origins)})


def _number(
    connection: "DuckDBPyConnection", query: str, parameters: Mapping[str, object] | None = None
) -> int:
    # All rows are fetched: DuckDB refuses the next statement while a result is unfinished.
    rows = connection.execute(query, dict(parameters or {})).fetchall()
    return int(rows[0][0]) if rows else 0


def _commit(connection: "DuckDBPyConnection", path: Path) -> None:
    import duckdb

    try:
        connection.commit()
    except duckdb.Error as error:
        line = str(error).splitlines()[0]
        raise TransientError(
            f"{path} could not be written, and is as it was before: {line}; is the disk full?"
        ) from None


def _not_opened(path: Path, said: str) -> BusyError | IntegrityError | TransientError:
    line = said.splitlines()[0] if said else "no reason given"
    if not path.exists():
        return TransientError(f"{path} could not be made: {line}; is the disk full?")
    # "Corrupt … in block at location …" is no lock.
    if "set lock on file" in said.lower():
        return BusyError(f"{path} is open in another program; close it and try again ({line})")
    return IntegrityError(f"{path} cannot be opened as a DuckDB file: {line}; {MEND}")
