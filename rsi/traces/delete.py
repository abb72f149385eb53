"""Forgetting traces: a person's, a conversation's or a period's, with all that was made from them.

First the ids are remembered (`deleted_traces`), so that no ingest brings the traces back; then files are rewritten
without them, then the rows go, and the store is written anew, since DuckDB leaves deleted rows in its file. Each
step does for all remembered ids what is left to do: after a kill the same command goes on. What a bank holds
stays, since versions in service were made from it; the banks are named. Nothing of what is deleted is written
down but ids and counts.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rsi import faults
from rsi.errors import ContractError
from rsi.ids import digest_file, uid
from rsi.ports import Clock, Progress, silent
from rsi.records import Record
from rsi.settings import Deployment, Home
from rsi.store.compact import compact
from rsi.store.database import store_batch
from rsi.store.files import whole
from rsi.store.ledger import Ledger
from rsi.store.locks import hold
from rsi.store.snapshot import refresh
from rsi.store.statements import named
from rsi.traces.batch import Rules
from rsi.traces.redact import Redactor
from rsi.traces.scrub import Kind, Scrubbed, Source, read, scrub, sources

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection

WHO = "delete"
ROWS = (
    "trace_parts",
    "span_parts",
    "message_parts",
    "tool_call_parts",
    "scores",
    "waiting_scores",
    "heldout_traces",
    "mode_traces",
)
_QUERIES = named(Path(__file__).with_suffix(".sql"))


class Wanted(NamedTuple):
    """Which traces to forget: exactly one of these."""

    user: str | None = None
    """The producer's id of the user, or the pseudonym in `traces.user_ref`."""
    before: datetime | None = None
    """All that began before; traces without a time stay."""
    conversation: str | None = None


class Deleted(Record):
    """What went, or would go."""

    dry_run: bool = False
    traces: int
    heldout: int
    """Of them, held out."""
    spans: int
    messages: int
    tool_calls: int
    scores: int
    quarantined: int = 0
    """Refused parts of the same records."""
    tasks: int = 0
    """Tasks that no bank holds."""
    refusals: int = 0
    """Proposals that a screen refused."""
    raw: int = 0
    """Records of raw and held-out text."""
    inbox: int = 0
    """Records of files in the inbox."""
    growing: tuple[str, ...] = ()
    """Segments that hold such records and are still being written: run it again when they are closed."""
    banks: dict[str, int]
    """Bank -> tasks in it that were made from these traces; they stay."""


class _Work(NamedTuple):
    home: Home
    clock: Clock
    rules: Rules
    namespace: str
    progress: Progress


def delete(
    home: Home,
    clock: Clock,
    wanted: Wanted,
    by: str,
    *,
    dry_run: bool = False,
    deployment: Deployment | None = None,
    progress: Progress = silent,
) -> Deleted:
    """Forget traces; again, or after a kill, it does what is left.

    Raises:
        ContractError: not exactly one choice was made, or nobody is named who does it.
        BusyError: the store lock is held by somebody else, or another deletion runs.
    """
    if sum(one is not None for one in wanted) != 1:
        raise ContractError("choose one: --user, --before or --conversation")
    if not (dry_run or by.strip()):
        raise ContractError("a deletion needs the name of who does it (--by)")
    deployment = deployment or Deployment.read(home.deployment_file)
    rules = Rules(home.key(), deployment.split, deployment.redaction)
    work = _Work(home, clock, rules, deployment.traces.namespace, progress)
    with hold(home.root / "locks" / "delete", WHO, clock.now().isoformat(timespec="seconds")):
        chosen, pending = _chosen(work, wanted)
        if dry_run or not (chosen or pending):
            with store_batch(home, clock, WHO) as connection, _staged(connection, chosen):
                return _counted(connection, home, chosen).model_copy(update={"dry_run": dry_run})
        return _deleted(work, chosen, by, _how(wanted))


def _deleted(work: _Work, chosen: set[str], by: str, how: str) -> Deleted:
    home, clock = work.home, work.clock
    at = clock.now().astimezone(UTC).replace(tzinfo=None)
    with store_batch(home, clock, WHO) as connection, _staged(connection, chosen):
        connection.execute(_QUERIES["remember"], {"at": at})
        connection.execute(_QUERIES["begin"])
        gone = {str(one) for (one,) in connection.execute(_QUERIES["remembered"]).fetchall()}
        found = _sources(connection, work)
    faults.point("delete.after_remember")
    scrubbed = scrub(found, work.rules, gone, lambda *facts: _known(work, *facts), work.progress)
    refused = _refusals(home, gone)
    faults.point("delete.after_files")
    with store_batch(home, clock, WHO) as connection:
        done = _rows(connection, home, gone, scrubbed).model_copy(update={"refusals": refused})
        said = done.model_dump(mode="json", exclude={"dry_run", "growing"})
        if any(said.values()):
            Ledger(home.ledger, clock).append("deletion", body={"by": by, "how": how, **said})
    faults.point("delete.after_rows")
    compact(home, clock)
    if not scrubbed.growing:
        with store_batch(home, clock, WHO) as connection:
            connection.execute(_QUERIES["finish"])
    refresh(home, clock)
    return done


def _how(wanted: Wanted) -> str:
    """How they were chosen, without whose they were."""
    if wanted.before is not None:
        return f"before {wanted.before.isoformat()}"
    return "user" if wanted.user is not None else "conversation"


def _chosen(work: _Work, wanted: Wanted) -> tuple[set[str], bool]:
    """Ids of the traces that are meant, held-out ones as well; and whether a deletion was interrupted."""
    redaction = work.rules.redaction
    redactor = Redactor(work.rules.key, redaction.allow, frozenset(redaction.kinds))
    users = _spelled(redactor, wanted.user)
    facts = {
        "users": [*users, *(redactor.pseudonym("user", one) for one in users)],
        "conversations": _spelled(redactor, wanted.conversation),
        "before": int(wanted.before.timestamp() * 1e9) if wanted.before else None,
    }
    with store_batch(work.home, work.clock, WHO) as connection:
        ((pending,),) = connection.execute(_QUERIES["pending"]).fetchall()
        found = {str(one) for (one,) in connection.execute(_QUERIES["chosen"], facts).fetchall()}
        held = [one for one in _sources(connection, work) if one.kind is Kind.HELDOUT]
    return found | _held_out(held, work, facts), bool(pending)


def _held_out(held: Sequence[Source], work: _Work, facts: Mapping[str, object]) -> set[str]:
    """What is held out has no rows: its text is read, and its rows are asked the same."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute(_QUERIES["heldout"])
        for _, batch in read(held, work.rules, silent):
            for table in ("trace_parts", "scores"):
                if table in batch.tables:
                    connection.register("rows_read", batch.tables[table])
                    connection.execute(_QUERIES[table])
        return {str(one) for (one,) in connection.execute(_QUERIES["chosen"], facts).fetchall()}


def _spelled(redactor: Redactor, value: str | None) -> list[str]:
    """A value as it came, and as redaction left it."""
    return [] if value is None else sorted({value, redactor.text(value)[0]})


def _sources(connection: "DuckDBPyConnection", work: _Work) -> list[Source]:
    rows = connection.execute(_QUERIES["uris"]).fetchall()
    uris = {str(file_id): (str(uri), str(namespace)) for file_id, uri, namespace in rows}
    return sources(work.home, uris, work.namespace)


def _known(work: _Work, before: str, draft: Path, records: int) -> None:
    """A file of the inbox that is written anew was read before, if the old one was."""
    after = str(digest_file(draft))
    with store_batch(work.home, work.clock, WHO) as connection:
        for uri, namespace in connection.execute(_QUERIES["ingested"], {"sha256": before}).fetchall():
            facts = {
                "file_id": uid(str(namespace), after),
                "uri": uri,
                "sha256": after,
                "namespace": namespace,
                "bytes": draft.stat().st_size,
                "at": work.clock.now().astimezone(UTC).replace(tzinfo=None),
                "records": records,
            }
            connection.execute(_QUERIES["known"], facts)


def _rows(connection: "DuckDBPyConnection", home: Home, gone: set[str], scrubbed: Scrubbed) -> Deleted:
    """Delete what is derived from the traces in `gone`; what went."""
    banked = sorted({task_id for _, tasks in _banked(home) for task_id, _ in tasks})
    connection.register("places", _places(scrubbed))
    with _staged(connection, gone):
        done = _counted(connection, home, gone)
        refused = connection.execute(_QUERIES["quarantine"]).fetchall()
        connection.execute(_QUERIES["refusals"])
        tasks = connection.execute(_QUERIES["tasks"], {"banked": banked}).fetchall()
        connection.execute(_QUERIES["modes"])
        for table in ROWS:
            connection.execute(_QUERIES["rows"].format(table=table))
    connection.unregister("places")
    records = scrubbed.records
    return done.model_copy(
        update={
            "quarantined": len(refused),
            "tasks": len(tasks),
            "raw": records[Kind.RAW] + records[Kind.HELDOUT],
            "inbox": records[Kind.INBOX],
            "growing": tuple(str(path) for path in scrubbed.growing),
        }
    )


def _refusals(home: Home, gone: Collection[str]) -> int:
    """Write the files of refused proposals without those from the traces in `gone`; how many went."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    count = 0
    for path in sorted(home.refused.glob("[!.]*.parquet")):
        table = pq.read_table(path)
        stays = [frozenset(one).isdisjoint(gone) for one in table.column("traces").to_pylist()]
        if not all(stays):
            with whole(path) as file:
                pq.write_table(table.filter(pa.array(stays)), file, compression="zstd")
            count += len(stays) - sum(stays)
    return count


def _counted(connection: "DuckDBPyConnection", home: Home, gone: Collection[str]) -> Deleted:
    """Rows of the traces in `gone`, and the banks that hold tasks from them."""
    answer = connection.execute(_QUERIES["counts"])
    names = [str(column[0]) for column in answer.description or ()]
    (row,) = answer.fetchall()
    banks = {bank: sum(not traces.isdisjoint(gone) for _, traces in tasks) for bank, tasks in _banked(home)}
    counts = {str(name): int(value) for name, value in zip(names, row, strict=True)}
    return Deleted(**counts, banks={bank: count for bank, count in banks.items() if count})


def _banked(home: Home) -> Iterator[tuple[str, list[tuple[str, frozenset[str]]]]]:
    """Each bank with its tasks and the traces that they were made from."""
    import pyarrow.parquet as pq

    for path in sorted(home.banks.glob("[!.]*/tasks.parquet")):
        rows = pq.read_table(path, columns=["task_id", "traces"]).to_pylist()
        yield path.parent.name, [(row["task_id"], frozenset(row["traces"])) for row in rows]


@contextmanager
def _staged(connection: "DuckDBPyConnection", gone: Collection[str]) -> Iterator[None]:
    """The ids as table `gone`."""
    import pyarrow as pa

    connection.register("gone", pa.table({"trace_uid": pa.array(sorted(gone), pa.string())}))
    try:
        yield
    finally:
        connection.unregister("gone")


def _places(scrubbed: Scrubbed) -> "pa.Table":
    import pyarrow as pa

    file_ids = pa.array([file_id for file_id, _ in scrubbed.places], pa.string())
    offsets = pa.array([offset for _, offset in scrubbed.places], pa.int64())
    return pa.table({"file_id": file_ids, "byte_offset": offsets})
