"""What discover knows of one trace: its outcome, scores, tool calls and what was expected of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rsi.records import Origin

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

UNKNOWN = "unknown"
"""Version of a trace that does not say which version answered."""
_BLOCK = 2000

_FACTS = """
with said as (
    select
        trace_uid,
        list({
            'name': name, 'value': value, 'correction': correction, 'source': source, 'basis': basis,
            'ts_ns': ts_ns
        } order by score_uid) as scores
    from scores
    where ordinal <= $until
    group by trace_uid
),
done as (
    select
        trace_uid,
        list({
            'name': name, 'arguments': arguments, 'status': status,
            'error': if(status = 'error', left(result, 400), null)
        } order by at_ns, seq, call_uid) as calls
    from tool_calls_until($until)
    group by trace_uid
)
select
    t.trace_uid, t.version, t.route, t.start_ns, t.error, t.expected, o.outcome, o.score_name, s.scores,
    d.calls
from traces_until($until) t
join outcomes_until($until) o using (trace_uid)
left join said s using (trace_uid)
left join done d using (trace_uid)
where list_contains($origins, t.origin)
"""


@dataclass(frozen=True, slots=True)
class ScoreFact:
    """A score of the trace."""

    name: str
    value: float | None
    correction: str | None
    source: str
    basis: str | None
    ts_ns: int | None


@dataclass(frozen=True, slots=True)
class CallFact:
    """A tool call of the trace."""

    name: str
    arguments: str | None
    """JSON of an object."""
    status: str
    error: str | None
    """Beginning of the result, where it is an error."""


@dataclass(frozen=True, slots=True)
class TraceFacts:
    """One trace, as far as failures go."""

    trace_uid: str
    version: str
    route: str | None
    start_ns: int | None
    error: str | None
    expected: str | None
    """JSON with `actions`, as `rsi.traces.formats.tau` writes it."""
    outcome: str
    """pass, fail or unknown."""
    decided_by: str | None
    """Name of the score that decided the outcome."""
    scores: tuple[ScoreFact, ...]
    calls: tuple[CallFact, ...]


def read_facts(
    connection: "DuckDBPyConnection", origins: Sequence[Origin], until_ordinal: int
) -> Iterator[TraceFacts]:
    """Facts of every trace of these origins that was ingested up to a batch, in no particular order."""
    parameters = {"until": until_ordinal, "origins": [origin.value for origin in origins]}
    rows = connection.execute(_FACTS, parameters)
    while block := rows.fetchmany(_BLOCK):
        for trace_uid, version, route, start_ns, error, expected, outcome, decided_by, scores, calls in block:
            yield TraceFacts(
                trace_uid=trace_uid,
                version=version or UNKNOWN,
                route=route,
                start_ns=start_ns,
                error=error,
                expected=expected,
                outcome=outcome,
                decided_by=decided_by,
                scores=tuple(ScoreFact(**score) for score in scores or ()),
                calls=tuple(CallFact(**call) for call in calls or ()),
            )
