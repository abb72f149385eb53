"""An answer of the snapshot as JSON, CSV or Parquet, written as it comes, so that it may be larger than memory."""

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from enum import StrEnum
from typing import IO, TYPE_CHECKING

import orjson

from rsi.store.query import columns, names

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection

BLOCK = 10_000
"""Rows that are fetched at once."""
_LARGEST = 2**63


class Form(StrEnum):
    """How an answer is written."""

    TABLE = "table"
    """For a person."""
    JSON = "json"
    """A list of objects."""
    CSV = "csv"
    """With a header; nothing where the value is null, JSON where it is a list or an object."""
    PARQUET = "parquet"
    """With DuckDB's types; a file only."""


def parquet(answer: "pa.RecordBatchReader", file: IO[bytes]) -> int:
    """Write an answer as Parquet; the number of its rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    # Two columns of one name cannot be told apart in a file.
    named = names(field.name for field in answer.schema)
    schema = pa.schema([field.with_name(name) for field, name in zip(answer.schema, named, strict=True)])
    count = 0
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for batch in answer:
            writer.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=schema))
            count += batch.num_rows
    return count


def cell(value: object) -> object:
    """A value of DuckDB as one that JSON has; numbers that are none, or too large, as null or text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return float(value)
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if -_LARGEST <= value < _LARGEST else str(value)
    if isinstance(value, Mapping):
        return {str(key): cell(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [cell(one) for one in value]
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value.isoformat() if isinstance(value, datetime | date | time) else str(value)


def _blocks(answer: "DuckDBPyConnection") -> Iterator[Sequence[tuple[object, ...]]]:
    while rows := answer.fetchmany(BLOCK):
        yield rows


def json(answer: "DuckDBPyConnection", file: IO[bytes]) -> int:
    """Write an answer as a list of objects; the number of its rows."""
    named, count = columns(answer), 0
    file.write(b"[")
    for rows in _blocks(answer):
        for row in rows:
            said = orjson.dumps(dict(zip(named, map(cell, row), strict=True)))
            file.write((b",\n" if count else b"\n") + said)
            count += 1
    file.write(b"\n]\n" if count else b"]\n")
    return count


def comma_separated(answer: "DuckDBPyConnection", file: IO[bytes]) -> int:
    """Write an answer as CSV with a header; the number of its rows."""
    text = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
    writer, count = csv.writer(text, lineterminator="\n"), 0
    writer.writerow(columns(answer))
    for rows in _blocks(answer):
        writer.writerows([_field(cell(value)) for value in row] for row in rows)
        count += len(rows)
    text.detach()
    return count


def _field(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    return orjson.dumps(value).decode() if isinstance(value, dict | list) else value
