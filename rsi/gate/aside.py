"""Conversations that ingest set aside for gate and vault, read from their place for a person who labels them.

Their text is read again as ingest read it, into a store in memory that is gone with the process: the tables that
discover asks never hold a row of it.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rsi.ids import uid
from rsi.intake import Splits
from rsi.ports import Clock
from rsi.records import ChatMessage, Origin, Split
from rsi.settings import Deployment, Home
from rsi.store.database import prepare, store_batch
from rsi.traces.batch import Input, Rules
from rsi.traces.load import load
from rsi.traces.raw import heldout_path
from rsi.traces.split import HELD_OUT
from rsi.traces.texts import Kind, Source, read

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

WHO = "contract"
_MARKS = {1.0: True, 0.0: False}
"""A person's score of an answer -> whether it is right; one between says neither."""
_FILES = """
select f.file_id, f.uri, f.namespace, any_value(t.origin)
from ingest_files f left join trace_texts t on t.file_id = f.file_id and t.place in ('gate', 'vault')
group by all
"""
_TOLD = """
with said as (
    select
        trace_uid,
        list({'role': role, 'content': content} order by at_ns, seq, message_uid) as turns
    from messages
    group by trace_uid
),
judged as (
    select
        trace_uid,
        arg_max(correction, (coalesce(ts_ns, 0), score_uid)) filter (correction is not null) as correction,
        arg_max(value, (coalesce(ts_ns, 0), score_uid)) filter (value is not null) as value
    from scores
    where source in ('human', 'label') and (name = 'route') = $routes
    group by trace_uid
)
select
    t.trace_uid, t.namespace, coalesce(t.conversation, t.native_id), t.route, t.input_text, t.output_text, s.turns,
    exists (from tool_calls c where c.trace_uid = t.trace_uid), j.correction, j.value
from traces t
left join said s using (trace_uid)
left join judged j using (trace_uid)
where list_contains($origins, t.origin)
order by t.start_ns nulls last, t.trace_uid
"""


class Aside(NamedTuple):
    """One request of a conversation that is held out."""

    item_id: str
    """That of its trace."""
    split: Split
    """Gate or vault."""
    cluster: str
    """Requests of one conversation share it."""
    asked: tuple[ChatMessage, ...]
    """What was said up to the request, which is the last turn; for a route the request alone."""
    answered: str
    """What the deployment said; "" where that is not known."""
    route: str
    """The specialist that answered; "" where that is not known."""
    said: str
    """What a person said would have been right, in the traces; "" where nobody did."""
    mark: bool | None = None
    """Whether a person in the traces called the answer right; null where nobody did, and for a route."""

    @property
    def request(self) -> str:
        """The last turn."""
        return self.asked[-1].content


class Found(NamedTuple):
    """What there is to label."""

    items: tuple[Aside, ...]
    """The oldest first; of equal requests the first."""
    doubled: int
    """Requests that another one says already."""
    with_tools: int
    """Runs that called tools: what they were asked cannot be asked again without their world."""
    wordless: int
    """Traces without a request in words."""


def aside(home: Home, clock: Clock, deployment: Deployment, hop: str) -> Found:
    """All held-out requests of the deployment's traffic.

    Args:
        hop: route, where the request alone is asked, or answer, where all before it is asked as well.

    Raises:
        BusyError: the store lock is held by somebody else.
    """
    import duckdb

    sources = _sources(home, clock, deployment.traces.namespace)
    # Nothing is held out of a store that only the gate has.
    rules = Rules(home.key(), Splits(dev=0, gate=0, vault=0), deployment.redaction)
    sides = {one.input.number: Split(one.path.parent.name) for one in sources}
    split: dict[str, Split] = {}
    with duckdb.connect(":memory:") as connection:
        prepare(connection, Path(":memory:"))
        for _, batch in read(sources, rules):
            load(connection, clock, batch)
            for row in batch.units.select(["trace_uid", "file"]).to_pylist():
                split[row["trace_uid"]] = sides[row["file"]]
        return _found(connection, split, deployment, hop)


def _sources(home: Home, clock: Clock, namespace: str) -> list[Source]:
    """Files of held-out text, with what whoever ingested them said."""
    with store_batch(home, clock, WHO) as connection:
        told = {str(file_id): said for file_id, *said in connection.execute(_FILES).fetchall()}
    found: list[Source] = []
    for split in HELD_OUT:
        for path in sorted(heldout_path(home, split, "any").parent.glob("[!.]*.ndjson")):
            uri, named, origin = told.get(path.stem, (str(path), namespace, None))
            source = Input(len(found), uri, path.stem, named, Origin(origin) if origin else None)
            found.append(Source(path, Kind.HELDOUT, source))
    return found


def _found(
    connection: "DuckDBPyConnection", split: Mapping[str, Split], deployment: Deployment, hop: str
) -> Found:
    origins = [one.value for one in deployment.traces.origins]
    rows = connection.execute(_TOLD, {"origins": origins, "routes": hop == "route"}).fetchall()
    items: dict[tuple[ChatMessage, ...], Aside] = {}
    doubled = with_tools = wordless = 0
    for trace_uid, namespace, conversation, route, request, answered, turns, tools, correction, value in rows:
        asked = _asked(turns or (), request, hop)
        if tools and hop != "route":
            with_tools += 1
        elif not asked:
            wordless += 1
        elif asked in items:
            doubled += 1
        else:
            right = route if hop == "route" and value == 1.0 else ""
            items[asked] = Aside(
                item_id=trace_uid,
                split=split[trace_uid],
                cluster=uid(namespace, conversation),
                asked=asked,
                answered=answered or "",
                route=route or "",
                said=correction or right or "",
                mark=_MARKS.get(value) if hop != "route" else None,
            )
    return Found(tuple(items.values()), doubled, with_tools, wordless)


def _asked(
    turns: Sequence[Mapping[str, str | None]], request: str | None, hop: str
) -> tuple[ChatMessage, ...]:
    """Everything up to the last request; nothing where it has no words."""
    if hop == "route":
        # As tasks are made of corrections, and as the router reads: the request alone.
        text = (request or "").strip()
        return (ChatMessage(role="user", content=text),) if text else ()
    said = [
        ChatMessage(role=str(one["role"]), content=one["content"] or "")
        for one in turns
        if one["role"] in ("system", "user", "assistant")
    ]
    while said and said[-1].role == "assistant":
        said.pop()
    return tuple(said) if said and said[-1].role == "user" and said[-1].content.strip() else ()
