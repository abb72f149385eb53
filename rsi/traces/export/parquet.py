"""The canonical tables as Parquet, one file a table in a folder, with DuckDB's types."""

from pathlib import Path
from typing import TYPE_CHECKING

from rsi.errors import ContractError
from rsi.ports import Progress
from rsi.store.answer import parquet
from rsi.store.files import whole
from rsi.traces.export.whole import UIDS, Chosen

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

NAME = "parquet"
BLOCK = 10_000
_ORDERS = {
    "traces": "start_ns, trace_uid",
    "spans": "trace_uid, start_ns, span_uid",
    "messages": "trace_uid, at_ns, seq, message_uid",
    "tool_calls": "trace_uid, at_ns, seq, call_uid",
    "scores": "trace_uid, ts_ns, score_uid",
    "outcomes": "trace_uid",
}
_SOME = "from {table} where trace_uid in ({uids}) order by {order}"
_ALL = "from {table} order by {order}"


def write(connection: "DuckDBPyConnection", chosen: Chosen, out: Path, progress: Progress) -> tuple[int, int]:
    """Write ``traces.parquet`` and so on into a folder, made where it is missing; rows and bytes of all of them.

    Raises:
        ContractError: `out` is a file, or lies in no folder.
    """
    if out.exists() and not out.is_dir():
        raise ContractError(f"{out} is a file; Parquet is written to a folder, one file a table")
    if not out.parent.is_dir():
        raise ContractError(f"no folder {out.parent} to make {out.name} in")
    out.mkdir(exist_ok=True)
    rows = size = 0
    for done, (table, order) in enumerate(_ORDERS.items()):
        progress("export", done, len(_ORDERS), f"{rows} rows" if rows else "")
        path = out / f"{table}.parquet"
        if chosen == Chosen():
            # Also rows of traces that never came.
            answer = connection.sql(_ALL.format(table=table, order=order))
        else:
            query = _SOME.format(table=table, uids=UIDS, order=order)
            answer = connection.sql(query, params=chosen.parameters())
        with whole(path) as file:
            rows += parquet(answer.to_arrow_reader(BLOCK), file)
        size += path.stat().st_size
    progress("export", len(_ORDERS), len(_ORDERS), f"{rows} rows")
    return rows, size
