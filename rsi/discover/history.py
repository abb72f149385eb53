"""A failure mode over versions and nights: counts by cell, and whether it is new, ongoing, fixed or regressed.

A cell is one version in the traces that one night was the first to read: traces fall to nights by the batch that
brought them, and late scores count where their trace is. The 30 newest nights are kept apart; what came before
them counts as of the oldest.

The mode is judged by its *subject*: the version in service or, where no trace of that had the chance, the version
with most chances in the newest night that had any (traces of other systems name versions of their own, or none).
*Now* is the newest of the subject's nights, with as many nights before it as are needed for at least five chances
and five hits at the highest rate known of the mode.

- **fixed**: now is at most half the rate of a reference and lower by Fisher's exact test (one-sided, 2% divided by
  the number of references). References are the other versions with at least five chances, the first and the four
  newest of them (so that slow repair is seen as well), and the subject's own nights before now.
- **regressed**: it was fixed, and now is at least twice the rate, and higher by the same test at 2%, of the traces
  that showed it fixed. For the night that sees it; after that it is ongoing, and can be fixed again.
- **new** in the first night that sees it, else **ongoing**. Without evidence a mode stays what it was: a version
  that nobody has used yet neither fixes nor breaks anything.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rsi.mode_parts import Cell, Fix, Reach
from rsi.records import FailureMode, ModeStatus
from rsi.statistics.unpaired import fisher_less

ENOUGH = 5
"""Chances from which a rate is compared."""
KEPT = 30
"""Nights that are told apart."""
_ALPHA = 0.02
_EXPECTED = 5.0
_NEWEST = 4


class Counts(NamedTuple):
    """Traces that show a mode, of those that could."""

    hits: int
    chances: int

    @property
    def rate(self) -> float:
        """hits / chances; 0 of nothing."""
        return self.hits / self.chances if self.chances else 0.0


def nights(before: Sequence[Reach], night: str, ordinal: int) -> tuple[Reach, ...]:
    """The nights that a night tells apart, itself the last."""
    kept = [one for one in before if one.night != night]
    return (*kept, Reach(night, ordinal))[-KEPT:]


def night_of(found: Sequence[Reach], ordinal: int) -> int:
    """Index of the night that was the first to read a batch."""
    return min(bisect_left(found, ordinal, key=lambda one: one.ordinal), len(found) - 1)


def cells(
    hits: Mapping[tuple[str, int], int], chances: Mapping[tuple[str, int], int], found: Sequence[Reach]
) -> tuple[Cell, ...]:
    """Counts by (version, index of the night), oldest night first."""
    places = sorted(chances, key=lambda one: (one[1], one[0]))
    return tuple(
        Cell(version, found[at].night, hits.get((version, at), 0), chances[version, at])
        for version, at in places
    )


def judge(history: Sequence[Cell], known: FailureMode | None, champion: str) -> tuple[ModeStatus, Fix | None]:
    """Where a mode stands, and what showed it fixed last; `history` oldest night first."""
    subject = _subject(history, champion)
    own = [one for one in history if one.version == subject]
    fix = known.fix if known else None
    if known is not None and fix is not None and known.status is ModeStatus.FIXED:
        return (ModeStatus.REGRESSED if _worse(history, own, fix) else ModeStatus.FIXED), fix
    others = _others(history, subject)
    highest = max([pooled(own).rate, fix.was if fix else 0.0, *(one.rate for one in others)])
    now = _newest(own, highest)
    references = [*others, pooled(own[: len(own) - len(now)])]
    references = [one for one in references if one.chances >= ENOUGH]
    beaten = [one for one in references if _less(pooled(now), one, _ALPHA / len(references))]
    if pooled(now).chances >= ENOUGH and beaten:
        was = max(one.rate for one in beaten)
        return ModeStatus.FIXED, Fix(
            version=subject, since=now[0].night, until=now[-1].night, was=round(was, 6)
        )
    return (ModeStatus.NEW if known is None else ModeStatus.ONGOING), fix


def pooled(some: Sequence[Cell]) -> Counts:
    """Cells together."""
    return Counts(sum(one.hits for one in some), sum(one.chances for one in some))


def _subject(history: Sequence[Cell], champion: str) -> str:
    if any(one.version == champion and one.chances for one in history):
        return champion
    seen = [one for one in history if one.chances]
    newest = [one for one in seen if one.night == seen[-1].night]
    return max(newest, key=lambda one: (one.chances, one.version)).version if newest else champion


def _others(history: Sequence[Cell], subject: str) -> list[Counts]:
    """The first and the newest other versions, each over all its nights."""
    last = {one.version: at for at, one in enumerate(history) if one.version != subject and one.chances}
    newest = sorted(last, key=lambda version: -last[version])
    found = [pooled([one for one in history if one.version == version]) for version in newest]
    found = [one for one in found if one.chances >= ENOUGH]
    return [*found[:_NEWEST], *found[_NEWEST:][-1:]]


def _newest(own: Sequence[Cell], rate: float) -> list[Cell]:
    """The newest cells that can tell a rate from none; all where they cannot."""
    taken: list[Cell] = []
    for one in reversed(own):
        chances = pooled(taken).chances
        if chances >= ENOUGH and chances * rate >= _EXPECTED:
            break
        taken.insert(0, one)
    return taken


def _worse(history: Sequence[Cell], own: Sequence[Cell], fix: Fix) -> bool:
    # Nights have ids that sort by date, but not their second runs: places in the history do.
    nights = list(dict.fromkeys(one.night for one in history))
    places = {night: at for at, night in enumerate(nights)}
    since, until = places.get(fix.since, 0), places.get(fix.until, 0)
    good = [one for one in history if one.version == fix.version and since <= places[one.night] <= until]
    after = [one for one in own if one.version != fix.version or places[one.night] > until]
    return _less(pooled(good), pooled(_newest(after, fix.was)), _ALPHA)


def _less(low: Counts, high: Counts, alpha: float) -> bool:
    halved = 2 * low.hits * high.chances <= high.hits * low.chances
    return halved and fisher_less(low.hits, low.chances, high.hits, high.chances) <= alpha
