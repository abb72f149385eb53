"""The nouns of the system, frozen. Reading this file is reading what the loop passes around.

In the order of the night. Rows of the trace tables, of which there are millions, are tuples: `rsi.traces.rows`.
Digests are SHA-256 of canonical JSON (`rsi.ids`); times are nanoseconds UTC.
"""

from enum import StrEnum
from typing import Self

from pydantic import BaseModel, ConfigDict, Field

from rsi.ids import Digest, digest


class Record(BaseModel):
    """A frozen record that refuses unknown keys and is named by the digest of its content."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @property
    def digest(self) -> Digest:
        """SHA-256 of the record's canonical JSON."""
        return digest(self.model_dump(mode="json"))

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """A record from its JSON."""
        return cls.model_validate_json(data)


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


class ChatMessage(Record):
    """One turn, in the words of the OpenAI chat API."""

    role: str
    """system, user, assistant or tool."""
    content: str
    """The text; empty where a turn only calls tools."""


# --- discover and expand ------------------------------------------------------------------------------------


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


class Modes(Record):
    """All failure modes a night found, most important first."""

    night: str
    traces: int
    """Traces looked at."""
    failures: int
    """Traces with at least one signal."""
    modes: tuple[FailureMode, ...]


class Task(Record):
    """A prompt, a verifier and where they came from."""

    task_id: str
    """`t-` and 16 hex digits of the hash of (hop, messages, verifier, expected)."""
    hop: str
    """Which prompt of the harness renders it: `route` or `answer`."""
    messages: tuple[ChatMessage, ...]
    """The conversation up to the turn to be answered."""
    verifier: str
    """A name in `rsi.verifiers`."""
    expected: str
    """What the verifier expects; never part of the prompt."""
    mode_id: str | None
    """The failure mode it covers; null for a task that keeps what already works."""
    traces: tuple[str, ...]
    """Ids of the traces it was made from."""
    source: str
    """How it was made, for instance `correction`."""


Argument = int | float | str
"""A value that a tool takes."""


class ToolCall(Record):
    """One use of a tool."""

    name: str
    arguments: dict[str, Argument]


class Pool(StrEnum):
    """Which tasks of a generator one may train on. What a request asks for, in whatever words, lies in one pool."""

    TRAIN = "train"
    HELD_OUT = "held_out"
    """Requests that training never asks, in the phrasings of training."""
    REWORDED = "reworded"
    """Requests that training never asks, in phrasings that it never uses."""


class WorldTask(Record):
    """A task in a small world, judged by the state that the world ends in."""

    task_id: str
    """`w-` and 16 hex digits of the hash of (environment, world, request, expected)."""
    environment: str
    """A name in `rsi.environments`."""
    world: str
    """The world at the start, as the environment's own JSON."""
    request: str
    """What the model is asked."""
    expected: str
    """What the verifier of final states expects; never shown."""
    oracle: tuple[ToolCall, ...]
    """Calls that solve it, one a turn, the last one with the stop word."""
    level: int
    """1: one call; 2: look up, then act; 3: a condition decides."""
    kind: str
    """What sort of request it is."""
    pool: Pool


class BankManifest(Record):
    """What lies in a bank; the bank's digest is this record's."""

    night: str
    tasks: int
    tasks_sha256: str
    """SHA-256 of ``tasks.parquet``."""
    by_mode: dict[str, int]
    by_expected: dict[str, int]
    rejected: dict[str, int]
    """Reason -> count of proposals that were refused."""
    screens: dict[str, str]
    """Suite split -> digest of the held-out fingerprints the tasks were screened against."""


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
    """genesis, night, stage, request, approval, refusal, promotion, rollback, end."""
    night: str | None = None
    stage: str | None = None
    input: str | None = None
    """Digest of what the record is about or was made from."""
    output: str | None = None
    """Digest of what was made."""
    body: dict[str, object] = Field(default_factory=dict)
    prev: str
    """Digest of the record before; 64 zeros for the first."""
