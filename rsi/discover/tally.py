"""Counting: which traces show which mode, and which had the chance. Facts in, counts out, in any order."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rsi.discover.facts import TraceFacts
from rsi.discover.history import night_of
from rsi.discover.labels import Codebook
from rsi.discover.places import Place
from rsi.discover.signals import Chance, Sign, Signals
from rsi.discover.signs import WEAK
from rsi.ids import digest
from rsi.mode_parts import Reach
from rsi.records import Blame, Evidence

Hits = Counter[tuple[str, int]]
"""Traces by (version, index of the night that read them first)."""
_ALONE = Place()
_UNSURE = {"fail": 2, "unknown": 1, "pass": 0}
"""Severity in halves, so that sums do not depend on their order."""


class Member(NamedTuple):
    """A trace that shows a mode."""

    trace_uid: str
    version: str
    night: int
    outcome: str
    start_ns: int
    """0 where unknown."""
    route: str | None
    explained: bool
    """Whether the trace shows a sign that says what went wrong."""
    blame: Blame
    evidence: Evidence | None


@dataclass(frozen=True)
class Tally:
    """One mode with its traces."""

    signs: frozenset[Sign]
    """All that count here."""
    members: tuple[Member, ...]

    @property
    def by_cell(self) -> Hits:
        """Traces by version and night."""
        return Counter((one.version, one.night) for one in self.members)

    @property
    def severity_halves(self) -> int:
        """Two for a failed trace, one for one that nobody judged."""
        return sum(_UNSURE[one.outcome] for one in self.members)

    @property
    def weighed(self) -> int:
        """Traces that count for the rank: of a mode that says only that something went wrong, the unexplained."""
        if any(sign.kind not in WEAK for sign in self.signs):
            return len(self.members)
        return sum(not one.explained for one in self.members)

    @property
    def blame(self) -> Blame:
        """Of most traces; of equals the first in the order of `Blame`."""
        votes = Counter(one.blame for one in self.members)
        return max(Blame, key=lambda one: votes[one])

    def newest(self, most: int) -> tuple[Member, ...]:
        """Failed ones before others, the newest of them first."""
        order = sorted(self.members, key=lambda one: (one.outcome != "fail", -one.start_ns, one.trace_uid))
        return tuple(order[:most])


@dataclass
class _Open:
    signs: set[Sign] = field(default_factory=set)
    members: list[Member] = field(default_factory=list)


class Count:
    """All modes, counting."""

    def __init__(self, nights: Sequence[Reach], places: Mapping[str, Place], codebook: Codebook) -> None:
        self.traces = self.failures = 0
        self._nights, self._places, self._codebook = nights, places, codebook
        self._ids: dict[Sign, str] = {}
        self._open: dict[str, _Open] = {}
        self._chances: dict[Chance, Hits] = {}
        self._joined: dict[str, Hits] = {mode: Counter() for mode in codebook.chances}

    def add(self, facts: TraceFacts, found: Signals) -> None:
        """One trace."""
        night = night_of(self._nights, self._places.get(facts.trace_uid, _ALONE).ordinal)
        self.traces += 1
        self.failures += bool(found.signs)
        by_mode: dict[str, list[Sign]] = {}
        for sign in found.signs:
            by_mode.setdefault(self._id(sign), []).append(sign)
        explained = any(sign.kind not in WEAK for sign in found.signs)
        for mode, signs in by_mode.items():
            told = self._open.setdefault(mode, _Open())
            told.signs.update(signs)
            told.members.append(_member(facts, night, min(signs), explained))
        cell = (facts.version, night)
        for chance in found.chances:
            self._chances.setdefault(chance, Counter())[cell] += 1
        for mode, joined in self._joined.items():
            if any((one.what, one.subject) in self._codebook.chances[mode] for one in found.chances):
                joined[cell] += 1

    def tallies(self) -> dict[str, Tally]:
        """By mode id, members in the order of their ids."""
        return {
            mode: Tally(frozenset(one.signs), tuple(sorted(one.members, key=lambda each: each.trace_uid)))
            for mode, one in sorted(self._open.items())
        }

    def chances(self, mode: str, signs: frozenset[Sign]) -> Hits:
        """Traces that had the chance to show a mode: any of the chances where modes were merged."""
        return self._joined[mode] if mode in self._joined else self._chances[min(signs).chance]

    def _id(self, sign: Sign) -> str:
        if sign not in self._ids:
            self._ids[sign] = self._codebook.home_of(mode_id(sign.signature))
        return self._ids[sign]


def mode_id(signature: str) -> str:
    """`m-` and 10 hex digits."""
    return f"m-{digest(signature)[:10]}"


def _member(facts: TraceFacts, night: int, sign: Sign, explained: bool) -> Member:
    return Member(
        trace_uid=facts.trace_uid,
        version=facts.version,
        night=night,
        outcome=facts.outcome,
        start_ns=facts.start_ns or 0,
        route=facts.route,
        explained=explained,
        blame=sign.blame,
        evidence=sign.evidence[0] if sign.evidence else None,
    )
