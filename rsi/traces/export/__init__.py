"""Traces given to other tools. `TARGETS` is the table: a new one is a module and a line here.

A target makes records of a whole trace, written as lines of JSON; Parquet is the tables themselves. Files get
their names when they are complete.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import orjson

from rsi.errors import ContractError
from rsi.ports import Progress, silent
from rsi.records import Record
from rsi.store.files import whole as whole_file
from rsi.traces.export import atif, messages, otlp, parquet
from rsi.traces.export.whole import Chosen, Whole, count, wholes
from rsi.traces.rows import JsonObject

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

LINES = (".jsonl", ".ndjson")
EVERY = 100


class Target(Protocol):
    """A module of this package."""

    NAME: str

    def records(self, whole: Whole) -> list[JsonObject]:
        """What the target's tool reads of one trace; nothing where there is nothing that it could."""
        ...


TARGETS: Mapping[str, Target] = {one.NAME: one for one in (otlp, atif, messages)}
"""What is written as lines of JSON."""
NAMES = (*TARGETS, parquet.NAME)


class Exported(Record):
    """What was written."""

    target: str
    out: str
    traces: int
    """Wanted."""
    empty: int
    """Of them, those that hold nothing which the target can say."""
    records: int
    """Lines, or rows of all tables."""
    bytes: int


def export(
    connection: "DuckDBPyConnection",
    target: str,
    out: Path,
    chosen: Chosen | None = None,
    progress: Progress = silent,
) -> Exported:
    """Write the chosen traces of the snapshot (or of the store) to a file of lines, Parquet to a folder.

    Raises:
        ContractError: there is no such target, or `out` has the wrong kind of name or lies in no folder.
    """
    chosen = chosen or Chosen()
    if target == parquet.NAME:
        traces = count(connection, chosen)
        rows, size = parquet.write(connection, chosen, out, progress)
        return Exported(target=target, out=str(out), traces=traces, empty=0, records=rows, bytes=size)
    if target not in TARGETS:
        raise ContractError(f"no format {target!r} to export to; expected one of {', '.join(NAMES)}")
    if out.suffix not in LINES or out.is_dir():
        raise ContractError(
            f"{out} cannot hold lines of JSON; expected a file name ending in {' or '.join(LINES)}"
        )
    if not out.parent.is_dir():
        raise ContractError(f"no folder {out.parent} to write {out.name} to")
    return _lines(connection, TARGETS[target], out, chosen, progress)


def _lines(
    connection: "DuckDBPyConnection", target: Target, out: Path, chosen: Chosen, progress: Progress
) -> Exported:
    total = count(connection, chosen)
    done = empty = records = size = 0
    with whole_file(out) as file:
        for one in wholes(connection, chosen):
            if done % EVERY == 0:
                progress("export", done, total, _note(empty))
            found = target.records(one)
            for record in found:
                size += file.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
            records += len(found)
            empty += not found
            done += 1
    progress("export", done, total, _note(empty))
    return Exported(target=target.NAME, out=str(out), traces=done, empty=empty, records=records, bytes=size)


def _note(empty: int) -> str:
    return f"{empty} without a conversation" if empty else ""
