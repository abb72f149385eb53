"""What expand reads of the traces: corrected requests, and runs with their turns, calls and what was expected."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import orjson

from rsi.verifiers.calls import Call, Json

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MOST_RUNS = 2000
"""Runs that are read for one night's tasks, failed ones first; ids are hashes: the first are a random sample."""

_CORRECTED = """
select distinct t.trace_uid, t.input_text, t.route, s.correction
from traces_until($until) t join scores s using (trace_uid)
where s.name = 'route' and s.correction is not null and t.input_text is not null
  and s.ordinal <= $until and list_contains($origins, t.origin)
order by t.trace_uid, s.correction
"""
_RUNS = """
with named as (
    select trace_uid, bool_or(list_contains($tools, name)) as wanted
    from tool_calls_until($until)
    where requestor = 'assistant'
    group by trace_uid
),
chosen as (
    select t.trace_uid, t.task_id, t.expected, t.metadata, o.outcome, coalesce(n.wanted, false) as wanted
    from traces_until($until) t
    join outcomes_until($until) o using (trace_uid)
    left join named n using (trace_uid)
    where list_contains($origins, t.origin) and (n.wanted or t.expected is not null)
    order by o.outcome <> 'fail', t.trace_uid
    limit $most
),
said as (
    select
        m.trace_uid,
        list({
            'at': m.at_ns, 'seq': m.seq, 'role': m.role, 'content': m.content
        } order by m.at_ns, m.seq, m.message_uid) as turns
    from messages_until($until) m
    semi join chosen using (trace_uid)
    group by m.trace_uid
),
done as (
    select
        c.trace_uid,
        list({
            'at': c.at_ns, 'seq': c.seq, 'name': c.name, 'arguments': c.arguments, 'status': c.status
        } order by c.at_ns, c.seq, c.call_uid) as calls
    from tool_calls_until($until) c
    semi join chosen using (trace_uid)
    where c.requestor = 'assistant'
    group by c.trace_uid
)
select c.trace_uid, c.task_id, c.outcome, c.expected, s.turns, d.calls
from chosen c
left join said s using (trace_uid)
left join done d using (trace_uid)
order by c.trace_uid
"""
_DEFINITIONS = """
select distinct on (told) told
from (
    select attributes ->> '$."gen_ai.tool.definitions"' as told
    from spans_until($until)
    where attributes like '%gen_ai.tool.definitions%'
    union all
    select (metadata -> '$.tool_definitions')::varchar as told
    from traces_until($until)
    where metadata like '%tool_definitions%'
)
where told is not null
order by told
limit 200
"""


class Corrected(NamedTuple):
    """A trace with what somebody said would have been right."""

    trace_uid: str
    request: str
    route: str | None
    """The specialist that answered."""
    correction: str
    """The specialist that should have."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a run: what was said, and the calls that it asked for."""

    role: str
    content: str
    calls: tuple[Call, ...] = ()
    failed: tuple[bool, ...] = ()
    """For each call, whether the tool refused it."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of an agent."""

    trace_uid: str
    task_id: str | None
    """Runs of one task share it."""
    outcome: str
    """pass, fail or unknown."""
    turns: tuple[Turn, ...]
    expected: tuple[Call, ...] | None
    """The calls that its task expects; null where the trace does not say."""

    @property
    def calls(self) -> list[tuple[int, int, Call]]:
        """(turn, place in the turn, call) of the calls that were not refused."""
        return [
            (at, place, call)
            for at, turn in enumerate(self.turns)
            for place, call in enumerate(turn.calls)
            if not turn.failed[place]
        ]


@dataclass(frozen=True)
class Read:
    """All that was read."""

    corrected: tuple[Corrected, ...]
    runs: tuple[Run, ...]
    definitions: tuple[str, ...]
    """JSON of tool definitions, as traces carry them."""


def read(connection: "DuckDBPyConnection", until: int, origins: Sequence[str], tools: Sequence[str]) -> Read:
    """What traces up to a batch say: corrections, and runs that call one of `tools` or say what was expected."""
    parameters = {"until": until, "origins": list(origins)}
    corrected = tuple(Corrected(*row) for row in connection.execute(_CORRECTED, parameters).fetchall())
    rows = connection.execute(_RUNS, {**parameters, "tools": list(tools), "most": MOST_RUNS}).fetchall()
    told = connection.execute(_DEFINITIONS, {"until": until}).fetchall()
    return Read(
        corrected,
        tuple(
            Run(uid, task, outcome, _turns(turns or [], calls or []), _expected(expected))
            for uid, task, outcome, expected, turns, calls in rows
        ),
        tuple(str(one) for (one,) in told),
    )


def _turns(said: Sequence[dict[str, Json]], done: Sequence[dict[str, Json]]) -> tuple[Turn, ...]:
    """Messages in order, each with the calls made where it stands; a call that no message asked for is its own turn."""
    by_place: dict[tuple[Json, Json], list[dict[str, Json]]] = {}
    for one in done:
        by_place.setdefault((one["at"], one["seq"]), []).append(one)
    found: list[tuple[tuple[int, int, int], Turn]] = []
    for turn in said:
        place = (turn["at"], turn["seq"])
        calls = by_place.pop(place, []) if turn["role"] == "assistant" else []
        found.append((_order(place, 0), _turn(str(turn["role"]), str(turn["content"] or ""), calls)))
    for place, calls in by_place.items():
        found.append((_order(place, 1), _turn("assistant", "", calls)))
    return tuple(turn for _, turn in sorted(found, key=lambda one: one[0]))


def _order(place: tuple[Json, Json], kind: int) -> tuple[int, int, int]:
    at, seq = place
    return int(str(at)), int(str(seq)), kind


def _turn(role: str, content: str, calls: Sequence[dict[str, Json]]) -> Turn:
    return Turn(
        role,
        content,
        tuple(Call(str(one["name"]), _object(one["arguments"])) for one in calls),
        tuple(one["status"] == "error" for one in calls),
    )


def _object(text: Json) -> dict[str, Json]:
    found = orjson.loads(text) if isinstance(text, str) else None
    return found if isinstance(found, dict) else {}


def _expected(text: str | None) -> tuple[Call, ...] | None:
    said = orjson.loads(text) if text else None
    actions = said.get("actions") if isinstance(said, dict) else None
    if not isinstance(actions, list):
        return None
    return tuple(
        Call(one["name"], one["arguments"] if isinstance(one.get("arguments"), dict) else {})
        for one in actions
        if isinstance(one, dict) and isinstance(one.get("name"), str)
    )
