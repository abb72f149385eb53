"""Questions to the readers' snapshot in SQL."""

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import orjson
import typer

from rsi.commands.say import Json, as_json, drawn, inert_json, line, page, table, warn
from rsi.errors import ContractError
from rsi.report.words import inert_terminal
from rsi.settings import Home
from rsi.store import answer
from rsi.store.answer import Form, cell
from rsi.store.files import whole
from rsi.store.query import Relation, asked, columns, streamed
from rsi.store.query import schema as described

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SHOWN = 1000
"""Rows of a table for a person."""


def sql(
    query: Annotated[
        str | None, typer.Argument(help="One select statement, `-` for standard input; with --schema a name.")
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="Read the statement from a file.")] = None,
    form: Annotated[
        Form | None, typer.Option("--format", help="How the answer is written; a table by default.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the answer to a file; parquet needs one.")] = None,
    schema: Annotated[
        bool, typer.Option("--schema", help="What there is to ask: tables and views, columns and meanings.")
    ] = False,
    json: Json = False,
) -> None:
    """Ask the readers' snapshot, read-only."""
    if json and form not in (None, Form.JSON):
        raise ContractError(f"--json and --format {form} exclude each other")
    wanted = form or (Form.JSON if json else Form.TABLE)
    home = Home.find()
    if schema:
        _schema(home, query, wanted is Form.JSON)
        return
    if wanted is Form.PARQUET and out is None:
        raise ContractError("parquet goes to a file: give --out FILE")
    _answer(home, _statement(query, file), wanted, out)


def _statement(query: str | None, file: Path | None) -> str:
    """The text of the one question."""
    if (query is None) == (file is None):
        raise ContractError(
            "expected one question: a select statement, `-` for standard input, or --file FILE"
        )
    if query is not None:
        return sys.stdin.read() if query == "-" else query
    try:
        return str(file and file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ContractError(f"no file {file} to read a statement from") from None
    except UnicodeDecodeError:
        raise ContractError(f"{file} is not UTF-8 text") from None


def _answer(home: Home, query: str, form: Form, out: Path | None) -> None:
    if form is Form.PARQUET and out is not None:
        with streamed(home, query, answer.BLOCK) as batches, whole(out) as file:
            count = answer.parquet(batches, file)
        warn(f"{count} rows in {out}")
        return
    with asked(home, query) as found:
        if form is Form.TABLE:
            _table(found, out)
        else:
            _written(found, form, out)


def _written(found: "DuckDBPyConnection", form: Form, out: Path | None) -> None:
    write = answer.json if form is Form.JSON else answer.comma_separated
    if out is not None:
        with whole(out) as file:
            count = write(found, file)
        warn(f"{count} rows in {out}")
    elif sys.stdout.isatty():
        text = io.BytesIO()
        write(found, text)
        said = text.getvalue().decode()
        print(inert_json(said) if form is Form.JSON else inert_terminal(said), end="")
    else:
        write(found, sys.stdout.buffer)


def _table(found: "DuckDBPyConnection", out: Path | None) -> None:
    named, rows = columns(found), found.fetchmany(SHOWN + 1)
    shown = [[_readable(value) for value in row] for row in rows[:SHOWN]]
    if out is None:
        table(named, shown)
    else:
        text = io.StringIO()
        page(text).print(drawn(named, shown))
        with whole(out) as file:
            file.write(text.getvalue().encode())
    if len(rows) > SHOWN:
        warn(f"only the first {SHOWN} rows are shown; --format csv, json or parquet writes all of them")


def _readable(value: object) -> object:
    """Numbers short enough to compare, lists and objects as JSON."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, list | tuple | dict):
        return orjson.dumps(cell(value)).decode()
    return value


def _schema(home: Home, name: str | None, json: bool) -> None:
    found = described(home, name)
    if json:
        as_json([{**one._asdict(), "columns": [column._asdict() for column in one.columns]} for one in found])
        return
    for one in found:
        _relation(one)


def _relation(one: Relation) -> None:
    line(f"{one.kind} {one.name}\n{one.comment}")
    table(["column", "type", "meaning"], one.columns)
    line("")
