"""Traces that go to another side of the held-out split: what said their session came after their first part.

At the end of an ingest each trace whose session gives another side than the one it is on goes there: its rows are
removed from the tables or loaded, its text goes from raw text to held-out text or back, as if the session had been
known at once. A trace that a night may have read does not go to gate or vault: it stays, and that is told
(`split_moves`).

The decision is one transaction, in which rows that must not be seen any more are removed. Then text is moved file by
file, first written where it goes, then removed where it was, and then its rows are loaded. Each step is done again
without harm, so that after a kill the next ingest goes on. The snapshot is remade without the rows; bytes of them
may stay in the store's file until it is written anew, where no query reads them.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rsi import faults
from rsi.ports import Clock
from rsi.records import Origin
from rsi.settings import Home
from rsi.store.database import store_batch
from rsi.store.intact import fixed
from rsi.store.ledger import Ledger
from rsi.store.snapshot import refresh
from rsi.store.statements import named
from rsi.traces.arrays import TABLES
from rsi.traces.batch import Input, Rules
from rsi.traces.load import load
from rsi.traces.raw import heldout_path, one_line, raw_path
from rsi.traces.reading import batches, chunks
from rsi.traces.split import HELD_OUT
from rsi.traces.texts import Hits, Kind, RawRow, Source, raw_rows, rewrite, rewriting, told
from rsi.traces.values import Piece

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

WHO = "move"
WAIT_S = 300.0
_QUERIES = named(Path(__file__).with_suffix(".sql"))


class Moved(NamedTuple):
    """What became of traces whose session gives another side."""

    moved: int = 0
    stayed: int = 0
    """A night may have read them."""


class _Text(NamedTuple):
    """A text in the wrong place."""

    file_id: str
    uri: str | None
    namespace: str | None
    trace_uid: str
    line: int
    byte_offset: int
    place: str
    goes: str
    origin: str | None
    whole: bool


def unsettled(connection: "DuckDBPyConnection") -> bool:
    """Whether a trace is on another side than the one it belongs to, or on its way."""
    return bool(connection.execute(_QUERIES["unsettled"]).fetchall()[0][0])


def behind(connection: "DuckDBPyConnection") -> None:
    """Let `settle` fetch what lies in raw text of traces that are held out."""
    connection.execute(_QUERIES["behind"])


def settle(home: Home, clock: Clock, rules: Rules, who: str = WHO) -> Moved:
    """Move what has to be moved; after a kill, what is left of it. `who` may hold `rewriting` already.

    Raises:
        BusyError: kept text is being rewritten, or the store lock is held, by somebody else.
    """
    with store_batch(home, clock, WHO) as connection:
        if not unsettled(connection):
            return Moved()
    with rewriting(home, clock, who, WAIT_S):
        with store_batch(home, clock, WHO) as connection:
            done = _decided(connection, home, clock)
        faults.point("move.after_decision")
        with store_batch(home, clock, WHO) as connection:
            texts = [_Text(*row) for row in connection.execute(_QUERIES["texts"]).fetchall()]
        for _, ones in groupby(texts, lambda one: one.file_id):
            _File(home, clock, rules, list(ones)).move()
        with store_batch(home, clock, WHO) as connection:
            ((held_out,),) = connection.execute(_QUERIES["held_out"]).fetchall()
        if held_out and home.snapshot.exists():
            refresh(home, clock)
        with store_batch(home, clock, WHO) as connection:
            connection.execute(_QUERIES["finish"])
    return done


def _decided(connection: "DuckDBPyConnection", home: Home, clock: Clock) -> Moved:
    taken = fixed(Ledger(home.ledger, clock).records())
    connection.execute(_QUERIES["wanted"], {"fixed": taken})
    at = clock.now().astimezone(UTC).replace(tzinfo=None)
    connection.execute(_QUERIES["tell"], {"at": at})
    for name in ("turn", "turn_parts", "begin"):
        connection.execute(_QUERIES[name])
    for table in TABLES:
        connection.execute(_QUERIES["rows"].format(table=table))
    ((moved, stayed),) = connection.execute(_QUERIES["counts"]).fetchall()
    return Moved(moved, stayed)


class _File:
    """Texts of one input that lie in the wrong place."""

    def __init__(self, home: Home, clock: Clock, rules: Rules, texts: Sequence[_Text]) -> None:
        self._home, self._clock, self._rules, self._texts = home, clock, rules, texts
        first = texts[0]
        origin = Origin(first.origin) if first.origin else None
        source = Input(0, first.uri or "", first.file_id, first.namespace or "", origin)
        raw = Source(raw_path(home, source.file_id), Kind.RAW, source)
        self._sources = {Kind.RAW.value: raw}
        for number, split in enumerate(HELD_OUT, 1):
            path = heldout_path(home, split, source.file_id)
            self._sources[split.value] = Source(path, Kind.HELDOUT, source._replace(number=number))

    def move(self) -> None:
        """Write, remove, load; a text that is not where it was has been moved before a kill."""
        hits = {place: self._hits(place) for place in self._sources}
        for place, texts in self._moved(hits).items():
            source = self._sources[place]
            # Some may be there already.
            rewrite(source.path, source.kind, {row.body: () for row in texts}, texts)
        faults.point("move.after_copy")
        for place, mine in hits.items():
            gone, source = self._leaving(place), self._sources[place]
            if mine:
                rewrite(source.path, source.kind, {body: hit.without(gone) for body, hit in mine.items()})
        faults.point("move.after_removal")
        self._load()
        facts = {"file_id": self._texts[0].file_id, "uids": sorted({one.trace_uid for one in self._texts})}
        with store_batch(self._home, self._clock, WHO) as connection:
            connection.execute(_QUERIES["lies"], facts)
        faults.point("move.after_load")

    def _leaving(self, place: str) -> dict[str, list[_Text]]:
        """By trace, what has to go from a place, in order."""
        found: dict[str, list[_Text]] = {}
        for one in self._texts:
            if one.place == place:
                found.setdefault(one.trace_uid, []).append(one)
        return found

    def _hits(self, place: str) -> Hits:
        """The records in a place of which something has to go."""
        source, leaving = self._sources[place], self._leaving(place)
        if not (leaving and source.path.exists()):
            return {}
        offsets = {one.byte_offset for ones in leaving.values() for one in ones}
        return told([source], self._rules, leaving, offsets=offsets).get(source.input.number, {})

    def _moved(self, hits: Mapping[str, Hits]) -> Mapping[str, list[RawRow]]:
        """By the place where they go, the texts that still lie where they were."""
        found: dict[str, list[RawRow]] = {}
        for place, mine in hits.items():
            # Records of a trace stand in the order of their places, whatever stands between them.
            leaving = {trace_uid: deque(ones) for trace_uid, ones in self._leaving(place).items()}
            for _, body in sorted((offset, body) for body, hit in mine.items() for offset in hit.offsets):
                for trace_uid, text in mine[body].texts:
                    ones = leaving.get(trace_uid)
                    if ones:
                        one = ones.popleft() if len(ones) > 1 else ones[0]
                        row = RawRow(one.line, one.byte_offset, one_line(text), one.whole)
                        found.setdefault(one.goes, []).append(row)
        return found

    def _load(self) -> None:
        offsets = {one.byte_offset for one in self._texts if one.goes == Kind.RAW.value}
        for _, batch in batches(chunks(self._pieces(offsets)), self._rules, 0):
            with store_batch(self._home, self._clock, WHO) as connection:
                load(connection, self._clock, batch)

    def _pieces(self, offsets: set[int]) -> Iterator[tuple[Input, Piece]]:
        source = self._sources[Kind.RAW.value]
        for row in raw_rows(source.path, offsets) if offsets else ():
            yield source.input, Piece(row.line, row.byte_offset, row.body)
