"""Questions to the gate as the ledger has them: fixed before the first item is asked, and settled by a certificate.

A record of kind `ask` stands for each time that a question is begun, one of kind `verdict` for what it found, one
of kind `watch` for a look at how a promoted version does in service, one of kind `audit` for a look at the vault.
"""

from collections.abc import Mapping
from enum import StrEnum

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from rsi.record import Record
from rsi.records import Judgement


class Commitment(Record):
    """What is told of items that a secret seed drew, so that whoever holds the key can show that these were asked."""

    key: str
    """Digest of the key."""
    items: str
    """Digest of the items as they were drawn."""


class _Committed(Record):
    """A record that names suites whose items were drawn for it; it keeps its digest where there is none."""

    fresh: dict[str, Commitment] = Field(default_factory=dict)
    """Suite name -> what its items were drawn by; frozen suites are left out."""

    @model_serializer(mode="wrap")
    def _told(self, plain: SerializerFunctionWrapHandler) -> dict[str, object]:
        told: Mapping[str, object] = plain(self)
        return {name: value for name, value in told.items() if name != "fresh" or self.fresh}


class Registration(_Committed):
    """All that decides what a question to the gate means, fixed before the first item is asked."""

    contract: str
    contract_digest: str
    target: str
    """Digest of the target suite, whose items the budget is about."""
    suites: dict[str, str]
    """Suite name -> digest."""
    items: str
    """Digest over the ids of the target's items, sorted."""
    champion: str
    candidate: str
    anchor: str | None

    @property
    def seed(self) -> int:
        """Of everything that is drawn for this question: 32 bits of its digest."""
        return int(self.digest[:8], 16)

    @property
    def family(self) -> str:
        """Name of the target suite without its version."""
        found = next((name for name, pin in self.suites.items() if pin == self.target), "")
        return found.partition("/")[0]

    def same_account(self, other: "Registration", *, fresh: bool) -> bool:
        """Whether two questions are paid for from one budget: that of the same items.

        Where items are `fresh`, each question has its own, and all to versions of one suite share the budget: what is
        bounded is how often a candidate passes that is not better, whichever items say so.
        """
        return self.target == other.target or (fresh and bool(self.family) and self.family == other.family)


class Allowance(Record):
    """What one question may spend, and what was spent before it."""

    question: int
    """Its number on these items, from 1."""
    start: int
    """How often it is begun, this time included."""
    alpha: float
    spent: float
    """By the questions before it."""
    accepts: int
    """Passes before it."""


class Certificate(_Committed):
    """What a verdict rests on and what it cost, in the ledger before anyone is asked."""

    verdict: str
    registration: str
    """Digest of what was fixed beforehand."""
    judgement: Judgement
    contract: str
    contract_digest: str
    suites: dict[str, str]
    """Suite name -> digest."""
    scorecard: str
    champion: str
    candidate: str
    anchor: str | None
    question: int
    """Which one to the target's items it was, from 1."""
    n: int
    """Items of the target with both answers taken into account."""
    b: int
    """Right with the candidate alone."""
    c: int
    """Right with the champion alone."""
    clusters: int
    test: str
    p: float | None
    """One-sided p of the gain; null where nothing was asked, or asking stopped when the answer was known."""
    capital: float | None
    """Natural logarithm of the capital that a bet against no gain would have made; null with clusters."""
    alpha: float
    """What this question spent."""
    spent: float
    """Spent on these items so far, this question included."""
    left: float | None
    """Of the contract's alpha; null where it sets none over nights."""
    questions_left: int | None
    accepts_left: int | None
    """Passes until reused items are retired; null where they are not counted."""
    seed: int


class Bounds(Record):
    """What a contract allows on its target's items, as the record of a question repeats it."""

    questions: int
    starts: int
    accepts: int | None
    alpha: float


class Ask(Record):
    """What the ledger says of a question that is begun: its record's body."""

    registration: Registration
    allowance: Allowance
    bounds: Bounds | None
    """Null where the contract sets no budget."""
    seed: int


class Arm(Record):
    """How one version did in service."""

    version: str
    conversations: int
    counted: int
    """Of them, those that somebody judged, or all of them where the contract counts silence as well."""
    failed: int
    """Of those, the ones in which a trace failed."""

    @property
    def rate(self) -> float:
        """Share of the counted that failed; 0 where none was counted."""
        return self.failed / self.counted if self.counted else 0.0


class Look(Record):
    """One look at the live failures of a promoted version, against those of the version before it."""

    contract: str
    contract_digest: str
    look: int
    """Its number, from 1."""
    looks: int
    """So many are allowed."""
    alpha: float
    """What this look may spend."""
    now: Arm
    """The promoted version, since its promotion."""
    before: Arm
    """The version that it replaced, until then."""
    p: float
    """Of a difference as large, were both equal (Fisher's exact test, one-sided)."""
    low: float
    """Lower end of the 95% interval of the rise of the failure rate."""
    high: float
    """Upper end of it."""
    rise: float
    """Least rise that counts, by the contract."""

    @property
    def worse(self) -> bool:
        """Whether the promoted version fails more: surely enough, and by enough."""
        return self.p <= self.alpha and self.now.rate - self.before.rate >= self.rise


class Gain(Record):
    """Of one version over another on the same items, errors of engine or world left out."""

    won: int
    """Items that only the later one has right."""
    lost: int
    """Items that only the earlier one has right."""
    difference: float
    """Of the shares."""
    low: float
    """Lower end of its 95% interval, Tango's."""
    high: float
    """Upper end of it."""


class Point(Record):
    """One version on the vault of one suite."""

    version: str
    suite: str
    right: int
    items: int
    """Without those that the engine or a world broke on."""
    gain: Gain | None = None
    """Over the first version of the same audit; null for that one."""


class State(StrEnum):
    """How the version in service stands with the watch."""

    UNWATCHED = "unwatched"
    """It did not come by a promotion, or its contract has no `[watch]`."""
    EARLY = "early"
    """Too few conversations for a look, or for another one."""
    GOOD = "good"
    """It was looked at now, and does not fail more."""
    ASKED = "asked"
    """It fails more; a person was asked, or has approved what nobody put into service yet."""
    KEPT = "kept"
    """It failed more; a person kept it."""
    BACK = "back"
    """It failed more; the version before is in service again."""
    OVER = "over"
    """All looks are spent."""


class Watched(Record):
    """What the watch says now."""

    state: State
    reason: str
    """One line for a person."""
    look: Look | None = None
    """The last one; null where none was made."""
    verdict: str | None = None
    """Digest of the one that says that it fails more."""
