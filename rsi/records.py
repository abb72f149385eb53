"""The nouns of the system, frozen. Reading this file is reading what the loop passes around.

In the order of the night. Rows of the trace tables, of which there are millions, are tuples: `rsi.traces.rows`.
Digests are SHA-256 of canonical JSON (`rsi.ids`); times are nanoseconds UTC.
"""

from enum import StrEnum

from pydantic import Field

from rsi.mode_parts import Cell, Factors, Fix, Reach, Topic, Unseen
from rsi.record import Record
from rsi.task_records import BankManifest, ChatMessage, Facets, Phase, Refusal, Task
from rsi.world_records import Argument, Pool, ToolCall, WorldTask

__all__ = [
    "Adapter",
    "Approval",
    "Argument",
    "BankManifest",
    "Blame",
    "ChatMessage",
    "Clause",
    "Decision",
    "Evidence",
    "Facets",
    "FailureMode",
    "Item",
    "ItemResult",
    "Judgement",
    "LedgerRecord",
    "ModeStatus",
    "Modes",
    "Origin",
    "Outcome",
    "OutcomeKind",
    "Phase",
    "Pool",
    "Record",
    "Refusal",
    "Split",
    "Task",
    "ToolCall",
    "Verdict",
    "Version",
    "WorldTask",
]


# --- traces -------------------------------------------------------------------------------------------------


class Origin(StrEnum):
    """Who caused a trace."""

    TRAFFIC = "traffic"
    """A user of the deployment."""
    ROLLOUT = "rollout"
    """The trainer."""
    PROBE = "probe"
    """A search for harder tasks."""
    GATE = "gate"
    """An evaluation."""
    DEMO = "demo"
    """`rsi demo`, whose feedback comes from labels."""


class Split(StrEnum):
    """Where a conversation falls at ingest, by keyed hash."""

    TRAIN = "train"
    DEV = "dev"
    GATE = "gate"
    VAULT = "vault"


# --- discover (tasks and banks: `rsi.task_records`) ------------------------------------------------------------


class Blame(StrEnum):
    """Whose failure it was; only the model's is trained away."""

    MODEL = "model"
    TASK = "task"
    """Its label or its checker is broken."""
    HARNESS = "harness"
    """A tool refused or was missing, the context was cut, the prompt was wrong."""
    ENVIRONMENT = "environment"


class Evidence(Record):
    """The place in a trace that shows something."""

    trace_uid: str
    span_uid: str | None = None
    message_uid: str | None = None
    call_uid: str | None = None
    says: str = ""
    """What is seen there, in one line."""


class Ticket(Record):
    """A failure that is not the model's, for whoever keeps the harness, the environment or the tasks."""

    ticket_id: str
    """`k-` and 10 hex digits of the hash of (blame, signature)."""
    blame: Blame
    """Never the model."""
    signature: str
    """That of the failure mode it shows as, or the cause of the blame and what it is about."""
    title: str
    """One line in words."""
    count: int
    """Traces that show it."""
    reasons: tuple[str, ...] = ()
    """Why this blame, or what was seen, the most frequent first, up to three."""
    evidence: tuple[Evidence, ...] = ()
    """Up to five places, by trace id."""


class ModeStatus(StrEnum):
    """Where a failure mode stands for the version in service."""

    NEW = "new"
    ONGOING = "ongoing"
    REGRESSED = "regressed"
    FIXED = "fixed"


class FailureMode(Record):
    """A cause of failure: a signature with its counts and history."""

    mode_id: str
    """`m-` and 10 hex digits of the signature's hash."""
    signature: str
    """For instance `route:L2->L0` or `tool_error:book_reservation:payment`."""
    kind: str
    """The part before the first colon."""
    title: str
    """One line in words."""
    count: int
    """Traces that show it, over all versions seen."""
    opportunities: int
    """Traces in which it could have shown."""
    rate: float
    """count / opportunities."""
    low: float
    """Lower end of the 95% Wilson interval of the rate."""
    high: float
    """Upper end of it."""
    rank: int
    """1 is the most important."""
    priority: float
    """What the rank is sorted by; the formula stands in `rsi.discover.modes`."""
    examples: tuple[str, ...]
    """Up to five trace ids."""
    first_seen: str
    """The night that saw it first."""
    status: ModeStatus
    by_version: dict[str, tuple[int, int]] = Field(default_factory=dict)
    """Version digest (or `unknown`) -> (count, opportunities)."""
    history: tuple[Cell, ...] = ()
    """The same by version and night, oldest night first."""
    fix: Fix | None = None
    """What showed it fixed last; null where it never was."""
    factors: Factors | None = None
    blame: Blame = Blame.MODEL
    """Of most of its traces."""
    evidence: tuple[Evidence, ...] = ()
    """Where the examples show it."""
    answered_by: dict[str, int] = Field(default_factory=dict)
    """Role -> traces that it answered, where they say so."""
    signatures: tuple[str, ...] = ()
    """All signatures that count here: its own and those merged into it."""
    chances: tuple[tuple[str, str], ...] = ()
    """What gives a trace the opportunity, as (what, subject)."""
    topics: tuple[Topic, ...] = ()
    titled_by: str = "template"
    """template, person, or model and the digest of the prompt."""
    wont_fix: str | None = None
    """Why a person will not have it fixed; null where nobody said so."""

    @property
    def trainable(self) -> bool:
        """Whether tasks may be made from it: open, the model's fault, and to be fixed."""
        return self.status is not ModeStatus.FIXED and self.blame is Blame.MODEL and self.wont_fix is None


class Modes(Record):
    """All failure modes a night found, most important first."""

    night: str
    traces: int
    """Traces looked at."""
    failures: int
    """Traces with at least one signal."""
    modes: tuple[FailureMode, ...]
    nights: tuple[Reach, ...] = ()
    """The nights by which traces are told apart, oldest first; the first stands for all up to it."""
    unseen: Unseen | None = None
    """Null where nothing failed."""
    labels: int = 0
    """Labels of persons that count here."""
    tickets: tuple[Ticket, ...] = ()
    """Failures that are not the model's, most frequent first."""


# --- update -------------------------------------------------------------------------------------------------


class Adapter(Record):
    """A LoRA folder, immutable, named `<role>-<first 12 hex of its digest>`."""

    name: str
    role: str
    sha256: str
    """Digest over the names and SHA-256 of its files."""
    base: str
    """Digest of the base model it belongs to."""
    rank: int
    alpha: int
    targets: tuple[str, ...]
    """Names of the linear layers it changes."""


class Version(Record):
    """Base + adapters by role + harness, with its parent: the unit that is measured, promoted, rolled back."""

    base: str
    adapters: dict[str, str]
    """Role -> adapter name."""
    harness: str
    """Digest of the HCP file."""
    parent: str | None
    """Digest of the version it was made from; null for genesis."""


# --- gate ---------------------------------------------------------------------------------------------------


class OutcomeKind(StrEnum):
    """How an evaluation of one answer ended; only *scored* has a number."""

    SCORED = "scored"
    WRONG_FORMAT = "wrong_format"
    ERROR = "error"
    EMPTY = "empty"
    INVALID = "invalid"


NOBODYS = (OutcomeKind.ERROR, OutcomeKind.INVALID)
"""Outcomes that are not the answerer's fault: the machinery failed, or nobody could meet the expectation."""


class Outcome(Record):
    """What a verifier says of one answer."""

    kind: OutcomeKind
    score: float | None = None
    """0 to 1; present exactly when `kind` is scored."""
    detail: str = ""


class Item(Record):
    """One held-out request of a suite, resolved to its text."""

    item_id: str
    messages: tuple[ChatMessage, ...]
    expected: str
    """JSON or plain text, as the suite's verifier takes it."""
    cluster: str
    """Items that stand or fall together share it."""
    source: str
    """own, or the public package it is taken from."""
    hard: bool = False
    tools: str = ""
    """JSON list of the functions on offer, as in a `Task`; empty for none."""
    world: str = ""
    """JSON of the `WorldTask` that is played; empty where it is one answer."""


class ItemResult(Record):
    """Both versions on one item."""

    item_id: str
    suite: str
    cluster: str
    expected: str
    source: str
    hard: bool
    champion: Outcome
    candidate: Outcome
    champion_answer: str
    candidate_answer: str


class Judgement(StrEnum):
    """The three verdicts, of a clause and of the whole."""

    PASS = "pass"
    FAIL = "fail"
    CANNOT_TELL = "cannot tell"


class Clause(Record):
    """One line of a verdict."""

    name: str
    judgement: Judgement
    text: str
    """The bar and what was measured, in words."""
    numbers: dict[str, float]


WATCH = "watch"
"""The clause of a verdict that rests on live traffic: the champion fails more than the version before it did."""


class Verdict(Record):
    """What the gate says of a candidate against the champion it was compared with."""

    night: str
    champion: str
    candidate: str
    role: str | None
    """The role whose adapter changed; null when only the harness did."""
    contract: str
    """Name of the contract, for instance demo/v1."""
    contract_digest: str
    suites: dict[str, str]
    """Suite name -> digest."""
    scorecard: str
    """Digest of the per-item results."""
    judgement: Judgement
    clauses: tuple[Clause, ...]

    @property
    def goes_back(self) -> bool:
        """Whether its candidate is the version before the champion, to be put back into service."""
        return any(one.name == WATCH for one in self.clauses)


# --- approval and promotion ---------------------------------------------------------------------------------


class Decision(StrEnum):
    """What a person may say."""

    APPROVE = "approve"
    REJECT = "reject"


class Approval(Record):
    """A person's answer to one verdict."""

    verdict: str
    decision: Decision
    approver: str
    reason: str
    via: str
    """form or command."""


class LedgerRecord(Record):
    """One line of the ledger."""

    seq: int
    at: str
    """ISO 8601 UTC, not part of what must be the same after a crash."""
    kind: str
    """genesis, night, stage, mode (a label), role, ask (a question to the gate), verdict (its certificate), request,
    approval, refusal, promotion, rollback, watch (a look at live failures), deletion,
    overrule, audit (of the vault), end."""
    night: str | None = None
    stage: str | None = None
    input: str | None = None
    """Digest of what the record is about or was made from."""
    output: str | None = None
    """Digest of what was made."""
    body: dict[str, object] = Field(default_factory=dict)
    prev: str
    """Digest of the record before; 64 zeros for the first."""
