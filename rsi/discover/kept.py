"""A night's modes in the store, for analysts: the history of all nights, and which traces show what in the last."""

from typing import TYPE_CHECKING

import orjson

from rsi.discover.modes import Mined
from rsi.records import FailureMode

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_CLEAR = "delete from failure_modes where night = ?"
_STORE = "insert into failure_modes by name select * from mode_rows"
_CLEAR_TRACES = "delete from mode_traces"
_STORE_TRACES = "insert into mode_traces by name select * from mode_trace_rows"
_FACTORS = {"frequency", "severity", "recency", "learnability", "standing"}
_LEFT_OUT = {"evidence", "signatures", "chances", "titled_by", "fix", "answered_by", "factors", "topics"}


def store_modes(connection: "DuckDBPyConnection", mined: Mined) -> None:
    """Write a night's modes into `failure_modes`, in place of what it wrote before; their traces into `mode_traces`.

    `mode_traces` holds the night that wrote last, with every trace that shows a mode, since each night looks at all
    traces anew; of earlier nights the counts and the examples stay.
    """
    import pyarrow as pa

    modes = mined.modes
    connection.execute(_CLEAR, [modes.night])
    connection.execute(_CLEAR_TRACES)
    if not modes.modes:
        return
    rows = [{"night": modes.night, **_row(mode)} for mode in modes.modes]
    connection.register("mode_rows", pa.Table.from_pylist(rows))
    connection.execute(_STORE)
    connection.unregister("mode_rows")
    pairs = [(mode, trace) for mode, traces in sorted(mined.members.items()) for trace in traces]
    table = pa.table(
        {
            "night": pa.array([modes.night] * len(pairs), pa.string()),
            "mode_id": pa.array([mode for mode, _ in pairs], pa.string()),
            "trace_uid": pa.array([trace for _, trace in pairs], pa.string()),
        }
    )
    connection.register("mode_trace_rows", table)
    connection.execute(_STORE_TRACES)
    connection.unregister("mode_trace_rows")


def _row(mode: FailureMode) -> dict[str, object]:
    said = mode.model_dump(mode="json", exclude=_LEFT_OUT)
    factors = mode.model_dump(mode="json", include={"factors": _FACTORS})["factors"]
    text = {name: _json(said[name]) for name in ("by_version", "history")}
    topics = [{"topic_id": one.topic_id, "terms": one.terms, "count": one.count} for one in mode.topics]
    return {**said, **text, **factors, "topics": _json(topics)}


def _json(value: object) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
