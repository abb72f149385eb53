"""Questions to the snapshot, in SQL. `rsi sql` is this module."""

from typing import TYPE_CHECKING, NamedTuple

from rsi.errors import ContractError
from rsi.settings import Home
from rsi.store.snapshot import open_snapshot

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class Table(NamedTuple):
    """An answer."""

    columns: tuple[str, ...]
    rows: list[tuple[object, ...]]


def ask(home: Home, sql: str) -> Table:
    """The answer to one statement that only reads: select, from, with, describe, show, summarize, explain.

    Raises:
        ContractError: there is no snapshot, the text is not exactly one statement, it wants to change
            something, or DuckDB refuses it; one line that says which.
    """
    import duckdb

    with open_snapshot(home) as connection:
        _only_reads(connection, sql)
        try:
            answer = connection.execute(sql)
            columns = tuple(column[0] for column in answer.description or ())
            return Table(columns, answer.fetchall())
        except duckdb.Error as error:
            raise ContractError(_one_line(error)) from None


def _only_reads(connection: "DuckDBPyConnection", sql: str) -> None:
    import duckdb

    try:
        statements = connection.extract_statements(sql)
    except duckdb.Error as error:
        raise ContractError(_one_line(error)) from None
    if len(statements) != 1:
        raise ContractError(f"expected one SQL statement, found {len(statements)}; ask them one by one")
    kind = statements[0].type
    if kind not in (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN):
        raise ContractError(
            f"the snapshot is read-only and this is a {kind.name} statement; expected a question such as "
            "`select … from traces` (`show tables` lists what there is)"
        )


def _one_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip() and "^" not in line]
    return " | ".join(lines) or type(error).__name__
