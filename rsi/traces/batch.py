"""Records of a chunk of input, read and laid out as columns: what a reading process hands to the one that loads.

A record becomes one unit for each trace that it tells of, and one for each refusal. Rows that say the same are
laid out once. Everything is redacted before it gets here, the text of the record as well.
"""

import gc
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import NoneType, UnionType
from typing import TYPE_CHECKING, NamedTuple, Union, get_args, get_origin, get_type_hints

import orjson

from rsi.ids import digest, digest_bytes, uid
from rsi.intake import Redaction, Splits
from rsi.records import Origin, Split
from rsi.traces.detect import read
from rsi.traces.formats.assembly import unstreamed
from rsi.traces.pieces import OPEN
from rsi.traces.redact import Redactor
from rsi.traces.rows import Json, Message, Place, Refusal, Rows, Score, Span, ToolCall, Trace
from rsi.traces.said import said, says_more, thought
from rsi.traces.split import HELD_OUT, OUTWARD, Basis, Splitter, weight
from rsi.traces.streams import holds_stream
from rsi.traces.values import Flaw, Piece

if TYPE_CHECKING:
    import pyarrow as pa

EXCERPT = 200
TABLES: Mapping[str, type[NamedTuple]] = {
    "trace_parts": Trace,
    "span_parts": Span,
    "message_parts": Message,
    "tool_call_parts": ToolCall,
    "scores": Score,
}
"""Table -> the row that it is made of."""


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
    """record, file, line, byte_offset, body."""
    tables: "Mapping[str, pa.Table]"
    """Rows by table, with `unit`; trace_uid stands in each."""
    redacted: Mapping[int, Mapping[str, int]]
    """By file and kind, how many values were replaced."""

    @property
    def size(self) -> int:
        """Bytes of text."""
        return int(self.records.nbytes)

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

    def read(self, chunk: Sequence[tuple[Input, Piece | Flaw]]) -> Batch:
        """Read the pieces of a chunk, in order."""
        suspects = self._suspects(chunk)
        with _uncollected():
            # What was drawn is gone when the search for cycles begins again.
            return self._drawn(chunk, suspects)

    def _drawn(self, chunk: Sequence[tuple[Input, Piece | Flaw]], suspects: set[int]) -> Batch:
        drawn = _Drawn()
        for number, (source, piece) in enumerate(chunk):
            body, found, counts = self._record(source, piece, number in suspects)
            if counts:
                drawn.redacted.setdefault(source.number, Counter()).update(counts)
            drawn.records.append((number, source.number, piece.line, piece.byte_offset, body))
            for one in found:
                drawn.unit(number, source, piece, one, body)
        drawn.named(self._redactor)
        return drawn.batch(tuple(dict.fromkeys(source for source, _ in chunk)), self._splitter)

    def _suspects(self, chunk: Sequence[tuple[Input, Piece | Flaw]]) -> set[int]:
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


@dataclass
class _Drawn:
    """Units and rows of a chunk as they come."""

    records: list[tuple[int, int, int, int, bytes]] = field(default_factory=list)
    units: list[tuple[int, Rows | Refusal, str]] = field(default_factory=list)
    """Record, what was found, and the key of a refusal."""
    files: list[int] = field(default_factory=list)
    rows: dict[str, dict[str, tuple[int, NamedTuple]]] = field(
        default_factory=lambda: {table: {} for table in TABLES}
    )
    """By table and part: the first unit that says it, and the row."""
    redacted: dict[int, Counter[str]] = field(default_factory=dict)

    def unit(
        self, record: int, source: Input, piece: Piece | Flaw, found: Rows | Refusal, body: bytes
    ) -> None:
        number = len(self.units)
        key = ""
        if isinstance(found, Refusal):
            # The same bad place is the same refusal after the file has grown or lost its suffix.
            where = [source.uri.removesuffix(OPEN), str(piece.byte_offset), found.reason, found.detail]
            # What stands there may be something else by now: a file of the same name, or standard input.
            key = uid(source.namespace, *where, digest_bytes(body if found.part is None else found.part))
        else:
            self._rows(number, found)
        self.units.append((record, found, key))
        self.files.append(source.number)

    def _rows(self, unit: int, found: Rows) -> None:
        rows = self.rows
        if found.trace is not None:
            # Who caused a trace is said by whoever ingests it, and makes no new part of it.
            said = found.trace._replace(origin="")
            rows["trace_parts"].setdefault(_part(said), (unit, found.trace))
        parts = rows["span_parts"]
        for span in found.spans:
            parts.setdefault(_part(span), (unit, span))
        parts = rows["tool_call_parts"]
        for call in found.tool_calls:
            parts.setdefault(_part(call), (unit, call))
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
                parts[_part(message)] = (unit, message)

    def named(self, redactor: Redactor) -> None:
        """Put pseudonyms in the place of user ids."""
        traces = self.rows["trace_parts"]
        for key, (unit, row) in traces.items():
            if isinstance(row, Trace) and row.user_ref is not None:
                traces[key] = (unit, row._replace(user_ref=redactor.pseudonym("user", row.user_ref)))

    def batch(self, files: Sequence[Input], splitter: Splitter) -> Batch:
        """Lay out the columns."""
        import pyarrow as pa

        kinds = [pa.int64(), pa.int64(), pa.int64(), pa.int64(), pa.large_binary()]
        names = ["record", "file", "line", "byte_offset", "body"]
        columns = list(zip(*self.records, strict=True)) or [()] * len(names)
        return Batch(
            files=files,
            units=self._units(splitter),
            records=pa.table(
                {name: pa.array(one, kind) for name, one, kind in zip(names, columns, kinds, strict=True)}
            ),
            tables={
                table: _columns(table, row, self.rows[table])
                for table, row in TABLES.items()
                if self.rows[table]
            },
            redacted=self.redacted,
        )

    def _units(self, splitter: Splitter) -> "pa.Table":
        import pyarrow as pa

        sides = self._sides(splitter)
        # Where all of a record stays, its parts are not asked for; where it does not, all of them are.
        split = {
            record for (record, _, _), (side, _) in zip(self.units, sides, strict=True) if side in HELD_OUT
        }
        rows: list[tuple[object, ...]] = []
        for number, ((record, found, key), told) in enumerate(zip(self.units, sides, strict=True)):
            place: tuple[object, ...] = (number, self.files[number], record)
            if isinstance(found, Refusal):
                body = self.records[record][4] if found.part is None else found.part
                excerpt = body[:EXCERPT].decode(errors="replace").replace("\0", "\ufffd")
                rows.append(
                    (*place, None, *told, False, None, key, found.reason.value, found.detail, excerpt)
                )
            else:
                part = found.part if record in split else None
                about = (found.trace_uid, *told, found.own is not None, part)
                rows.append((*place, *about, None, None, None, None))
        columns = zip(*rows, strict=True) if rows else ([] for _ in _UNIT)
        return pa.table(
            {
                name: pa.array(column, getattr(pa, kind)())
                for (name, kind), column in zip(_UNIT.items(), columns, strict=True)
            }
        )

    def _sides(self, splitter: Splitter) -> list[tuple[str, int]]:
        """The side of each unit, and its weight."""
        known: dict[tuple[str, str], Split] = {}

        def of(namespace: str, conversation: str) -> Split:
            where = (namespace, conversation)
            if where not in known:
                known[where] = splitter.of(*where)
            return known[where]

        said: dict[str, Split] = {}
        for _, one, _ in self.units:
            if isinstance(one, Rows) and one.session is not None:
                side = of(one.namespace, one.session)
                said[one.trace_uid] = max(said.get(one.trace_uid, side), side, key=OUTWARD.index)
        found: list[tuple[str, int]] = []
        for _, one, _ in self.units:
            if isinstance(one, Refusal):
                found.append((Split.TRAIN.value, 0))
                continue
            side = said.get(one.trace_uid) or of(one.namespace, one.native)
            basis = Basis.SESSION if one.trace_uid in said else Basis.TRACE if one.trace else Basis.FEEDBACK
            found.append((side.value, weight(basis, side)))
        return found


_UNIT = {
    "unit": "int64", "file": "int64", "record": "int64", "trace_uid": "string", "side": "string", "weight": "int64",
    "parted": "bool_", "part": "large_binary", "quarantine_uid": "string", "reason": "string", "detail": "string",
    "excerpt": "string",
}  # fmt: skip


def _part(row: NamedTuple) -> str:
    """Name of what a row says."""
    return digest(tuple(row))[:32]


def _columns(table: str, row: type[NamedTuple], found: Mapping[str, tuple[int, NamedTuple]]) -> "pa.Table":
    import pyarrow as pa

    columns: dict[str, pa.Array] = {"unit": pa.array([unit for unit, _ in found.values()], pa.int64())}
    if table != "scores":
        columns["part_uid"] = pa.array(list(found), pa.string())
    values = list(zip(*(one for _, one in found.values()), strict=True))
    for (name, hint), column in zip(get_type_hints(row).items(), values, strict=True):
        columns[name] = pa.array(column, _kind(hint))
    if row is Message:
        # How much a message says, so that nobody has to read it to know.
        messages = [one for _, one in found.values() if isinstance(one, Message)]
        columns["said"] = pa.array([said(one) for one in messages], pa.int64())
        columns["thought"] = pa.array([thought(one) for one in messages], pa.int64())
    return pa.table(columns)


def _kind(hint: object) -> "pa.DataType":
    """The Arrow type of a field."""
    import pyarrow as pa

    if get_origin(hint) in (Union, UnionType):
        hint = next(one for one in get_args(hint) if one is not NoneType)
    if get_origin(hint) is list:
        return pa.list_(pa.string())
    return pa.int64() if hint is int else pa.float64() if hint is float else pa.string()
