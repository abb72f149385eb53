"""One trace as a person reads it: the conversation with calls under who asked for them, judgements, and the tree.

Read from the snapshot; the command line and a page of the dashboard show the same.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from rsi.errors import ContractError
from rsi.traces.rows import Json

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_FIND = """
select trace_uid from traces where starts_with(trace_uid, $said) or native_id = $said
union
select trace_uid from scores where starts_with(trace_uid, $said)
union
select trace_uid from spans where starts_with(trace_uid, $said)
order by trace_uid
limit 3
"""
_TRACE = "from traces where trace_uid = $uid"
_OUTCOME = "select outcome, rule, score_name, value from outcomes where trace_uid = $uid"
_TURNS = """
select role, author, content, content_state, reasoning, tool_call_id, at_ns, seq
from messages where trace_uid = $uid
order by at_ns, seq, message_uid
"""
_CALLS = """
select name, native_id, requestor, arguments, arguments_state, arguments_raw, result, status, at_ns, seq
from tool_calls where trace_uid = $uid
order by at_ns, seq, native_id, call_uid
"""
_SCORES = """
select name, value, said, correction, source, annotator, comment, target, make_timestamp(ts_ns // 1000)::varchar as at
from scores where trace_uid = $uid
order by ts_ns nulls first, name, score_uid
"""
_USAGE = """
select
    count(*), sum(input_tokens)::bigint, sum(output_tokens)::bigint, sum(cache_read_tokens)::bigint,
    sum(reasoning_tokens)::bigint, sum(cost_usd)
from v_llm_calls where trace_uid = $uid
"""


class Call(NamedTuple):
    """A tool call with its result."""

    name: str
    native_id: str | None
    requestor: str
    arguments: str | None
    arguments_state: str
    arguments_raw: str | None
    result: str | None
    status: str
    at_ns: int
    seq: int


class Turn(NamedTuple):
    """What somebody said, and the calls it asked for."""

    role: str
    author: str | None
    content: str | None
    content_state: str
    reasoning: str | None
    tool_call_id: str | None
    at_ns: int
    """0 where unknown."""
    seq: int
    calls: tuple[Call, ...] = ()
    told: bool = False
    """It is the result of a call above, which shows it."""


class Judged(NamedTuple):
    """A score."""

    name: str
    value: float | None
    said: str | None
    correction: str | None
    source: str
    annotator: str | None
    comment: str | None
    target: str | None
    at: str | None


class Outcome(NamedTuple):
    """Whether it went well."""

    outcome: str
    rule: str | None
    score_name: str | None
    value: float | None


class Usage(NamedTuple):
    """Sums over calls of models, each counted once; null where no call said it."""

    calls: int
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    reasoning_tokens: int | None
    cost_usd: float | None


class Shown(NamedTuple):
    """A trace."""

    trace_uid: str
    facts: dict[str, Json]
    """Its row in table traces; empty where only spans or scores of it came."""
    outcome: Outcome | None
    usage: Usage
    scores: tuple[Judged, ...]
    turns: tuple[Turn, ...]
    loose: tuple[Call, ...]
    """Calls that nobody in the conversation asked for."""


def find(connection: "DuckDBPyConnection", said: str) -> str:
    """The trace with that id, the first digits of it, or the producer's id.

    Raises:
        ContractError: none or several.
    """
    found = [str(uid) for (uid,) in connection.execute(_FIND, {"said": said}).fetchall()] if said else []
    if said in found:
        return said
    if len(found) != 1:
        count = f"more than {len(found) - 1} traces" if found else "no trace"
        raise ContractError(f"{said!r} names {count}; see `rsi traces list`")
    return found[0]


def read(connection: "DuckDBPyConnection", trace_uid: str) -> Shown:
    """All that is known of a trace, in the order in which it is read."""
    uid = {"uid": trace_uid}
    answer = connection.execute(_TRACE, uid)
    columns = [str(column[0]) for column in answer.description or ()]
    facts = [dict(zip(columns, row, strict=True)) for row in answer.fetchall()]
    outcome = [Outcome(*row) for row in connection.execute(_OUTCOME, uid).fetchall()]
    turns = [Turn(*row) for row in connection.execute(_TURNS, uid).fetchall()]
    calls = [Call(*row) for row in connection.execute(_CALLS, uid).fetchall()]
    ((count, *sums),) = connection.execute(_USAGE, uid).fetchall()
    told, loose = _joined(turns, calls)
    return Shown(
        trace_uid,
        facts[0] if facts else {},
        outcome[0] if outcome else None,
        Usage(count, *sums),
        tuple(Judged(*row) for row in connection.execute(_SCORES, uid).fetchall()),
        told,
        loose,
    )


def _joined(turns: Sequence[Turn], calls: Sequence[Call]) -> tuple[tuple[Turn, ...], tuple[Call, ...]]:
    """Calls under the turn that asked, results of tools where the call shows them; and calls of nobody."""
    asked: dict[int, list[Call]] = {}
    loose = []
    for call in calls:
        at = _asking(turns, call)
        if at is None:
            loose.append(call)
        else:
            asked.setdefault(at, []).append(call)
    waiting = list(calls)
    found = []
    for at, turn in enumerate(turns):
        told = False
        if turn.role == "tool":
            answer = next((one for one in waiting if _answers(turn, one)), None)
            if answer is not None:
                waiting.remove(answer)
                told = True
        found.append(turn._replace(calls=tuple(asked.get(at, ())), told=told))
    return tuple(found), tuple(loose)


def _asking(turns: Sequence[Turn], call: Call) -> int | None:
    """Place of the turn that asked: the one the call names, else the last one of its requestor before it."""
    before = None
    for at, turn in enumerate(turns):
        if turn.role != call.requestor:
            continue
        if (turn.at_ns, turn.seq) == (call.at_ns, call.seq):
            return at
        if (turn.at_ns, turn.seq) < (call.at_ns, call.seq):
            before = at
    return before


def _answers(turn: Turn, call: Call) -> bool:
    same = turn.content == call.result and call.result is not None
    return same and (
        turn.tool_call_id is None or call.native_id is None or turn.tool_call_id == call.native_id
    )
