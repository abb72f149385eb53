"""Failure modes: signs of all traces, grouped by signature, counted, followed over nights, and ranked.

rate = traces that show the mode / traces that had the chance, with its 95% Wilson interval. The status is explained
in `rsi.discover.history`, the rank in `rsi.discover.rank`, topics within a mode in `rsi.discover.topics`. The same
traces give the same modes, in whatever order they come.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from rsi.discover import history, rank
from rsi.discover.facts import TraceFacts, read_facts
from rsi.discover.labels import NONE, Codebook
from rsi.discover.places import Place, read_places, read_texts
from rsi.discover.signals import signals
from rsi.discover.tally import Count, Hits, Tally, mode_id
from rsi.discover.titles import about, title
from rsi.discover.topics import LEAST, NOTHING, Found, sampled, topics
from rsi.discover.window import observe
from rsi.mode_parts import Cell, Reach, Topic, Unseen
from rsi.records import FailureMode, Modes, Origin
from rsi.statistics.intervals import wilson
from rsi.statistics.unseen import coverage

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

EXAMPLES = 5
READ_MODES = 40
"""Modes whose texts are read for topics: those with most traces."""

Texts = Callable[[Collection[str]], Mapping[str, str]]
"""What was asked in some traces, of those that say it."""


class Mined(NamedTuple):
    """What a night found."""

    modes: Modes
    members: Mapping[str, tuple[str, ...]]
    """Mode -> all traces that show it."""


class Before(NamedTuple):
    """What a night knows when it begins."""

    night: str
    champion: str
    """Digest of the version in service."""
    until: int = 0
    """The last ingested batch that it reads."""
    previous: Modes | None = None
    codebook: Codebook = NONE


def discover(connection: "DuckDBPyConnection", origins: Sequence[Origin], before: Before) -> Mined:
    """The modes in the traces of some origins up to a batch, most important first; `connection` reads the store."""
    places = read_places(connection, origins, before.until)
    traces = read_facts(connection, origins, before.until)
    return mine(traces, before, places, lambda wanted: read_texts(connection, before.until, wanted))


def mine(
    traces: Iterable[TraceFacts],
    before: Before,
    places: Mapping[str, Place] | None = None,
    texts: Texts = lambda wanted: {},
) -> Mined:
    """The modes of some traces."""
    return _Night(before, places or {}, texts).mined(traces)


class _Part(NamedTuple):
    """What becomes a mode: a signature's traces, or those of one of its topics."""

    mode_id: str
    signature: str
    title: str
    tally: Tally
    topics: tuple[Topic, ...]


class _Night:
    """One night's mining."""

    def __init__(self, before: Before, places: Mapping[str, Place], texts: Texts) -> None:
        self._before, self._places, self._texts = before, places, texts
        self._book = before.codebook
        self._previous = before.previous.modes if before.previous else ()
        earlier = before.previous.nights if before.previous else ()
        self._nights: tuple[Reach, ...] = history.nights(earlier, before.night, before.until)
        self._count = Count(self._nights, places, self._book)

    def mined(self, traces: Iterable[TraceFacts]) -> Mined:
        self._read(traces)
        tallies = self._count.tallies()
        by_size = sorted(tallies, key=lambda mode: (-len(tallies[mode].members), mode))
        read = {*by_size[:READ_MODES], *self._book.splits}
        found: list[FailureMode] = []
        members: dict[str, tuple[str, ...]] = {}
        for mode, tally in tallies.items():
            chances = self._count.chances(mode, tally.signs)
            for part in self._parts(mode, tally, mode in read):
                found.append(self._mode(part, mode, chances))
                members[part.mode_id] = tuple(one.trace_uid for one in part.tally.members)
        found.sort(key=lambda one: (-one.priority, -one.count, one.signature))
        ranked = tuple(one.model_copy(update={"rank": place}) for place, one in enumerate(found, 1))
        modes = Modes(
            night=self._before.night,
            traces=self._count.traces,
            failures=self._count.failures,
            modes=ranked,
            nights=self._nights,
            unseen=_unseen(ranked),
            labels=self._book.labels,
        )
        return Mined(modes, members)

    def _read(self, traces: Iterable[TraceFacts]) -> None:
        # What is unusual, and which tools decide, is known when all have been seen.
        kept = list(traces)
        window = observe(kept)
        for facts in kept:
            self._count.add(facts, signals(facts, window))

    def _parts(self, mode: str, tally: Tally, read: bool) -> Iterator[_Part]:
        """A mode, after the topics that a person split off it."""
        own = [sign for sign in tally.signs if mode_id(sign.signature) == mode]
        sign = min(own or tally.signs)
        found = self._topics(mode, sign.signature, tally) if read else NOTHING
        rest = list(tally.members)
        for topic in found.topics:
            if topic.topic_id not in self._book.splits.get(mode, ()):
                continue
            held = [one for one in rest if found.of.get(one.trace_uid) == topic.topic_id]
            rest = [one for one in rest if found.of.get(one.trace_uid) != topic.topic_id]
            signature = f"{sign.signature}#{topic.topic_id}"
            part = replace(tally, members=tuple(held))
            yield _Part(mode_id(signature), signature, about(title(sign), topic.terms), part, (topic,))
        if rest:
            part = replace(tally, members=tuple(rest))
            yield _Part(mode, sign.signature, title(sign), part, found.topics)

    def _topics(self, mode: str, signature: str, tally: Tally) -> Found:
        if len(tally.members) < LEAST:
            return NOTHING
        known = {
            topic.topic_id: topic
            for one in self._previous
            if one.signature.split("#")[0] == signature
            for topic in one.topics
        }
        wanted = sampled([one.trace_uid for one in tally.members])
        return topics(mode, self._texts(wanted), list(known.values()))

    def _mode(self, part: _Part, parent: str, chances: Hits) -> FailureMode:
        tally, name = part.tally, part.mode_id
        known = next((one for one in self._previous if one.mode_id == name), None)
        cells = history.cells(tally.by_cell, chances, self._nights)
        status, fix = history.judge(cells, known, self._before.champion)
        seen, possible = len(tally.members), chances.total()
        interval = wilson(seen, possible)
        wont_fix = self._book.wont_fix.get(name)
        repeated, mixed = self._groups(tally)
        factors = rank.factors(
            traces=self._count.traces,
            count=seen,
            weighed=tally.weighed,
            severity_halves=tally.severity_halves,
            history=cells,
            nights=self._nights,
            champion=self._before.champion,
            repeated=repeated,
            mixed=mixed,
            status=status,
            wont_fix=wont_fix is not None,
        )
        newest = tally.newest(EXAMPLES)
        routes = Counter(one.route for one in tally.members if one.route is not None)
        signatures = {sign.signature for sign in tally.signs} - {part.signature}
        gives = {(sign.chance.what, sign.chance.subject) for sign in tally.signs}
        return FailureMode(
            mode_id=name,
            signature=part.signature,
            kind=part.signature.split(":")[0],
            title=self._book.titles.get(name, part.title),
            titled_by="person" if name in self._book.titles else "template",
            count=seen,
            opportunities=possible,
            rate=seen / possible,
            low=interval.low,
            high=interval.high,
            rank=0,
            priority=rank.priority(factors),
            factors=factors,
            examples=tuple(one.trace_uid for one in newest),
            evidence=tuple(one.evidence for one in newest if one.evidence is not None),
            first_seen=known.first_seen if known else self._before.night,
            status=status,
            by_version=_by_version(cells),
            history=cells,
            fix=fix,
            blame=tally.blame,
            answered_by=dict(sorted(routes.items())),
            signatures=(part.signature, *sorted(signatures)) if part.mode_id == parent else (part.signature,),
            chances=tuple(sorted(self._book.chances.get(parent, gives))),
            topics=part.topics,
            wont_fix=wont_fix,
        )

    def _groups(self, tally: Tally) -> tuple[int, int]:
        """Groups of repeated requests that show a mode, and those of them with mixed outcomes."""
        places = (self._places.get(one.trace_uid) for one in tally.members)
        groups = {
            place.group: place.mixed for place in places if place is not None and place.group is not None
        }
        return len(groups), sum(groups.values())


def _by_version(cells: Sequence[Cell]) -> dict[str, tuple[int, int]]:
    versions = sorted({one.version for one in cells})
    return {version: _pair([one for one in cells if one.version == version]) for version in versions}


def _pair(cells: Sequence[Cell]) -> tuple[int, int]:
    hits, chances = history.pooled(cells)
    return hits, chances


def _unseen(modes: Sequence[FailureMode]) -> Unseen | None:
    if not modes:
        return None
    found = coverage(one.count for one in modes)
    return Unseen(share=found.share, once=found.once, signs=found.total, modes=round(found.kinds, 6))
