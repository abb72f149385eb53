"""What a reader gets and gives: a place, and rows for the trace tables or a refusal with its reason.

A row is a tuple, since millions of them are made; its fields are the columns of its table, in order. What is
known of a trace, span, message or call may come in several rows (parts): the views join them.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Protocol, TypeAlias

from rsi.records import Origin

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
"""Any JSON value."""

JsonObject: TypeAlias = dict[str, Json]
"""A JSON object; every record is one."""


class Trace(NamedTuple):
    """One run of the deployed agent, as one record tells it."""

    trace_uid: str
    """`ids.uid(namespace, format, native id)`."""
    namespace: str
    """Deployment, project or file set that the native id is unique in."""
    format: str
    """The reader that made the row."""
    native_id: str
    """The producer's id, or the record's content hash where it has none."""
    conversation: str | None = None
    """The producer's session or thread id; the unit of the held-out split."""
    user_ref: str | None = None
    """Whose request it was; a reader gives the producer's user id, a keyed pseudonym is stored."""
    task_id: str | None = None
    """The producer's task, where runs repeat one."""
    trial: int | None = None
    """Which repetition of the task."""
    agent: str | None = None
    """`gen_ai.agent.name`."""
    model: str | None = None
    """`gen_ai.response.model`, else the requested one."""
    version: str | None = None
    """Digest of the version that answered, where known."""
    route: str | None = None
    """The specialist that answered, where known."""
    release: str | None = None
    """`service.version` or the producer's release name."""
    environment: str | None = None
    """`deployment.environment.name`."""
    origin: str = Origin.TRAFFIC.value
    """Who caused it."""
    start_ns: int | None = None
    """Nanoseconds UTC, or null with `time_state` saying why."""
    end_ns: int | None = None
    """Nanoseconds UTC, or null."""
    time_state: str = "missing"
    """exact, assumed_utc, missing or invalid."""
    input_text: str | None = None
    """The last user turn of the request (for an agent run, the first)."""
    output_text: str | None = None
    """The last assistant text."""
    error: str | None = None
    """Why the run broke, where the producer says so."""
    expected: str | None = None
    """JSON of what the producer's task expects (actions, outputs), where it comes with the trace."""
    metadata: str | None = None
    """JSON of what has no column."""


class Span(NamedTuple):
    """One operation inside a trace; names follow OpenTelemetry's `gen_ai.*`."""

    span_uid: str
    trace_uid: str
    native_id: str
    native_parent_id: str | None = None
    kind: str = "other"
    """llm, tool, agent, retrieval, embedding, guardrail, evaluator, step, event or other."""
    name: str = ""
    instrumentation: str | None = None
    """Name of the library that recorded it (instrumentation scope)."""
    start_ns: int | None = None
    end_ns: int | None = None
    time_state: str = "missing"
    """exact, assumed_utc, missing or invalid."""
    status: str = "unset"
    """ok, error or unset."""
    error: str | None = None
    provider: str | None = None
    """`gen_ai.provider.name`."""
    model: str | None = None
    """`gen_ai.response.model`, else the requested one."""
    response_id: str | None = None
    finish_reason: str | None = None
    input_tokens: int | None = None
    """With cached ones."""
    output_tokens: int | None = None
    """With reasoning."""
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: float | None = None
    """As the producer says; never computed here."""
    input_messages: list[str] | None = None
    """`message_uid` of what the model was given, in order."""
    output_messages: list[str] | None = None
    """`message_uid` of what it answered."""
    attributes: str | None = None
    """JSON of all attributes, without the content that became messages."""


class Message(NamedTuple):
    """One turn of a trace's conversation, stored once."""

    message_uid: str
    trace_uid: str
    at_ns: int
    """Start of the first call that saw it, 0 where unknown; orders the conversation together with `seq`."""
    seq: int
    """Place in what that call saw."""
    role: str
    """system, user, assistant or tool."""
    author: str | None = None
    """Name of the speaker, where said."""
    content: str | None = None
    content_state: str = "full"
    """full, empty, absent (not recorded), redacted or cut."""
    reasoning: str | None = None
    """What the model thought, where recorded."""
    tool_call_id: str | None = None
    """Of the call that this message answers."""


class ToolCall(NamedTuple):
    """One call of a tool, with its result where recorded."""

    call_uid: str
    trace_uid: str
    at_ns: int
    seq: int
    native_id: str | None
    name: str
    requestor: str = "assistant"
    """assistant or user (simulated users call tools as well)."""
    arguments: str | None = None
    """JSON object, or null with `arguments_state` saying why."""
    arguments_state: str = "object"
    """object, invalid or missing."""
    arguments_raw: str | None = None
    """What stood there, where that is no object."""
    result: str | None = None
    status: str = "no_result"
    """ok, error or no_result."""


class Score(NamedTuple):
    """What somebody or something said about a trace or a part of it."""

    score_uid: str
    trace_uid: str
    """The trace it judges; that trace may arrive later."""
    name: str
    """For instance `route`, `reward`, `feedback`."""
    value: float | None = None
    """1 good, 0 bad; between for partial; null where what was said is no such number."""
    said: str | None = None
    """JSON of what the judge said, where `value` does not tell all of it."""
    correction: str | None = None
    """What would have been right, where the judge says so."""
    source: str = "code"
    """env, code, llm, human, label or end_user."""
    annotator: str | None = None
    """Who or which model judged."""
    basis: str | None = None
    """What it measures or how it was found."""
    target: str | None = None
    """Native id of the span or message it is about; null is the whole trace."""
    comment: str | None = None
    ts_ns: int | None = None


class Reason(StrEnum):
    """Why a piece of input went to quarantine."""

    UNREADABLE = "unreadable"
    """The file could not be opened or read."""
    CUT_STREAM = "cut_stream"
    """The compressed stream is damaged or ends early."""
    CUT_LINE = "cut_line"
    """The file ends inside a record."""
    TOO_LARGE = "too_large"
    """A record of more than 32 MiB."""
    TOO_DEEP = "too_deep"
    """Nested deeper than 100 levels."""
    NOT_UTF8 = "not_utf8"
    NOT_JSON = "not_json"
    UNKNOWN_FORMAT = "unknown_format"
    """JSON that no reader knows."""
    MISSING_FIELD = "missing_field"
    """A field without which the record means nothing is absent."""
    BAD_VALUE = "bad_value"
    """A field holds something it cannot."""
    READER_FAILED = "reader_failed"
    """A reader broke on the record: a defect of rsi, kept from stopping the rest."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A piece of input that was not loaded, and why."""

    reason: Reason
    detail: str
    """What was found and what was expected, in one line."""
    part: bytes | None = None
    """The refused part, where it is not the whole record."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record came from, and what whoever ingests it says of it."""

    namespace: str
    """For formats that do not carry their own."""
    origin: Origin | None
    """For records that do not say theirs; null means traffic."""
    file_id: str
    line: int
    """1-based line on which the record begins."""
    byte_offset: int
    """0-based, in the decompressed text."""
    uri: str = ""
    """Name of the file, for formats whose records do not name their session."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows about one trace, made from one record (or from the part of it that is about this trace)."""

    trace_uid: str
    namespace: str
    native: str
    """The producer's id of the trace."""
    session: str | None = None
    """The unit of the held-out split where the record names one: session, conversation or task."""
    trace: Trace | None = None
    """Absent where the record only adds to a trace: feedback, evaluation events."""
    spans: tuple[Span, ...] = ()
    messages: tuple[Message, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    scores: tuple[Score, ...] = ()
    own: bytes | Callable[[], bytes] | None = field(default=None, compare=False)
    """Raw text of this trace's part, or what makes it, where the record is about several traces."""

    @property
    def part(self) -> bytes | None:
        """Raw text of this trace's part; null where the whole record is about it."""
        return self.own() if callable(self.own) else self.own


class Format(Protocol):
    """A reader: a module of `rsi.traces.formats`."""

    NAME: str
    """Stored in column `format` of a trace."""

    def matches(self, record: JsonObject) -> bool:
        """Whether the record is of this format, from its keys alone."""
        ...

    def read(self, record: JsonObject, place: Place) -> tuple[Rows | Refusal, ...]:
        """Rows by trace, in order of appearance; what cannot be read is a refusal, never an exception."""
        ...
