"""Files into the trace tables: find them, cut them into records, read each, load in batches.

Each record is loaded, a duplicate, quarantined or held out, and the counts add up; an OTLP document counts
once for each trace in it, and a part that is refused while the rest of its record loads counts too. A file
whose content was read before is skipped. A batch is some megabytes of text, one lock and one transaction; a
kill between two loses nothing, since the next ingest finds what is there.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from rsi.errors import TransientError
from rsi.ids import digest_file, uid
from rsi.ports import Clock, Progress, silent
from rsi.records import Origin, Record
from rsi.settings import Deployment, Home
from rsi.store.database import go_on_after, store_batch
from rsi.store.intact import fixed
from rsi.store.ledger import Ledger
from rsi.traces.batch import Batch, Input, Rules
from rsi.traces.load import Fate, Placed, load
from rsi.traces.move import Moved, settle, unsettled
from rsi.traces.pieces import OPEN, Left, pieces
from rsi.traces.raw import RawText, keep, sweep
from rsi.traces.reading import batches, chunks, processes
from rsi.traces.rows import Reason
from rsi.traces.sources import Source, listed
from rsi.traces.streams import joined
from rsi.traces.values import Flaw, Piece

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

WHO = "ingest"
BATCH_BYTES = 48 << 20
BATCH_UNITS = 80_000
"""What is loaded in one transaction, and how much of it."""
MEMORY = "set memory_limit = '512MB'"
"""Of the store while it is loaded; what needs more goes through the disk."""

_KNOWN = "select file_id from ingest_files"
_FORGOTTEN = """
select (select count(*) from deleted_traces), (select count(*) from split_moves where fate = 'moved')
"""
_READ = """
insert into ingest_files
select * from (values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)) as row_read
where ? not in (select file_id from ingest_files)
"""


class FileCount(Record):
    """What became of one file's records: read = loaded + duplicates + quarantined + heldout."""

    uri: str
    known: bool = False
    """Its content was read before; nothing was done."""
    skipped: bool = False
    """It lay in a folder and is of no kind that is read; nothing was done."""
    read: int = 0
    loaded: int = 0
    duplicates: int = 0
    quarantined: int = 0
    heldout: int = 0
    redacted: dict[str, int] = Field(default_factory=dict)
    """Values replaced by pseudonyms, by kind."""
    waiting: bool = False
    """The last line of an open segment is not finished, and was left for the next time."""


class Totals(Record):
    """What an ingest did, with the sums over its files."""

    files: tuple[FileCount, ...]
    read: int
    loaded: int
    duplicates: int
    quarantined: int
    heldout: int
    redacted: dict[str, int] = Field(default_factory=dict)
    moved: int = 0
    """Traces that went to another side of the held-out split, since their session became known."""
    stayed: int = 0
    """Traces that would have gone, but that a night may have read."""

    @classmethod
    def of(cls, files: Sequence[FileCount], moved: Moved) -> "Totals":
        """Add up."""
        names = ("read", "loaded", "duplicates", "quarantined", "heldout")
        sums = {name: sum(getattr(one, name) for one in files) for name in names}
        redacted: Counter[str] = Counter()
        for one in files:
            redacted.update(one.redacted)
        return cls(files=tuple(files), redacted=dict(redacted), **sums, **moved._asdict())


@dataclass
class _File:
    """An input on its way in."""

    path: Path
    uri: str
    sha256: str
    size: int
    input: Input
    raw: RawText
    counts: Counter[Fate] = field(default_factory=Counter)
    redacted: Counter[str] = field(default_factory=Counter)
    waiting: bool = False
    unreadable: bool = False

    @property
    def count(self) -> FileCount:
        fates = self.counts
        return FileCount(
            uri=self.uri,
            read=fates.total(),
            loaded=fates[Fate.LOADED],
            duplicates=fates[Fate.DUPLICATE],
            quarantined=fates[Fate.QUARANTINED],
            heldout=fates[Fate.HELD_OUT],
            redacted=dict(self.redacted),
            waiting=self.waiting,
        )


def ingest(
    home: Home,
    clock: Clock,
    inputs: Sequence[str | Path],
    *,
    origin: Origin | None = None,
    namespace: str | None = None,
    progress: Progress = silent,
    deployment: Deployment | None = None,
) -> Totals:
    """Read what `inputs` name (`rsi.traces.sources`) into the store.

    `origin` and `namespace` are for records that do not carry their own; without them, traffic and the
    deployment's namespace. `deployment` is read from the home where it is not given.

    Raises:
        ContractError: an input is not there or of no kind that is read, or there is no deployment file.
        BusyError: the store lock is held by somebody else.
        TransientError: a URL could not be read, a reading process died, or traces were deleted or moved meanwhile.
    """
    deployment = deployment or Deployment.read(home.deployment_file)
    everything = listed(home, [str(one) for one in inputs])
    found = [one for one in everything if not one.skipped]
    rules = Rules(home.key(), deployment.split, deployment.redaction)
    run = _Run(home, clock, progress, len(found))
    with store_batch(home, clock, WHO) as connection:
        sweep(home)
        go_on_after(connection, fixed(Ledger(home.ledger, clock).records()), clock)
        known = {str(file_id) for (file_id,) in connection.execute(_KNOWN).fetchall()}
        run.forgotten = connection.execute(_FORGOTTEN).fetchall()
        run.unsettled = unsettled(connection)
    named = namespace or deployment.traces.namespace
    opened = (_opened(home, source, number, named, origin) for number, source in enumerate(found))
    try:
        size = sum(source.path.stat().st_size for source in found if source.path.exists())
        for _, batch in batches(chunks(run.pieces(opened, known)), rules, processes(size)):
            run.add(batch)
        run.finish()
        moved = settle(home, clock, rules) if run.unsettled else Moved()
    finally:
        run.abandon()
        for source in found:
            source.discard()
    progress("ingest", len(found), len(found), run.note)
    skipped = [FileCount(uri=one.uri, skipped=True) for one in everything if one.skipped]
    return Totals.of(
        [*(one if isinstance(one, FileCount) else one.count for one in run.files), *skipped], moved
    )


def _opened(home: Home, found: Source, number: int, namespace: str, origin: Origin | None) -> _File:
    """Name a file by its content; one that cannot be read by its path, to be refused when it is taken."""
    path, uri = found.path, found.uri
    if not path.exists() and path.name.endswith(OPEN):
        # Its writer has finished the segment since the folder was listed.
        path, uri = path.with_name(path.name.removesuffix(OPEN)), uri.removesuffix(OPEN)
    try:
        size, sha256, unreadable = path.stat().st_size, str(digest_file(path)), False
    except OSError:
        size, sha256, unreadable = 0, uid("unreadable", uri), True
    file_id = uid(namespace, sha256)
    source = Input(number, uri, file_id, namespace, origin)
    return _File(path, uri, sha256, size, source, RawText(home, file_id), unreadable=unreadable)


class _Run:
    """The files of one ingest, from the first chunk to the last batch."""

    def __init__(self, home: Home, clock: Clock, progress: Progress, total: int) -> None:
        self.files: list[_File | FileCount] = []
        self._home, self._clock, self._progress, self._total = home, clock, progress, total
        self._sums: Counter[Fate] = Counter()
        self._read: list[Batch] = []
        self._begun: list[_File] = []
        """Files that are cut but not marked as read."""
        self.forgotten: list[tuple[int, int]] = []
        """How many traces were deleted, and moved to another side, when the ingest began."""
        self.unsettled = False
        """Whether a trace has to go to another side."""

    @property
    def note(self) -> str:
        """Counts so far, in words."""
        return ", ".join(f"{self._sums[fate]} {fate}" for fate in Fate if self._sums[fate])

    def pieces(self, opened: Iterator[_File], known: set[str]) -> Iterator[tuple[Input, Piece | Flaw]]:
        """Pieces of all files that were not read before."""
        for file in opened:
            self._progress("ingest", file.input.number, self._total, self.note)
            if file.input.file_id in known:
                self.files.append(FileCount(uri=file.uri, known=True))
                continue
            known.add(file.input.file_id)
            self.files.append(file)
            self._begun.append(file)
            for piece in joined(pieces(file.path)):
                if isinstance(piece, Left):
                    file.waiting = True
                    continue
                if isinstance(piece, Flaw):
                    # Content that was not seen must not count as read.
                    file.unreadable = file.unreadable or piece.reason is Reason.UNREADABLE
                yield file.input, piece

    def add(self, batch: Batch) -> None:
        """One more batch; those that have come together are loaded when they are enough."""
        self._read.append(batch)
        size, units = (sum(one.size for one in self._read), sum(one.units.num_rows for one in self._read))
        if size >= BATCH_BYTES or units >= BATCH_UNITS:
            self._load()

    def finish(self) -> None:
        """Load what is left and mark the files that are left."""
        if self._read or self._begun:
            self._load(ended=True)

    def _load(self, ended: bool = False) -> None:
        """Batches in one transaction; files of which nothing is left to come are marked as read."""
        begun = {file.input.number: file for file in self._begun}
        placed: list[Placed] = []
        with store_batch(self._home, self._clock, WHO) as connection:
            connection.execute(MEMORY)
            if connection.execute(_FORGOTTEN).fetchall() != self.forgotten:
                # Drafts may hold text of what has no place there: they are thrown away, and written without it.
                raise TransientError(
                    "traces were deleted meanwhile, or moved to another side; run the same command again"
                )
            last = -1
            if self._read:
                batch = Batch.joined(self._read)
                placed = load(connection, self._clock, batch)
                keep({one.number: begun[one.number].raw for one in batch.files}, batch, placed)
                self._count(begun, batch, placed)
                last = max(one.number for one in batch.files)
            # Batches come in order: files before the last one in them have nothing left to come.
            self.unsettled = self.unsettled or unsettled(connection)
            self._mark(connection, [file for file in self._begun if ended or file.input.number < last])
        self._read = []
        self._sums.update(one.fate for one in placed)
        self._progress("ingest", max(last, 0), self._total, self.note)

    def abandon(self) -> None:
        """Remove the drafts of files that are not finished."""
        for file in self._begun:
            file.raw.abandon()

    def _count(self, files: Mapping[int, _File], batch: Batch, placed: Sequence[Placed]) -> None:
        for one in placed:
            files[one.file].counts[one.fate] += 1
        for number, counts in batch.redacted.items():
            files[number].redacted.update(counts)

    def _mark(self, connection: "DuckDBPyConnection", files: Sequence[_File]) -> None:
        at = self._clock.now().astimezone(UTC).replace(tzinfo=None)
        for file in files:
            file.raw.finish()
            self._begun.remove(file)
            if file.unreadable:
                continue
            count, source = file.count, file.input
            facts = [source.file_id, file.uri, file.sha256, source.namespace, file.size, at]
            counts = [count.read, count.loaded, count.duplicates, count.quarantined, count.heldout]
            # Another ingest may have read the same file meanwhile: the first one that ends marks it.
            connection.execute(_READ, [*facts, *counts, file.redacted.total(), source.file_id])
