"""Files into the trace tables: find them, cut them into records, read each, load in batches.

Each record is loaded, a duplicate, quarantined or held out, and the counts add up; an OTLP document counts
once for each trace in it, and a part that is refused while the rest of its record loads counts too. A file
whose content was read before is skipped. A batch is about 2,000 records, one lock and one transaction; a kill
between two loses nothing, since the next ingest finds what is there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING

from rsi.errors import ContractError
from rsi.ids import digest_file, uid
from rsi.ports import Clock, Progress, silent
from rsi.records import Origin, Record
from rsi.settings import Deployment, Home
from rsi.store.database import store_batch
from rsi.traces.detect import read
from rsi.traces.load import Fate, Placed, Unit, load
from rsi.traces.pieces import OPEN, Left, pieces, taken
from rsi.traces.raw import RawText
from rsi.traces.rows import Place, Reason, Refusal, Rows
from rsi.traces.split import HELD_OUT, Splitter
from rsi.traces.values import Flaw

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

WHO = "ingest"
BATCH_RECORDS = 2000
BATCH_BYTES = 16 << 20

_KNOWN = "select file_id from ingest_files"
_READ = """
insert into ingest_files
select * from (values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)) as row_read
where ? not in (select file_id from ingest_files)
"""


class FileCount(Record):
    """What became of one file's records: read = loaded + duplicates + quarantined + heldout."""

    uri: str
    known: bool = False
    """Its content was read before; nothing was done."""
    read: int = 0
    loaded: int = 0
    duplicates: int = 0
    quarantined: int = 0
    heldout: int = 0
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

    @classmethod
    def of(cls, files: Sequence[FileCount]) -> "Totals":
        """Add up."""
        names = ("read", "loaded", "duplicates", "quarantined", "heldout")
        sums = {name: sum(getattr(one, name) for one in files) for name in names}
        return cls(files=tuple(files), **sums)


@dataclass
class _File:
    """An input on its way in."""

    path: Path
    uri: str
    sha256: str
    size: int
    place: Place
    raw: RawText
    counts: dict[Fate, int] = field(default_factory=lambda: dict.fromkeys(Fate, 0))
    waiting: bool = False
    ended: bool = False
    unreadable: bool = False

    @property
    def count(self) -> FileCount:
        fates = self.counts
        return FileCount(
            uri=self.uri,
            read=sum(fates.values()),
            loaded=fates[Fate.LOADED],
            duplicates=fates[Fate.DUPLICATE],
            quarantined=fates[Fate.QUARANTINED],
            heldout=fates[Fate.HELD_OUT],
            waiting=self.waiting,
        )


def ingest(
    home: Home,
    clock: Clock,
    paths: Sequence[Path],
    *,
    origin: Origin | None = None,
    namespace: str | None = None,
    progress: Progress = silent,
    deployment: Deployment | None = None,
) -> Totals:
    """Read files and folders (recursively, sorted, hidden names skipped) into the store.

    `origin` and `namespace` are for records that do not carry their own; without them, traffic and the
    deployment's namespace. `deployment` is read from the home where it is not given.

    Raises:
        ContractError: a path does not exist or is of no kind that is read, or there is no deployment file.
        BusyError: the store lock is held by somebody else.
    """
    found = list_files(paths)
    deployment = deployment or Deployment.read(home.deployment_file)
    run = _Run(home, clock, Splitter(home.key(), deployment.split))
    counts: list[FileCount | _File] = []
    known = run.known()
    for number, path in enumerate(found):
        progress("ingest", number, len(found), run.note)
        file = _opened(home, path, namespace or deployment.traces.namespace, origin)
        if file.place.file_id in known:
            counts.append(FileCount(uri=file.uri, known=True))
            continue
        known.add(file.place.file_id)
        counts.append(file)
        run.take(file)
    run.flush()
    progress("ingest", len(found), len(found), run.note)
    return Totals.of([one if isinstance(one, FileCount) else one.count for one in counts])


def list_files(paths: Sequence[Path]) -> list[Path]:
    """The files that `paths` stand for, each once, folders in order of name.

    Raises:
        ContractError: a path is missing, or a file that was named is of no kind that is read.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            inside = (
                one
                for one in sorted(path.rglob("*"))
                if one.is_file() and taken(one)
                if not any(part.startswith(".") for part in one.relative_to(path).parts)
            )
            found.update(dict.fromkeys(inside))
        elif not path.exists():
            raise ContractError(f"nothing to ingest at {path}: no such file or folder")
        elif not taken(path):
            raise ContractError(
                f"{path} is no kind of file that is read; expected a name ending in .json, .jsonl or .ndjson "
                "(also with .gz or .zst), or a folder of such files"
            )
        else:
            found[path] = None
    return list(found)


def _opened(home: Home, path: Path, namespace: str, origin: Origin | None) -> _File:
    """Name a file by its content; one that cannot be read by its path, to be refused when it is taken."""
    if not path.exists() and path.name.endswith(OPEN):
        # Its writer has finished the segment since the folder was listed.
        path = path.with_name(path.name.removesuffix(OPEN))
    # A name that is not UTF-8 cannot be stored.
    uri = str(path).encode(errors="replace").decode()
    try:
        size, sha256, unreadable = path.stat().st_size, str(digest_file(path)), False
    except OSError:
        size, sha256, unreadable = 0, uid("unreadable", uri), True
    file_id = uid(namespace, sha256)
    place = Place(namespace, origin, file_id, line=1, byte_offset=0)
    return _File(path, uri, sha256, size, place, RawText(home, file_id), unreadable=unreadable)


class _Run:
    """The batch that is being filled."""

    def __init__(self, home: Home, clock: Clock, splitter: Splitter) -> None:
        self._home, self._clock, self._splitter = home, clock, splitter
        self._units: list[tuple[_File, Unit]] = []
        self._files: list[_File] = []
        self._bytes = 0
        self._sums = dict.fromkeys(Fate, 0)

    @property
    def note(self) -> str:
        """Counts so far, in words."""
        return ", ".join(f"{count} {fate}" for fate, count in self._sums.items() if count)

    def known(self) -> set[str]:
        """Ids of the files that were read to their end."""
        with store_batch(self._home, self._clock, WHO) as connection:
            return {str(file_id) for (file_id,) in connection.execute(_KNOWN).fetchall()}

    def take(self, file: _File) -> None:
        """Read a file to its end, loading whenever a batch is full."""
        self._files.append(file)
        try:
            for units in _records(file):
                self._units.extend((file, unit) for unit in units)
                self._bytes += len(units[0].body)
                if len(self._units) >= BATCH_RECORDS or self._bytes >= BATCH_BYTES:
                    self.flush()
        except BaseException:
            for one in self._files:
                one.raw.abandon()
            raise
        file.ended = True

    def flush(self) -> None:
        """Load what was read, in one transaction; files that have ended are marked as read."""
        if not self._files:
            return
        try:
            with store_batch(self._home, self._clock, WHO) as connection:
                placed = load(connection, self._clock, [unit for _, unit in self._units], self._splitter)
                by_file: dict[str, list[Placed]] = {}
                for (file, _), one in zip(self._units, placed, strict=True):
                    by_file.setdefault(file.place.file_id, []).append(one)
                for file in self._files:
                    _write_raw(file, by_file.get(file.place.file_id, []))
                for file in self._files:
                    if file.ended:
                        file.raw.finish()
                        self._mark(connection, file)
        except BaseException:
            for file in self._files:
                file.raw.abandon()
            raise
        for one in placed:
            self._sums[one.fate] += 1
        self._files = [file for file in self._files if not file.ended]
        self._units, self._bytes = [], 0

    def _mark(self, connection: "DuckDBPyConnection", file: _File) -> None:
        if file.unreadable:
            return
        count, place = file.count, file.place
        at = self._clock.now().astimezone(UTC).replace(tzinfo=None)
        facts = [place.file_id, file.uri, file.sha256, place.namespace, file.size, at]
        counts = [count.read, count.loaded, count.duplicates, count.quarantined, count.heldout]
        # Another ingest may have read the same file meanwhile: the first one that ends marks it.
        connection.execute(_READ, [*facts, *counts, place.file_id])


def _records(file: _File) -> Iterator[list[Unit]]:
    """The units of each record: they stay in one batch, which decides what of the raw text is held out."""
    uri, start = file.uri, file.place
    for piece in pieces(file.path):
        if isinstance(piece, Left):
            file.waiting = True
            continue
        place = Place(start.namespace, start.origin, start.file_id, piece.line, piece.byte_offset)
        if isinstance(piece, Flaw):
            # Content that was not seen must not count as read.
            file.unreadable = file.unreadable or piece.reason is Reason.UNREADABLE
            yield [Unit(uri, place, Refusal(piece.reason, piece.detail), piece.excerpt)]
        else:
            yield [Unit(uri, place, found, piece.body) for found in read(piece, place)]


def _write_raw(file: _File, placed: Sequence[Placed]) -> None:
    """Count, and keep raw text: once for a record, unless a part of it is held out."""
    records: dict[int, list[Placed]] = {}
    for one in placed:
        file.counts[one.fate] += 1
        records.setdefault(one.unit.place.byte_offset, []).append(one)
    kept: list[tuple[Place, bytes]] = []
    for ones in records.values():
        if any(one.side in HELD_OUT for one in ones):
            parts = [one for one in ones if one.side not in HELD_OUT and isinstance(one.unit.found, Rows)]
            kept.extend((one.unit.place, one.unit.found.part or b"") for one in parts)
        elif ones[0].unit.body:
            kept.append((ones[0].unit.place, ones[0].unit.body))
    file.raw.keep(kept)
    for side in HELD_OUT:
        bodies = [_part(one.unit) for one in placed if one.side is side]
        if bodies:
            file.raw.hold_out(side, bodies)


def _part(unit: Unit) -> bytes:
    part = unit.found.part if isinstance(unit.found, Rows) else None
    return unit.body if part is None else part
