"""Questions to the snapshot, in SQL, and what there is to ask about. `rsi sql` is this module."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from rsi.errors import ContractError
from rsi.settings import Home
from rsi.store.snapshot import open_snapshot

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection

_SCHEMA = """
with named as (
    select view_name as name, 'view' as kind, comment from duckdb_views() where not internal
    union all
    select table_name as name, 'table' as kind, comment from duckdb_tables() where not internal
)
select n.name, n.kind, coalesce(n.comment, ''), c.column_name, c.data_type, coalesce(c.comment, '')
from named n
join duckdb_columns() c on c.table_name = n.name and not c.internal
where $name is null or n.name = $name
order by n.kind desc, n.name, c.column_index
"""


class Table(NamedTuple):
    """An answer."""

    columns: tuple[str, ...]
    rows: list[tuple[object, ...]]


class Column(NamedTuple):
    """What can be asked for."""

    name: str
    type: str
    comment: str


class Relation(NamedTuple):
    """A table or view of the snapshot."""

    name: str
    kind: str
    """table or view."""
    comment: str
    columns: tuple[Column, ...]


def ask(home: Home, sql: str) -> Table:
    """The answer to one statement that only reads: select, from, with, describe, show, summarize, explain.

    Raises:
        ContractError: there is no snapshot, the text is not exactly one statement, it wants to change
            something, or DuckDB refuses it; one line that says which.
    """
    with asked(home, sql) as answer:
        return Table(columns(answer), answer.fetchall())


@contextmanager
def asked(home: Home, sql: str) -> "Iterator[DuckDBPyConnection]":
    """A connection that has an answer to fetch; what DuckDB says while it is fetched is a ContractError as well.

    Raises:
        ContractError: as `ask`.
    """
    with _checked(home, sql) as connection:
        yield connection.execute(sql)


@contextmanager
def streamed(home: Home, sql: str, rows: int) -> "Iterator[pa.RecordBatchReader]":
    """An answer as Arrow batches of so many rows.

    Raises:
        ContractError: as `ask`.
    """
    with _checked(home, sql) as connection:
        try:
            yield connection.sql(sql).to_arrow_reader(rows)
        except OSError as error:
            # Arrow passes on what DuckDB says as an OSError; one of the disk has a number.
            if error.errno is not None:
                raise
            raise ContractError(_one_line(error)) from None


def names(columns: Iterable[str]) -> tuple[str, ...]:
    """Names of columns, the second of two equal ones with a number."""
    found: list[str] = []
    for column in columns:
        name, again = column, 1
        while name in found:
            again += 1
            name = f"{column}_{again}"
        found.append(name)
    return tuple(found)


def columns(answer: "DuckDBPyConnection") -> tuple[str, ...]:
    """Names of the columns of an answer."""
    return names(str(column[0]) for column in answer.description or ())


def schema(home: Home, name: str | None = None) -> tuple[Relation, ...]:
    """Views, then tables, with what their columns mean; only one of them where it is named.

    Raises:
        ContractError: there is no snapshot, or nothing in it has that name.
    """
    with open_snapshot(home) as connection:
        rows = connection.execute(_SCHEMA, {"name": name}).fetchall()
    if not rows:
        raise ContractError(f"the snapshot has no table or view {name!r}; `rsi sql --schema` lists them")
    found: dict[str, Relation] = {}
    for relation, kind, comment, column, type_, meaning in rows:
        before = found.get(relation, Relation(relation, kind, comment, ()))
        found[relation] = before._replace(columns=(*before.columns, Column(column, type_, meaning)))
    return tuple(found.values())


@contextmanager
def _checked(home: Home, sql: str) -> "Iterator[DuckDBPyConnection]":
    import duckdb

    with open_snapshot(home) as connection:
        try:
            _only_reads(connection, sql)
            yield connection
        except duckdb.Error as error:
            raise ContractError(_one_line(error)) from None


def _only_reads(connection: "DuckDBPyConnection", sql: str) -> None:
    import duckdb

    statements = connection.extract_statements(sql)
    if len(statements) != 1:
        raise ContractError(f"expected one SQL statement, found {len(statements)}; ask them one by one")
    kind = statements[0].type
    if kind not in (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN):
        raise ContractError(
            f"the snapshot is read-only and this is a {kind.name} statement; expected a question such as "
            "`select … from traces` (`rsi sql --schema` lists what there is)"
        )


def _one_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip() and "^" not in line]
    return " | ".join(lines) or type(error).__name__
