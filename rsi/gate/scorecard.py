"""Per-item results of one evaluation, and the counts made from them."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import NamedTuple

from pydantic import Field

from rsi.gate.contract import Contract
from rsi.gate.levels import by_level
from rsi.gate.suites import Hop
from rsi.records import ItemResult, Outcome, OutcomeKind, Record
from rsi.report.evidence import Arms, Count, LevelCount, Part, SuiteTable
from rsi.statistics.clusters import clustered_difference
from rsi.statistics.intervals import Interval, paired_difference

EVERYTHING = Interval(-1.0, 1.0)
MISSING = (OutcomeKind.ERROR, OutcomeKind.INVALID)
"""Outcomes that say nothing about the version. Empty and wrong format are answers, and wrong."""


class Asked(Record):
    """One suite as it was asked."""

    suite: str
    pin: str
    """Digest of the suite."""
    hop: Hop
    items: int


class Scorecard(Record):
    """Both versions on the same items; its digest names the evidence of a verdict."""

    contract_digest: str
    champion: str
    candidate: str
    asked: tuple[Asked, ...]
    """Target first, then the guards."""
    results: tuple[ItemResult, ...]
    """In the order of `asked` and of the items."""
    anchor: str | None = None
    """Digest of the fixed version, where the contract names one."""
    anchor_results: tuple[ItemResult, ...] = ()
    """Guards once more, with the anchor in the champion's place; empty where the anchor is the champion."""
    took: dict[str, Arms] = Field(default_factory=dict, exclude=True)
    """Suite -> what its answers took. Not written and not in the digest: time is another one in every run."""

    def of(self, suite: str) -> tuple[ItemResult, ...]:
        """Results of one suite."""
        return tuple(result for result in self.results if result.suite == suite)

    def anchor_of(self, suite: str) -> tuple[ItemResult, ...]:
        """Results of one suite against the anchor."""
        if self.anchor == self.champion:
            return self.of(suite)
        return tuple(result for result in self.anchor_results if result.suite == suite)


class Assume(StrEnum):
    """What is taken for an answer that is missing."""

    AGAINST = "against"
    """The champion right, the candidate wrong."""
    FOR = "for"
    """The champion wrong, the candidate right."""


def right(outcome: Outcome, missing: bool) -> bool:
    """Whether an answer counts as right: a full score, or `missing` where there is no evidence."""
    if outcome.kind in MISSING:
        return missing
    return outcome.score == 1.0


def pair(result: ItemResult, assume: Assume = Assume.AGAINST) -> tuple[bool, bool]:
    """(champion right, candidate right)."""
    candidate = assume is Assume.FOR
    return right(result.champion, not candidate), right(result.candidate, candidate)


def count(name: str, results: Iterable[ItemResult], assume: Assume = Assume.AGAINST) -> Count:
    """Right answers among some results."""
    pairs = [pair(result, assume) for result in results]
    return Count(name, len(pairs), sum(before for before, _ in pairs), sum(after for _, after in pairs))


def groups(
    results: Iterable[ItemResult], key: Callable[[ItemResult], str], assume: Assume = Assume.AGAINST
) -> tuple[Count, ...]:
    """Right answers by group, in the order of the groups' names."""
    found: dict[str, list[ItemResult]] = {}
    for result in results:
        found.setdefault(key(result), []).append(result)
    return tuple(count(name, found[name], assume) for name in sorted(found))


class Paired(NamedTuple):
    """Both versions on the same items, in counts."""

    total: Count
    wins: int
    losses: int
    sums: list[int]
    """Wins minus losses of each cluster."""
    sizes: list[int]
    """Items of each cluster."""

    @property
    def clustered(self) -> bool:
        """Whether some items stand or fall together."""
        return len(self.sizes) < self.total.n

    def interval(self) -> Interval:
        """95% interval of the difference, by cluster where there are clusters; everything where none is."""
        if not self.clustered:
            return paired_difference(self.wins, self.losses, self.total.n) if self.total.n else EVERYTHING
        return clustered_difference(self.sums, self.sizes) if len(self.sizes) > 1 else EVERYTHING


def paired(results: Iterable[ItemResult], assume: Assume = Assume.AGAINST) -> Paired:
    """The counts of some results."""
    return tallied([(one.cluster, *pair(one, assume)) for one in results])


def tallied(pairs: Sequence[tuple[str, bool, bool]]) -> Paired:
    """The counts of what holds of items or not: the cluster of each, before and after."""
    clusters: dict[str, list[int]] = {}
    for cluster, before, after in pairs:
        clusters.setdefault(cluster, []).append(after - before)
    steps = [step for cluster in clusters.values() for step in cluster]
    return Paired(
        Count("all", len(pairs), sum(before for _, before, _ in pairs), sum(after for *_, after in pairs)),
        steps.count(1),
        steps.count(-1),
        [sum(cluster) for cluster in clusters.values()],
        [len(cluster) for cluster in clusters.values()],
    )


def hardness(result: ItemResult) -> str:
    """The group of an item by hardness."""
    return "hard" if result.hard else "easy"


def outcomes(results: Iterable[ItemResult]) -> dict[str, dict[OutcomeKind, int]]:
    """How many answers of each version ended in each way; every way is named."""
    results = tuple(results)
    ends = {
        "champion": Counter(result.champion.kind for result in results),
        "candidate": Counter(result.candidate.kind for result in results),
    }
    return {version: {kind: ended[kind] for kind in OutcomeKind} for version, ended in ends.items()}


def summary(
    scorecard: Scorecard, contract: Contract, levels: Mapping[str, str] | None = None
) -> tuple[SuiteTable, ...]:
    """The scorecard in counts, suite by suite: all of it that may leave the gate.

    Args:
        levels: item -> its level, of items that have one.
    """
    margins = {guard.suite: guard.margin for guard in contract.guards}
    never = {one.suite for one in contract.zero_tolerance}
    return tuple(
        replace(
            _table(asked, scorecard.of(asked.suite), margins.get(asked.suite), asked.suite in never),
            took=scorecard.took.get(asked.suite),
            by_level=_by_level(scorecard.of(asked.suite), levels or {}),
        )
        for asked in scorecard.asked
    )


def _by_level(results: Iterable[ItemResult], levels: Mapping[str, str]) -> tuple[LevelCount, ...]:
    parts = by_level(results, levels)
    return tuple(LevelCount(count(name, part), paired(part).interval()) for name, part in parts.items())


def _table(asked: Asked, results: tuple[ItemResult, ...], margin: float | None, never: bool) -> SuiteTable:
    seen = paired(results)
    labelled = asked.hop == "route"
    return SuiteTable(
        suite=asked.suite,
        part=Part.ZERO_TOLERANCE if never else Part.TARGET if margin is None else Part.GUARD,
        total=seen.total,
        wins=seen.wins,
        losses=seen.losses,
        interval=seen.interval(),
        margin=margin,
        by_label=groups(results, lambda result: result.expected) if labelled else (),
        by_source=groups(results, lambda result: result.source),
        by_hardness=groups(results, hardness),
        outcomes=outcomes(results),
    )
