"""The nouns of expand: tasks, what tells them apart, refusals, banks. Part of `rsi.records`, where others find them."""

from pydantic import Field

from rsi.record import Record


class ChatMessage(Record):
    """One turn, in the words of the OpenAI chat API."""

    role: str
    """system, user, assistant or tool."""
    content: str
    """The text; empty where a turn only calls tools."""


class Facets(Record):
    """What tasks of one failure mode differ in; empty: it has no such side."""

    tools: tuple[str, ...] = ()
    """Tools that its answer calls."""
    arguments: tuple[str, ...] = ()
    """JSON types of their arguments."""
    slots: tuple[str, ...] = ()
    """Classes of the values in the answer, for instance `number:negative` or `label:L2`."""
    language: str = ""
    length: str = ""


class Task(Record):
    """A prompt, a verifier and where they came from."""

    task_id: str
    """`t-` and 16 hex digits of the hash of (hop, messages, verifier, expected), and of the tools where it has some."""
    hop: str
    """Which prompt of the harness renders it: `route`, `answer`, `tool`, or `world` for an episode of several turns."""
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
    """How it was made: a name in `rsi.expand.propose`, for instance `correction`."""
    tools: str = ""
    """JSON list of the functions on offer, as the OpenAI chat API takes them; empty for none."""
    world: str = ""
    """JSON of the `WorldTask` that it stands for; empty where it is one answer. Never shown: it holds the solution."""
    generator: str = ""
    """What wrote its words: empty for people, else a rule (`template`, `research/paraphrase`) or a model's name."""
    prompt: str = ""
    """Digest of the prompt that the generator worked from; empty where there was none."""
    screens: tuple[str, ...] = ()
    licence: str = "own"
    """SPDX id of what it was made from; `own` for the deployment's own traces and generators."""
    facets: Facets = Facets()
    passed: int = 0
    """Of `samples` answers of the version in service, how many were right."""
    samples: int = 0
    """0: its difficulty was not measured."""


class Phase(Record):
    """What one source was worth in one phase: proposals, those that passed every screen, questions to a model."""

    phase: str
    """retry, world, sweep or targeted (`rsi.expand.phases`)."""
    source: str
    attempts: int
    passes: int
    filled: int
    """Cells of the grid that held a task at the end of it, over all phases so far."""
    calls: int = 0


class Refusal(Record):
    """A proposal that a screen kept out of the bank, with what a person needs to judge the screen."""

    task_id: str
    reason: str
    """A value of `rsi.tasks.refused.Reason`."""
    source: str
    """How the proposal was made."""
    evidence: str
    """What the screen saw: the proposal's own words, personal values masked."""
    held_out: str | None = None
    """The held-out item it met, ``suite/vN:id``; never the item's text."""
    text: str
    """The beginning of the request, personal values masked."""
    expected: str
    mode_id: str | None
    traces: tuple[str, ...]


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
    by_source: dict[str, int] = Field(default_factory=dict)
    phases: tuple[Phase, ...] = ()
    asked: tuple[str, ...] = ()
    """Cells of the grid that tasks were wanted for: `mode/dimension/value`."""
    empty: tuple[str, ...] = ()
    """Those of them that hold none."""
    replayed: int = 0
    """Tasks taken from older banks."""
    synthetic: int = 0
    """Tasks whose words no person wrote."""
    measured: int = 0
    """Tasks whose difficulty is known."""
    research: dict[str, int] = Field(default_factory=dict)
    """Fate -> count of the hypotheses that AutoResearch tried."""
