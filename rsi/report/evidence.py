"""What a card and a report are made from: the verdict, counts by suite, and what led to the candidate.

Counts only. No text, answer or id of a held-out item has a field here, so none can reach a page; examples are of traces
that lie on the dev side of the split.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from rsi.prices import Prices
from rsi.record import Record
from rsi.records import BankManifest, FailureMode, Modes, OutcomeKind, Ticket, Verdict
from rsi.statistics.intervals import Interval

MetricsRow = Mapping[str, float]
"""One step of training: at least `step` and `reward`."""


class Count(NamedTuple):
    """Right answers of both versions in one group of items."""

    name: str
    n: int
    before: int
    """Right with the champion."""
    after: int
    """Right with the candidate."""

    def shares(self) -> tuple[float, float]:
        """Accuracy before and after; 0 where there is no item."""
        return (self.before / self.n, self.after / self.n) if self.n else (0.0, 0.0)


class Baseline(NamedTuple):
    """A classifier without a language model, trained on the same bank."""

    name: str
    accuracy: float
    """On the target suite."""
    texts: int
    """It was trained on so many."""
    by_label: dict[str, float]


class Example(NamedTuple):
    """A request of the dev side, answered by both versions."""

    request: str
    expected: str
    """The role that is right."""
    before: str
    """The role that the champion chose."""
    after: str


class DevScore(NamedTuple):
    """What may be told of right answers on the dev side: the best so far, in whole steps (the Ladder)."""

    items: int
    step: float
    best: float
    """Of this candidate or one before it."""
    risen: bool
    """Whether this candidate beat the best before it by a step; of one that did not, nothing is told."""


class Gap(NamedTuple):
    """Dev against gate, of failures of the champion that the candidate mends."""

    beyond: bool
    """Whether it mends more of them on dev than at the gate, and by more than chance explains."""
    mended: int
    """At the gate."""
    failed: int
    """So many were there."""


class Agreement(NamedTuple):
    """A model that judges beside people, on answers that people marked."""

    by: str
    """The judge's name."""
    right: int
    """Answers that people call right."""
    wrong: int
    """Answers that they call wrong."""
    said_right: int
    """Of the right ones, so many the judge calls right."""
    said_wrong: int
    """Of the wrong ones, so many it calls wrong."""
    undecided: int
    """Of all of them, so many it gives no verdict on."""

    @property
    def n(self) -> int:
        """Marked answers."""
        return self.right + self.wrong

    @property
    def agreed(self) -> int:
        """On so many it says what people say."""
        return self.said_right + self.said_wrong

    @property
    def share(self) -> float:
        """Of all marked answers."""
        return self.agreed / self.n


class Took(Record):
    """What answers of one version took."""

    answers: int
    seconds: float
    """Of the engine; questions that were asked together share its time."""
    read: int | None
    """Tokens; null where the engine does not tell those of every answer."""
    written: int | None
    """The same."""

    def usd(self, prices: Prices) -> float | None:
        """What they cost in US dollars; None where price or tokens are not known."""
        return prices.of(self.seconds, self.read, self.written)

    @classmethod
    def together(cls, parts: Sequence["Took"]) -> "Took":
        """The sum."""
        return cls(
            answers=sum(one.answers for one in parts),
            seconds=round(sum(one.seconds for one in parts), 6),
            read=_sum([one.read for one in parts]),
            written=_sum([one.written for one in parts]),
        )


def _sum(told: Sequence[int | None]) -> int | None:
    known = [one for one in told if one is not None]
    return sum(known) if known and len(known) == len(told) else None


Arms = tuple[Took, Took]
"""Champion and candidate."""


class LevelCount(NamedTuple):
    """One level of a suite that is played."""

    total: Count
    interval: Interval
    """95%, of the difference of accuracies, candidate minus champion."""


class Part(StrEnum):
    """What a suite decides."""

    TARGET = "target"
    """A gain is wanted."""
    GUARD = "guard"
    """No loss of the margin may be."""
    ZERO_TOLERANCE = "zero tolerance"
    """Nothing may be wrong."""


@dataclass(frozen=True)
class SuiteTable:
    """One suite in counts."""

    suite: str
    part: Part
    total: Count
    wins: int
    """Right with the candidate alone."""
    losses: int
    """Right with the champion alone."""
    interval: Interval
    """95% interval of the difference of accuracies, candidate minus champion."""
    margin: float | None
    """Loss that is too much, on a guard."""
    by_label: tuple[Count, ...]
    """Empty where the expected answer is no label."""
    by_source: tuple[Count, ...]
    by_hardness: tuple[Count, ...]
    outcomes: Mapping[str, Mapping[OutcomeKind, int]]
    """champion and candidate -> how many answers ended in each way."""
    took: Arms | None = None
    """What their answers took; null where nobody measured."""
    by_level: tuple[LevelCount, ...] = ()
    """Empty where items have no level."""

    @property
    def difference(self) -> float:
        """Accuracy of the candidate minus that of the champion."""
        before, after = self.total.shares()
        return after - before


@dataclass(frozen=True)
class Evidence:
    """All that a person is shown before they decide."""

    verdict: Verdict
    tables: tuple[SuiteTable, ...]
    """Target first, then the guards."""
    changes: tuple[str, ...]
    """What differs between the two versions, a line each."""
    baseline: Baseline | None = None
    modes: Modes | None = None
    bank: BankManifest | None = None
    metrics: tuple[MetricsRow, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    """Role -> the word the router says for it."""
    examples: tuple[Example, ...] = ()
    """Losses first."""
    dev: DevScore | None = None
    gap: Gap | None = None
    agreement: Agreement | None = None
    """Null where no model judges, or nobody marked answers."""
    spent: str = ""
    """What an answer takes, before and after, in words; empty where nobody measured."""
    prices: Prices = field(default_factory=Prices)
    """What answers cost."""

    @property
    def target(self) -> SuiteTable:
        """The suite that decides on the gain."""
        return self.tables[0]

    @property
    def expected_fixed(self) -> tuple[tuple[FailureMode, int], ...]:
        """Failure modes, not fixed yet, that the bank trained on, most important first; with their number of tasks."""
        if self.modes is None or self.bank is None:
            return ()
        covered = self.bank.by_mode
        open_ones = (mode for mode in self.modes.modes if mode.trainable)
        return tuple((mode, covered[mode.mode_id]) for mode in open_ones if covered.get(mode.mode_id))

    @property
    def tickets(self) -> tuple[Ticket, ...]:
        """The night's failures that no training takes away."""
        return self.modes.tickets if self.modes is not None else ()
