"""What a reader gets and gives: a place, and rows for the trace tables or a refusal with its reason."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeAlias

from rsi.records import Message, Origin, Score, Span, ToolCall, Trace

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
"""Any JSON value."""

JsonObject: TypeAlias = dict[str, Json]
"""A JSON object; every record is one."""


class Reason(StrEnum):
    """Why a piece of input went to quarantine."""

    UNREADABLE = "unreadable"
    """The file could not be opened or read."""
    CUT_STREAM = "cut_stream"
    """The compressed stream is damaged or ends early."""
    CUT_LINE = "cut_line"
    """The file ends inside a record."""
    TOO_LARGE = "too_large"
    """A record of more than 16 MiB."""
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


@dataclass(frozen=True)
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
    part: bytes | None = None
    """Raw text of this trace's part, where the record is about several traces."""


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
