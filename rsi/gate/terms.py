"""Tables of a contract that say how much may be asked, how sharp the question must be, and how noise is told.

Each may be left out; then the contract makes no such demand, and its digest is what it would be without these.
"""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from rsi.records import Record
from rsi.statistics import spending

Share = Annotated[float, Field(ge=0, le=1)]
Level = Annotated[float, Field(gt=0, lt=0.5)]


class Items(StrEnum):
    """Whether the target's items are asked once or again and again."""

    FRESH = "fresh"
    """New ones for every question: a generator with a secret seed, or a pool that is drawn from once."""
    REUSED = "reused"
    """The same each night; nothing but pass or not may reach whoever makes candidates."""


class Spending(StrEnum):
    """How the error is shared out over questions on fresh items."""

    EVEN = "even"
    HARMONIC = "harmonic"


class Correction(StrEnum):
    """What is done about there being several guards."""

    NONE = "none"
    """Each at its own level: enough to bound how often a bad candidate passes, for all of them have to."""
    HOLM = "holm"
    """Every "not worse" may be quoted alone: all of them together err at most at the level."""


class Budget(Record):
    """How often the target suite may be asked, and the error that all its questions may cost together.

    Under a budget the test of the gain is the exact one: a sum of levels that are kept only about is no promise.
    """

    items: Items
    alpha: Level = 0.05
    """Chance, over all questions, that a candidate passes that is not better."""
    questions: int = Field(ge=1, le=10_000)
    """Candidates that may be put to the suite; then it is retired."""
    accepts: int | None = Field(None, ge=1, le=100)
    """Passes after which reused items are retired; fresh ones need no such bound."""
    spending: Spending = Spending.EVEN
    """For fresh items."""
    starts: int = Field(3, ge=1, le=100)
    """Times that one question may be begun: after a crash it is begun again, and that counts."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        reused = self.items is Items.REUSED
        if reused != (self.accepts is not None):
            raise ValueError("accepts belongs to reused items, and only to them")
        if reused and self.spending is not Spending.EVEN:
            raise ValueError("spending is for fresh items; on reused ones every question costs the same")
        if self.accepts is not None and self.accepts > self.questions:
            raise ValueError(f"accepts {self.accepts} is more than questions {self.questions}")
        return self

    def level(self, question: int) -> float:
        """What the question with that number, counted from 1, may spend."""
        if self.accepts is not None:
            return spending.reused(self.alpha, self.questions, self.accepts)
        if self.spending is Spending.HARMONIC:
            return spending.harmonic(self.alpha, question)
        return spending.even(self.alpha, self.questions, question)


class Power(Record):
    """How sharp the question must be before it is put."""

    effect: float = Field(gt=0, lt=1)
    """The least gain that must not be missed, as a share of items."""
    discordance: float = Field(0.2, gt=0, le=1)
    """Share of the target's items on which two versions are expected to differ."""
    guard_discordance: float = Field(0.2, gt=0, le=1)
    """The same on guards, where nothing should change much."""
    power: float = Field(0.8, gt=0.5, lt=1)
    """How often such a gain has to be found, and an equal candidate to be cleared on every guard."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.effect > self.discordance:
            raise ValueError(
                f"effect {self.effect} is more than discordance {self.discordance}: no gain is larger than that"
            )
        return self


class Noise(Record):
    """The champion against itself: what differs when nothing does."""

    items: int = Field(ge=20, le=10_000)
    """Items of the target that the champion answers once more, the first in the order of the question."""
    max_flips: Share = 0.1
    """Share of them whose result may change; more cannot tell."""


class Order(Record):
    """The target is asked item by item in an order that the question's seed fixes, until the answer is known."""

    effect: float = Field(gt=0, lt=1)
    """The gain that must not be missed."""
    beta: float = Field(0.1, gt=0, lt=0.5)
    """How often a candidate with such a gain may be stopped for want of it."""
    look_every: int = Field(32, ge=8, le=10_000)
    """Items between two looks."""


class Levels(Record):
    """No level of a target that is played may be worse by the margin or more, however much the others gain."""

    min_items: int = Field(ge=1)
    """Fewer items of a level than this cannot tell."""
    margin: float = Field(gt=0, lt=1)
    """Loss of accuracy that is already too much, as a share of a level's items."""
    alpha: Level = 0.05
    """Level of the one-sided non-inferiority test, for each: all of them have to pass."""


class JudgeRule(Record):
    """What a judge must be for its verdicts to count, where a model judges."""

    by: str | None = Field(None, min_length=1)
    """Its name: model and digest of its prompt, as ``rsi doctor`` and reports say it; another one is refused."""
    min_marked: int = Field(ge=1)
    """Fewer answers than this that people marked as right, or as wrong, cannot tell."""
    agreement: Share = 0.8
    """Share of the right ones, and of the wrong ones, on which the judge has to say what people say; a verdict that
    turns with the order agrees with nobody."""


class Hygiene(Record):
    """How answers in words are given must not drift, whatever a verifier says of them.

    Of the answers that the contract's suites ask for anyway, suite by suite, the candidate's beside the champion's, and
    on guards beside the anchor's.
    """

    min_items: int = Field(ge=2)
    """Fewer items of a suite that stand alone than this cannot tell."""
    margin: float = Field(0.05, gt=0, lt=1)
    """Share of answers that must not begin to refuse, to repeat themselves, or to come in another language; each for
    itself."""
    longer: float = Field(1.5, gt=1, le=100)
    """So many times as long, or so many times shorter, must answers on average not become."""
    alpha: Level = 0.05
    """Level of each one-sided test: all of them have to pass. That of the length keeps it about, by drawing again;
    where a few long answers make most of it, it errs more often."""


class Worse(StrEnum):
    """What happens when a version fails more than the one before it did."""

    PROPOSE = "propose"
    """A person is asked whether the version before comes back."""
    PERFORM = "perform"
    """It comes back at once; the record names the contract as the actor."""


class Unjudged(StrEnum):
    """What a conversation counts as that nobody judged."""

    LEFT_OUT = "left_out"
    PASSED = "passed"
    """For deployments where people speak up about failures only."""


class Watch(Record):
    """Live failures of a version after its promotion, against those of the version before it."""

    alpha: Level = 0.05
    """How often a version that fails no more is called worse, over all looks together."""
    looks: int = Field(10, ge=1, le=1000)
    """Looks that alpha is shared out over evenly; afterwards the version is watched no longer."""
    min_conversations: int = Field(50, ge=10, le=1_000_000)
    """Counted conversations of each version without which nothing is said, and new ones between two looks."""
    rise: float = Field(0.02, ge=0, lt=1)
    """Least rise of the share of failed conversations that counts."""
    days: float = Field(28, gt=0, le=3650)
    """How far back before the promotion the version before is looked at."""
    worse: Worse = Worse.PROPOSE
    unjudged: Unjudged = Unjudged.LEFT_OUT
