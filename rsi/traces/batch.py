"""Records of a chunk of input, read and laid out as columns: what a reading process hands to the one that loads.

A record becomes one unit for each trace that it tells of, and one for each refusal. Rows that say the same are
laid out once. Everything is redacted before it gets here, the text of the record as well.
"""

import gc
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import orjson

from rsi.ids import digest_bytes, uid
from rsi.intake import Redaction, Splits
from rsi.records import Origin, Split
from rsi.traces.arrays import TABLES, columns
from rsi.traces.detect import read
from rsi.traces.formats.assembly import unstreamed
from rsi.traces.pieces import OPEN
from rsi.traces.redact import Redactor
from rsi.traces.rows import Json, Message, Place, Refusal, Rows, Trace
from rsi.traces.said import says_more
from rsi.traces.split import HELD_OUT, OUTWARD, Basis, Splitter, weight
from rsi.traces.streams import holds_stream
from rsi.traces.values import Flaw, Piece

if TYPE_CHECKING:
    import pyarrow as pa

EXCERPT = 200


class Input(NamedTuple):
    """A file as readers know it."""

    number: int
    """Place in the ingest."""
    uri: str
    file_id: str
    namespace: str
    origin: Origin | None

    def place(self, line: int, byte_offset: int) -> Place:
        """A place in it."""
        return Place(self.namespace, self.origin, self.file_id, line, byte_offset, self.uri)


Chunk: TypeAlias = Sequence[tuple[Input, Piece | Flaw]]
"""Consecutive pieces of one file or several."""


@dataclass(frozen=True)
class Rules:
    """What a reading process needs to know of the deployment; it goes there once."""

    key: bytes
    """Secret of split and pseudonyms."""
    shares: Splits
    redaction: Redaction


@dataclass(frozen=True)
class Batch:
    """Columns of a chunk."""

    files: Sequence[Input]
    """Those that its records lie in."""
    units: "pa.Table"
    """unit, file, record, trace_uid, side (as far as this chunk knows), weight (of two sides of a trace the one of
    more weight counts), parted (whether the record tells of others too), part (where it is needed); and for a refusal
    quarantine_uid, reason, detail and excerpt."""
    records: "pa.Table"
    """record, file, line, byte_offset, body; in a thin batch the body is null where it is as it came."""
    tables: "Mapping[str, pa.Table]"
    """Rows by table, with `unit`; trace_uid stands in each."""
    redacted: Mapping[int, Mapping[str, int]]
    """By file and kind, how many values were replaced."""

    @property
    def size(self) -> int:
        """Bytes of text."""
        return int(self.records.nbytes)

    def filled(self, chunk: "Chunk") -> "Batch":
        """A thin batch with the texts of its chunk."""
        import pyarrow as pa

        own = self.records["body"].to_pylist()
        came = (piece.body if isinstance(piece, Piece) else b"" for _, piece in chunk)
        bodies = [text if body is None else body for text, body in zip(came, own, strict=True)]
        records = self.records.set_column(
            self.records.column_names.index("body"), "body", pa.array(bodies, pa.large_binary())
        )
        return replace(self, records=records)

    @classmethod
    def joined(cls, batches: "Sequence[Batch]") -> "Batch":
        """Several as one: the more rows are looked for at once, the less often the tables are gone through."""
        import pyarrow as pa

        if len(batches) == 1:
            return batches[0]
        units, records = [], []
        tables: dict[str, list[pa.Table]] = {}
        redacted: dict[int, Counter[str]] = {}
        unit = record = 0
        for one in batches:
            units.append(_shifted(_shifted(one.units, "unit", unit), "record", record))
            records.append(_shifted(one.records, "record", record))
            for name, table in one.tables.items():
                tables.setdefault(name, []).append(_shifted(table, "unit", unit))
            for number, counts in one.redacted.items():
                redacted.setdefault(number, Counter()).update(counts)
            unit, record = unit + one.units.num_rows, record + one.records.num_rows
        return cls(
            files=tuple(dict.fromkeys(file for one in batches for file in one.files)),
            units=pa.concat_tables(units),
            records=pa.concat_tables(records),
            tables={name: pa.concat_tables(found) for name, found in tables.items()},
            redacted=redacted,
        )


class Reader:
    """Reads chunks under one set of rules; one in each reading process."""

    def __init__(self, rules: Rules) -> None:
        """Make splitter and redactor from the deployment's secret."""
        self._splitter = Splitter(rules.key, rules.shares)
        self._redaction = rules.redaction
        self._redactor = Redactor(rules.key, rules.redaction.allow, frozenset(rules.redaction.kinds))

    def read(self, chunk: Chunk) -> Batch:
        """Read the pieces of a chunk, in order."""
        return self.thin(chunk).filled(chunk)

    def thin(self, chunk: Chunk) -> Batch:
        """Read them for somebody else who has the chunk: texts that are as they came are left out."""
        suspects = self._suspects(chunk)
        with _uncollected():
            # What was drawn is gone when the search for cycles begins again.
            return self._drawn(chunk, suspects)

    def _drawn(self, chunk: Chunk, suspects: set[int]) -> Batch:
        drawn = _Drawn(self._splitter)
        for number, (source, piece) in enumerate(chunk):
            body, found, counts = self._record(source, piece, number in suspects)
            if counts:
                drawn.redacted.setdefault(source.number, Counter()).update(counts)
            came = isinstance(piece, Piece) and body is piece.body
            drawn.records.append((number, source.number, piece.line, piece.byte_offset))
            drawn.bodies.append(None if came else body)
            drawn.units_of(number, source, piece, found, body)
        drawn.named(self._redactor)
        return drawn.batch(tuple(dict.fromkeys(source for source, _ in chunk)))

    def _suspects(self, chunk: Chunk) -> set[int]:
        import pyarrow as pa

        if not self._redaction.enabled:
            return set()
        bodies = [piece.body if isinstance(piece, Piece) else piece.excerpt for _, piece in chunk]
        return set(self._redactor.suspects(pa.array(bodies, pa.large_binary())))

    def _record(
        self, source: Input, piece: Piece | Flaw, suspect: bool
    ) -> tuple[bytes, tuple[Rows | Refusal, ...], Counter[str]]:
        """Text to keep, rows and refusals, and what was replaced."""
        place = source.place(piece.line, piece.byte_offset)
        counts: Counter[str] = Counter()
        streams = self._redaction.enabled and isinstance(piece, Piece) and holds_stream(piece.body)
        if isinstance(piece, Flaw):
            excerpt = piece.excerpt
            if suspect:
                text, counts = self._redactor.text(excerpt.decode(errors="replace"))
                excerpt = text.encode()
            return b"", (Refusal(piece.reason, piece.detail, excerpt),), counts

        def clean(record: dict[str, Json]) -> dict[str, Json]:
            nonlocal counts
            # A value may lie in two chunks of a stream.
            whole = unstreamed(record) if streams else record
            cleaned, counts = self._redactor.record(whole)
            return cleaned if counts else record

        suspect = suspect or streams
        record, found = read(piece, place, clean if suspect else None)
        body = piece.body
        if suspect and not self._redaction.keep_raw:
            if record is None:
                text, counts = self._redactor.text(body.decode(errors="replace"))
                body = text.encode() if counts else body
            elif counts:
                body = orjson.dumps(record)
        return body, found, counts


def _shifted(table: "pa.Table", column: str, by: int) -> "pa.Table":
    import pyarrow.compute as pc

    return table.set_column(table.column_names.index(column), column, pc.add(table[column], by))


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without the search for cycles: a chunk is many small objects that all stay, and none of them is in one."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


class _Unit(NamedTuple):
    """What is left of a unit without its rows. The decoded record is not kept: many take more room than their text."""

    file: int
    record: int
    key: str | None = None
    """Of a refusal."""
    refusal: Refusal | None = None
    excerpt: str | None = None
    trace_uid: str | None = None
    native: tuple[str, str] = ("", "")
    """Namespace and id of the trace."""
    session: tuple[str, str] | None = None
    basis: Basis = Basis.TRACE
    """Without a session."""
    parted: bool = False
    part: bytes | None = None


@dataclass
class _Drawn:
    """Units and rows of a chunk as they come."""

    splitter: Splitter
    records: list[tuple[int, int, int, int]] = field(default_factory=list)
    bodies: list[bytes | None] = field(default_factory=list)
    units: list[_Unit] = field(default_factory=list)
    rows: dict[str, dict[str, tuple[int, NamedTuple]]] = field(
        default_factory=lambda: {table: {} for table in TABLES}
    )
    """By table and part: the first unit that says it, and the row."""
    redacted: dict[int, Counter[str]] = field(default_factory=dict)
    known: dict[tuple[str, str], Split] = field(default_factory=dict)
    """Sides by namespace and conversation."""

    def units_of(
        self,
        record: int,
        source: Input,
        piece: Piece | Flaw,
        found: Sequence[Rows | Refusal],
        body: bytes,
    ) -> None:
        """The units of one record. Where a part of it is held out, all of its parts are kept with their texts; that a
        record with a session says otherwise is found later, and then they are read once more."""
        told = [one for one in found if isinstance(one, Rows)]
        split = any(self._side(_conversation(one)) in HELD_OUT for one in told)
        for one in found:
            if isinstance(one, Refusal):
                self.units.append(_refused(record, source, piece, one, body))
                continue
            self._rows(len(self.units), one)
            self.units.append(
                _Unit(
                    source.number,
                    record,
                    trace_uid=one.trace_uid,
                    native=(one.namespace, one.native),
                    session=None if one.session is None else (one.namespace, one.session),
                    basis=Basis.TRACE if one.trace else Basis.FEEDBACK,
                    parted=one.own is not None,
                    part=one.part if split else None,
                )
            )

    def _side(self, where: tuple[str, str]) -> Split:
        side = self.known.get(where)
        if side is None:
            side = self.known[where] = self.splitter.of(*where)
        return side

    def _rows(self, unit: int, found: Rows) -> None:
        rows = self.rows
        if found.trace is not None:
            # Who caused a trace is said by whoever ingests it, and makes no new part of it.
            said = found.trace._replace(origin="")
            rows["trace_parts"].setdefault(uid(*said), (unit, found.trace))
        parts = rows["span_parts"]
        for span in found.spans:
            parts.setdefault(uid(*span), (unit, span))
        parts = rows["tool_call_parts"]
        for call in found.tool_calls:
            parts.setdefault(uid(*call), (unit, call))
        parts = rows["scores"]
        for score in found.scores:
            parts.setdefault(score.score_uid, (unit, score))
        parts = rows["message_parts"]
        for message in found.messages:
            before = parts.get(message.message_uid)
            if before is None:
                parts[message.message_uid] = (unit, message)
            elif isinstance(first := before[1], Message) and says_more(message, first):
                # Both are kept: which of them stands is the view's to say.
                parts[uid(*message)] = (unit, message)

    def named(self, redactor: Redactor) -> None:
        """Put pseudonyms in the place of user ids."""
        traces = self.rows["trace_parts"]
        known: dict[str, str] = {}
        for key, (unit, row) in traces.items():
            if isinstance(row, Trace) and (user := row.user_ref) is not None:
                if user not in known:
                    known[user] = redactor.pseudonym("user", user)
                traces[key] = (unit, row._replace(user_ref=known[user]))

    def batch(self, files: Sequence[Input]) -> Batch:
        """Lay out the columns."""
        import pyarrow as pa

        names = ["record", "file", "line", "byte_offset"]
        found = list(zip(*self.records, strict=True)) or [()] * len(names)
        records = {name: pa.array(one, pa.int64()) for name, one in zip(names, found, strict=True)}
        return Batch(
            files=files,
            units=self._units(),
            records=pa.table({**records, "body": pa.array(self.bodies, pa.large_binary())}),
            tables={
                table: columns(table, row, self.rows[table])
                for table, row in TABLES.items()
                if self.rows[table]
            },
            redacted=self.redacted,
        )

    def _units(self) -> "pa.Table":
        import pyarrow as pa

        rows: list[tuple[object, ...]] = []
        for number, (one, side) in enumerate(zip(self.units, self._sides(), strict=True)):
            refusal = one.refusal
            said = (refusal.reason.value, refusal.detail) if refusal else (None, None)
            place = (number, one.file, one.record, one.trace_uid)
            rows.append((*place, *side, one.parted, one.part, one.key, *said, one.excerpt))
        found = zip(*rows, strict=True) if rows else ([] for _ in _UNIT)
        return pa.table(
            {
                name: pa.array(column, getattr(pa, kind)())
                for (name, kind), column in zip(_UNIT.items(), found, strict=True)
            }
        )

    def _sides(self) -> Iterator[tuple[str, int]]:
        """The side of each unit, and its weight."""
        said: dict[str, Split] = {}
        for one in self.units:
            if one.session is not None and one.trace_uid is not None:
                side = self._side(one.session)
                said[one.trace_uid] = max(said.get(one.trace_uid, side), side, key=OUTWARD.index)
        for one in self.units:
            if one.trace_uid is None:
                yield Split.TRAIN.value, 0
            elif one.trace_uid in said:
                side = said[one.trace_uid]
                yield side.value, weight(Basis.SESSION, side)
            else:
                side = self._side(one.native)
                yield side.value, weight(one.basis, side)


def _conversation(found: Rows) -> tuple[str, str]:
    """What decides on the side, as far as the record itself knows."""
    return found.namespace, found.native if found.session is None else found.session


def _refused(record: int, source: Input, piece: Piece | Flaw, found: Refusal, body: bytes) -> _Unit:
    text = body if found.part is None else found.part
    # The same bad place is the same refusal after the file has grown or lost its suffix.
    where = [source.uri.removesuffix(OPEN), str(piece.byte_offset), found.reason, found.detail]
    # What stands there may be something else by now: a file of the same name, or standard input.
    key = uid(source.namespace, *where, digest_bytes(text))
    excerpt = text[:EXCERPT].decode(errors="replace").replace("\0", "\ufffd")
    return _Unit(source.number, record, key, found, excerpt)


_UNIT = {
    "unit": "int64", "file": "int64", "record": "int64", "trace_uid": "string", "side": "string", "weight": "int64",
    "parted": "bool_", "part": "large_binary", "quarantine_uid": "string", "reason": "string", "detail": "string",
    "excerpt": "string",
}  # fmt: skip
