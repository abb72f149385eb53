"""One refusal with its raw text, from the store: the snapshot has neither excerpts nor raw text."""

from typing import TYPE_CHECKING, NamedTuple

from rsi.errors import ContractError
from rsi.ports import Clock
from rsi.settings import Home
from rsi.store.database import store_batch
from rsi.traces.raw import raw_path
from rsi.traces.texts import raw_rows

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

WHO = "quarantine show"
_FIND = """
select
    q.quarantine_uid, q.reason, q.detail, q.uri, q.namespace, q.file_id, q.line, q.byte_offset, q.excerpt,
    any_value(s.fate) as settled
from quarantine q
left join quarantine_settled s using (quarantine_uid)
where starts_with(q.quarantine_uid, $said)
group by all
limit 2
"""


class Refused(NamedTuple):
    """What was refused, where, and its text."""

    quarantine_uid: str
    reason: str
    detail: str
    uri: str
    namespace: str
    file_id: str
    line: int
    byte_offset: int
    settled: str | None
    """What became of it since; null while it stands."""
    kept: str
    """What `text` is, in words."""
    text: bytes


def find(home: Home, clock: Clock, said: str) -> Refused:
    """The refusal with that id, or those first digits of it.

    Raises:
        ContractError: none or several.
        BusyError: the store lock is held by somebody else.
    """
    if not home.store.exists():
        raise ContractError(f"no store at {home.store}; run `rsi ingest` first")
    with store_batch(home, clock, WHO) as connection:
        found = _rows(connection, said)
    if len(found) != 1:
        raise ContractError(
            f"{said!r} names {'several refusals' if found else 'no refusal'}; see `rsi quarantine list`"
        )
    *facts, excerpt, settled = found[0]
    uid, reason, detail, uri, namespace, file_id, line, offset = facts
    text, kept = _raw(home, str(file_id), int(str(offset))), "raw text of the record"
    if text is None:
        text = str(excerpt or "").encode()
        kept = "the beginning of it (no more is kept)" if text else "no text of it is kept"
    return Refused(
        str(uid), str(reason), str(detail), str(uri), str(namespace), str(file_id), int(str(line)), int(str(offset)),
        None if settled is None else str(settled), kept, text,
    )  # fmt: skip


def _rows(connection: "DuckDBPyConnection", said: str) -> list[tuple[object, ...]]:
    return connection.execute(_FIND, {"said": said}).fetchall() if said else []


def _raw(home: Home, file_id: str, byte_offset: int) -> bytes | None:
    # Pieces of a record that was split have one offset: the first is as good as any.
    return next((row.body for row in raw_rows(raw_path(home, file_id), {byte_offset})), None)
