"""A store of an older version, brought to the schema of today: copied into a new file, table by table.

A column that the older store has not is filled from ``defaults.sql``; what the home keeps under its digests is copied
anew by the next snapshot (`rsi.store.kept`). The file that there was stays beside the new one, under its version.
"""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from rsi.errors import ContractError, IntegrityError
from rsi.store.files import sync
from rsi.store.statements import named

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

OLDEST = 2
"""The first version whose rows can be taken over."""
_DEFAULTS = named(Path(__file__).with_name("defaults.sql"))
_MIRRORED = ("meta", "ledger", "banks", "verdicts", "versions", "jobs")
"""Tables that are filled from elsewhere."""
_COLUMNS = """
select table_name, column_name, is_nullable
from duckdb_columns()
where database_name = ? and schema_name = 'main' and not internal
order by table_name, column_index
"""
_TABLES = "select table_name from duckdb_tables() where database_name = ? and schema_name = 'main'"


def migrate(path: Path, version: int, to: int, prepare: "Callable[[DuckDBPyConnection, Path], None]") -> Path:
    """Put a store of schema `to` in the place of the one at `path`; where the older one lies now.

    Args:
        version: what the older store says of itself.
        prepare: makes tables and views in an empty store.

    Raises:
        ContractError: its rows cannot be taken over.
        IntegrityError: it is not what its version says.
    """
    import duckdb

    if version < OLDEST:
        raise ContractError(
            f"{path} has schema version {version}, written by an older rsi; this one takes over versions {OLDEST} to "
            f"{to}: point RSI_HOME at a new folder and ingest the traces again (their text lies in "
            f"{path.parent / 'raw'})"
        )
    kept = path.with_name(f"{path.stem}.v{version}{path.suffix}")
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".migrate.") as folder:
        draft = Path(folder) / path.name
        with duckdb.connect(str(draft)) as connection:
            prepare(connection, draft)
            literal = str(path).replace("'", "''")
            connection.execute(f"attach '{literal}' as old (read_only)")
            _copy(connection, path, draft.stem)
            connection.execute("detach old")
            connection.execute("checkpoint")
        sync(draft)
        kept.unlink(missing_ok=True)
        os.link(path, kept)
        draft.replace(path)
    return kept


def _copy(connection: "DuckDBPyConnection", path: Path, into: str) -> None:
    import duckdb

    there = _tables(connection, "old")
    connection.begin()
    try:
        for table, columns in _tables(connection, into).items():
            if table in _MIRRORED or table not in _names(connection, into):
                continue
            if table in there:
                picked = ", ".join(
                    _column(path, table, name, there[table], null) for name, null in columns.items()
                )
                connection.execute(f"insert into {table} by name select {picked} from old.{table}")
            elif table in _DEFAULTS:
                connection.execute(f"insert into {table} by name {_DEFAULTS[table]}")
    except duckdb.Error as error:
        line = str(error).splitlines()[0]
        raise IntegrityError(f"{path} could not be brought to the schema of today: {line}") from None
    connection.commit()


def _column(path: Path, table: str, name: str, there: dict[str, bool], nullable: bool) -> str:
    if name in there:
        return f'"{name}"'
    given = _DEFAULTS.get(f"{table}__{name}")
    if given is None and not nullable:
        raise IntegrityError(f"{path} has no column {table}.{name}, and nothing says what it would hold")
    return f'{given or "null"} as "{name}"'


def _tables(connection: "DuckDBPyConnection", database: str) -> dict[str, dict[str, bool]]:
    """Table or view -> column -> whether it may be null."""
    found: dict[str, dict[str, bool]] = {}
    for table, column, nullable in connection.execute(_COLUMNS, [database]).fetchall():
        found.setdefault(str(table), {})[str(column)] = bool(nullable)
    return found


def _names(connection: "DuckDBPyConnection", database: str) -> set[str]:
    return {str(name) for (name,) in connection.execute(_TABLES, [database]).fetchall()}
