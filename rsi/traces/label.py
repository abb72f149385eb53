"""A person's label of a trace: kept as raw input in a segment of the inbox of its own, then ingested like any other.

A label is a score of source human. Of several by one person under one name the last counts (`outcomes`), so that
a mistake is mended by labelling again.
"""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rsi.errors import ContractError
from rsi.ids import uid
from rsi.ports import Clock
from rsi.settings import Deployment, Home
from rsi.store.database import store_batch
from rsi.traces.formats.gateway import FEEDBACK
from rsi.traces.ingest import ingest
from rsi.traces.spool import Spool

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

WHO = "label"
_FIND = """
select distinct trace_uid, namespace from trace_parts where starts_with(trace_uid, $said)
union
select trace_uid, null from trace_sides where trace_uid = $said and split in ('gate', 'vault')
limit 2
"""


class Label(NamedTuple):
    """What a person says of a trace."""

    by: str
    """Name of the person."""
    name: str = "feedback"
    """What is judged: feedback (the whole of it), route, or any other word."""
    value: float | None = None
    """1 good, 0 bad."""
    correction: str | None = None
    """What would have been right; for route the role that should have answered."""
    reason: str | None = None


class Labelled(NamedTuple):
    """A label that is in the store."""

    trace_uid: str
    segment: Path
    """The file in the inbox that keeps it."""


def label(
    home: Home, clock: Clock, trace: str, said: Label, deployment: Deployment | None = None
) -> Labelled:
    """Label the trace with that id, or those first digits of it; a held-out one only by its whole id.

    Raises:
        ContractError: there is no such trace, or the label says nothing or what it cannot.
        BusyError: the store lock is held by somebody else; the label is in the inbox, for the next ingest.
    """
    _check(said)
    with store_batch(home, clock, WHO) as connection:
        trace_uid, namespace = _find(connection, trace)
    now = int(clock.now().timestamp() * 1e9)
    spool = Spool(home.inbox, name="label", clock=clock)
    spool.append(
        {
            "schema": FEEDBACK,
            "feedback_id": uid(trace_uid, said.name, said.by, str(now)),
            "namespace": namespace,
            "trace_uid": trace_uid,
            "name": said.name,
            "score": said.value,
            "correction": said.correction,
            "source": "human",
            "annotator": said.by,
            "comment": said.reason,
            "ts_ns": now,
        }
    )
    segment = spool.rotate()
    assert segment is not None
    ingest(home, clock, [segment], deployment=deployment)
    return Labelled(trace_uid, segment)


def _check(said: Label) -> None:
    if not said.by.strip() or not said.name.strip():
        raise ContractError("a label needs who says it and what is judged (--by, --name)")
    if said.value is None and not said.correction and not said.reason:
        raise ContractError("the label says nothing; give a value, a correction or a reason")
    if said.value is not None and not 0 <= said.value <= 1:
        raise ContractError(f"a value of {said.value:g}; expected 0 (bad) to 1 (good)")


def _find(connection: "DuckDBPyConnection", trace: str) -> tuple[str, str | None]:
    found = connection.execute(_FIND, {"said": trace}).fetchall() if trace else []
    uids = {str(trace_uid) for trace_uid, _ in found}
    if len(uids) != 1:
        raise ContractError(
            f"{trace!r} names {'several traces' if uids else 'no trace'}; `rsi traces list` shows their ids"
        )
    return str(found[0][0]), found[0][1]
