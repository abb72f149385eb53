"""Whole traces out of the store or its snapshot, some thousand rows at a time, oldest first."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rsi.traces.rows import Message, Score, Span, ToolCall, Trace

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

ROWS = 50_000
"""About so many rows are in memory at once, unless one trace has more."""

_WANTED = """
from traces t
left join outcomes o using (trace_uid)
where ($traces::varchar[] is null or list_contains($traces::varchar[], t.trace_uid))
    and ($namespace::varchar is null or t.namespace = $namespace)
    and ($format::varchar is null or t.format = $format)
    and ($origin::varchar is null or t.origin = $origin)
    and ($agent::varchar is null or t.agent = $agent)
    and ($version::varchar is null or t.version = $version)
    and ($conversation::varchar is null or t.conversation = $conversation)
    and ($outcome::varchar is null or o.outcome = $outcome)
    and ($since_ns::bigint is null or t.start_ns >= $since_ns)
    and ($until_ns::bigint is null or t.start_ns < $until_ns)
"""
_ORDER = "order by t.start_ns nulls last, t.trace_uid"
_COUNT = f"select count(*) {_WANTED}"
_WEIGHTS = f"""
with heavy as (
    select trace_uid, count(*) as n from (select trace_uid from messages union all select trace_uid from spans)
    group by trace_uid
)
select w.trace_uid, coalesce(h.n, 0) + 1
from (select t.trace_uid, row_number() over ({_ORDER}) as place {_WANTED}) w
left join heavy h using (trace_uid)
where $most::bigint is null or w.place <= $most
order by w.place
"""
UIDS = f"""
select trace_uid from (select t.trace_uid, row_number() over ({_ORDER}) as place {_WANTED})
where $most::bigint is null or place <= $most
"""
"""The traces that are wanted, as a subquery; its parameters are those of `Chosen`."""


class Chosen(NamedTuple):
    """Which traces; what is null does not matter."""

    traces: Sequence[str] | None = None
    """Their `trace_uid`."""
    namespace: str | None = None
    format: str | None = None
    origin: str | None = None
    agent: str | None = None
    version: str | None = None
    conversation: str | None = None
    outcome: str | None = None
    """pass, fail or unknown."""
    since_ns: int | None = None
    """Start, nanoseconds UTC; one without a start is in no period."""
    until_ns: int | None = None
    """Exclusive."""
    most: int | None = None
    """The oldest so many."""

    def parameters(self) -> dict[str, object]:
        """For the queries of this module."""
        return {**self._asdict(), "traces": None if self.traces is None else list(self.traces)}


class Whole(NamedTuple):
    """A trace with all its rows, in order."""

    trace: Trace
    spans: tuple[Span, ...]
    messages: tuple[Message, ...]
    calls: tuple[ToolCall, ...]
    scores: tuple[Score, ...]
    doubles: frozenset[str]
    """`span_uid` of spans that tell what another span of the trace tells."""


def _query(table: str, row: type[NamedTuple], order: str) -> str:
    columns = ", ".join(row._fields)
    return f"select {columns} from {table} where trace_uid in (select unnest($uids)) order by {order}"


_ROWS = {
    "trace": _query("traces", Trace, "start_ns nulls last, trace_uid"),
    "spans": _query("spans", Span, "start_ns nulls first, native_id, span_uid"),
    "messages": _query("messages", Message, "at_ns, seq, message_uid"),
    "calls": _query("tool_calls", ToolCall, "at_ns, seq, native_id, call_uid"),
    "scores": _query("scores", Score, "ts_ns nulls first, name, score_uid"),
}
_DOUBLES = """
select l.trace_uid, l.span_uid
from span_links l
join span_links kept on kept.span_uid = l.dup_of and kept.trace_uid = l.trace_uid
where l.trace_uid in (select unnest($uids))
"""


def count(connection: "DuckDBPyConnection", chosen: Chosen) -> int:
    """How many traces are wanted."""
    parameters = chosen.parameters()
    most = parameters.pop("most")
    ((found,),) = connection.execute(_COUNT, parameters).fetchall()
    return int(found) if most is None else min(int(found), chosen.most or 0)


def wholes(connection: "DuckDBPyConnection", chosen: Chosen, rows_at_once: int = ROWS) -> Iterator[Whole]:
    """The wanted traces, oldest first, those without a time last."""
    # A connection of its own keeps its place while the batches are read.
    cursor = connection.cursor()
    try:
        cursor.execute(_WEIGHTS, chosen.parameters())
        uids: list[str] = []
        weight = 0
        while rows := cursor.fetchmany(1000):
            for uid, heavy in rows:
                if uids and weight + heavy > rows_at_once:
                    yield from _batch(connection, uids)
                    uids, weight = [], 0
                uids.append(uid)
                weight += heavy
        if uids:
            yield from _batch(connection, uids)
    finally:
        cursor.close()


def _batch(connection: "DuckDBPyConnection", uids: list[str]) -> Iterator[Whole]:
    parameters = {"uids": uids}
    traces = [Trace(*row) for row in connection.execute(_ROWS["trace"], parameters).fetchall()]
    spans: dict[str, list[Span]] = {}
    for row in connection.execute(_ROWS["spans"], parameters).fetchall():
        spans.setdefault(row[1], []).append(Span(*row))
    messages: dict[str, list[Message]] = {}
    for row in connection.execute(_ROWS["messages"], parameters).fetchall():
        messages.setdefault(row[1], []).append(Message(*row))
    calls: dict[str, list[ToolCall]] = {}
    for row in connection.execute(_ROWS["calls"], parameters).fetchall():
        calls.setdefault(row[1], []).append(ToolCall(*row))
    scores: dict[str, list[Score]] = {}
    for row in connection.execute(_ROWS["scores"], parameters).fetchall():
        scores.setdefault(row[1], []).append(Score(*row))
    doubles: dict[str, set[str]] = {}
    for trace_uid, span_uid in connection.execute(_DOUBLES, parameters).fetchall():
        doubles.setdefault(trace_uid, set()).add(span_uid)
    for trace in traces:
        uid = trace.trace_uid
        yield Whole(
            trace,
            tuple(spans.get(uid, ())),
            tuple(messages.get(uid, ())),
            tuple(calls.get(uid, ())),
            tuple(scores.get(uid, ())),
            frozenset(doubles.get(uid, ())),
        )
