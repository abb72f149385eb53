"""What discover knows of one trace: its outcome, scores, tool calls and what was expected of it.

Compact: texts come with failed traces only, results of tools as hashes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rsi.records import Origin

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

UNKNOWN = "unknown"
"""Version of a trace that does not say which version answered."""
_BLOCK = 2000
_FACTS = Path(__file__).with_suffix(".sql").read_text()

At = tuple[int, int]
"""Place in a conversation: (nanoseconds UTC or 0, place in what was said then)."""


@dataclass(frozen=True, slots=True)
class ScoreFact:
    """A score of the trace."""

    name: str
    value: float | None
    correction: str | None
    source: str
    basis: str | None
    ts_ns: int | None
    score_uid: str = ""


@dataclass(frozen=True, slots=True)
class CallFact:
    """A tool call of the trace."""

    name: str
    arguments: str | None
    """JSON of an object."""
    status: str
    """ok, error or no_result."""
    error: str | None
    """Beginning of the result, where it is an error."""
    call_uid: str = ""
    at: At = (0, 0)
    """That of the message which asked for it, where a conversation tells it."""
    state: str = "object"
    """Of the arguments: object, invalid or missing."""
    answer: int | None = None
    """Hash of the result; null where it is empty or missing."""
    by_user: bool = False
    """Called by a simulated user, not by the agent."""


@dataclass(frozen=True, slots=True)
class TurnFact:
    """A message of a failed trace."""

    role: str
    at: At
    text: str | None
    """Up to 4,000 characters."""
    message_uid: str


@dataclass(frozen=True, slots=True)
class SpanFact:
    """A span that says something beside the conversation: a tool's time, or what a guardrail stopped."""

    name: str
    span_uid: str
    seconds: float | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class TraceFacts:
    """One trace, as far as failures go."""

    trace_uid: str
    version: str
    route: str | None
    start_ns: int | None
    error: str | None
    expected: str | None
    """JSON with `actions`, as `rsi.traces.formats.tau` writes it."""
    outcome: str
    """pass, fail or unknown."""
    decided_by: str | None
    """Name of the score that decided the outcome."""
    scores: tuple[ScoreFact, ...]
    calls: tuple[CallFact, ...]
    """In order."""
    task: str | None = None
    """`namespace/format/task id` where runs repeat a task: its runs are siblings."""
    trial: int | None = None
    agent: str | None = None
    model: str | None = None
    conversation: str | None = None
    seconds: float | None = None
    """From the first start to the last end."""
    cost_usd: float | None = None
    tokens: int | None = None
    """Asked and answered, over all calls of models; calls told twice count twice."""
    messages: int = 0
    last_role: str | None = None
    """Of the last message."""
    leaked: str | None = None
    """Message of the agent whose text is the markup of a tool call."""
    cut: str | None = None
    """Span of the first answer that reached a limit of tokens."""
    spans: tuple[SpanFact, ...] = ()
    """Of tools, with their time."""
    stopped: tuple[SpanFact, ...] = ()
    """Of guardrails that did not pass."""
    offered: str | None = None
    """JSON list of the tools on offer: their names, or definitions with schemas."""
    instruction: str | None = None
    """What the simulated user of a failed run was told."""
    turns: tuple[TurnFact, ...] = ()
    """The conversation of a failed run, in order."""


def read_facts(
    connection: "DuckDBPyConnection", origins: Sequence[Origin], until_ordinal: int
) -> Iterator[TraceFacts]:
    """Facts of every trace of these origins that was ingested up to a batch, in no particular order."""
    parameters = {"until": until_ordinal, "origins": [origin.value for origin in origins]}
    rows = connection.execute(_FACTS, parameters)
    names = [column[0] for column in rows.description or ()]
    while block := rows.fetchmany(_BLOCK):
        for row in block:
            found = dict(zip(names, row, strict=True))
            found["version"] = found["version"] or UNKNOWN
            found["scores"] = tuple(ScoreFact(**score) for score in found["scores"] or ())
            found["calls"] = tuple(CallFact(**call) for call in found["calls"] or ())
            found["turns"] = tuple(TurnFact(**turn) for turn in found["turns"] or ())
            for key in ("spans", "stopped"):
                found[key] = tuple(SpanFact(**span) for span in found[key] or ())
            yield TraceFacts(**found)
