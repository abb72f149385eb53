"""Streams that lie in a file as one chunk a line: adjacent lines of one stream become one record.

The rest of a file passes through untouched. What is a chunk is asked of the bytes first, so that files without
streams cost next to nothing. Chunks of several chat completions may be mixed, as a proxy writes them; the events
of the Responses and the Messages API and of Codex name their stream only at its beginning: they must lie together.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from rsi.traces.decode import decode_record
from rsi.traces.formats import fields
from rsi.traces.formats.assembly import is_chunk, is_event
from rsi.traces.formats.codex_exec import is_event as is_thread_event
from rsi.traces.pieces import MAX_RECORD, Left
from rsi.traces.rows import JsonObject, Reason, Refusal
from rsi.traces.values import EXCERPT, Flaw, Piece

MAX_OPEN = 16
"""Streams that are put together at the same time."""
_OTHERS = (
    b'{"resourceSpans"', b'{"resourceLogs"', b'{"schema"', b'{"messages"', b'{"request"', b'{"conversations"',
    b'{"traceId"',
)  # fmt: skip
"""How lines begin that are surely no chunks: the many are let through at once."""
_MARKS = (b"completion.chunk", b'"response.', b'"message_', b'"content_block_', b'"ping"')
_SEARCHED = 600
"""How much of the beginning and of the end of a line a mark is looked for in."""
_OTEL = (b'{"resourceSpans"', b'{"resourceLogs"')
_PIECES = (b"completion.chunk", b".delta", b"_delta")
_FIELDS = (b"event:", b"id:", b"retry:", b":")
"""Lines of server-sent events that hold no data."""
_EVENTS = ("responses", "messages", "thread")
"""Streams whose events do not name them."""
_STARTS = ("response.created", "message_start", "thread.started")
_THREAD = tuple(
    b'{"type":%s"%s' % (blank, kind)
    for blank in (b"", b" ")
    for kind in (b"thread.started", b"turn.", b"item.", b"error")
)
"""How events of Codex begin."""
_SAYS = ("content", "tool_calls", "function_call", "reasoning_content", "reasoning", "refusal")


@dataclass(frozen=True, slots=True)
class _Chunk:
    """A line that belongs to a stream."""

    stream: str | None = None
    """Which stream; null for a line without data, which belongs to the one around it."""
    body: bytes = b""
    """JSON of the chunk."""
    starts: bool = False
    says: frozenset[int] = frozenset()
    """Choices that the chunk adds to."""
    ends: frozenset[int] = frozenset()
    """Choices that are at their end."""


@dataclass(slots=True)
class _Stream:
    """A stream as its chunks come in."""

    first: Piece
    bodies: list[bytes] = field(default_factory=list)
    size: int = 0
    held: int = 0
    ended: set[int] = field(default_factory=set)

    def add(self, chunk: _Chunk) -> None:
        self.ended |= chunk.ends
        self.size += len(chunk.body) + 1
        if self.size <= MAX_RECORD:
            self.bodies.append(chunk.body)
            self.held += len(chunk.body)
        else:
            self.bodies = [self.bodies[0][:EXCERPT]] if self.bodies else [chunk.body[:EXCERPT]]
            self.held = 0

    def record(self) -> Piece | Flaw:
        """The one record; one line alone is what it was."""
        line, offset = self.first.line, self.first.byte_offset
        if self.size > MAX_RECORD:
            detail = f"a stream of {self.size} bytes; at most {MAX_RECORD} are read"
            return Flaw(line, offset, Reason.TOO_LARGE, detail, self.bodies[0])
        if len(self.bodies) == 1:
            return Piece(line, offset, self.bodies[0])
        return Piece(line, offset, b'{"chunks":[' + b",".join(self.bodies) + b"]}")


def joined(pieces: Iterator[Piece | Flaw | Left]) -> Iterator[Piece | Flaw | Left]:
    """The pieces, with those that are chunks of one stream as one, where its first one lay.

    A stream ends where something else begins. One of more than `MAX_RECORD` bytes is a flaw.
    """
    streams: dict[str, _Stream] = {}
    ahead: list[Piece] = []
    for piece in pieces:
        chunk = _chunk(piece.body) if isinstance(piece, Piece) else None
        if chunk is None or not isinstance(piece, Piece):
            if streams or ahead:
                yield from _all(streams, ahead)
                streams, ahead = {}, []
            yield piece
        elif chunk.stream is not None:
            yield from _added(streams, chunk, ahead[0] if ahead else piece)
            ahead = []
        elif not streams:
            ahead.append(piece)
            if len(ahead) > MAX_OPEN:
                yield ahead.pop(0)
    yield from _all(streams, ahead)


def holds_stream(body: bytes) -> bool:
    """Whether a record may hold a stream in pieces, where a word can lie in two: `assembly.unstreamed` joins them."""
    return not body.startswith(_OTEL) and any(mark in body for mark in _PIECES)


def _all(streams: dict[str, _Stream], ahead: list[Piece]) -> Iterator[Piece | Flaw]:
    yield from (one.record() for one in streams.values())
    yield from ahead


def _added(streams: dict[str, _Stream], chunk: _Chunk, piece: Piece) -> Iterator[Piece | Flaw]:
    """Add a chunk to its stream; streams that end by that, or would take too much room, come out."""
    assert chunk.stream is not None
    known = streams.get(chunk.stream)
    over = (
        _EVENTS if chunk.starts else (chunk.stream,) if known is not None and known.ended & chunk.says else ()
    )
    for one in over:
        if one in streams:
            yield streams.pop(one).record()
    streams.setdefault(chunk.stream, _Stream(piece)).add(chunk)
    while len(streams) > MAX_OPEN or sum(one.held for one in streams.values()) > MAX_RECORD:
        yield streams.pop(next(iter(streams))).record()


def _chunk(body: bytes) -> _Chunk | None:
    """What a line is in its stream; null where it is of none."""
    if body.startswith(_OTHERS):
        return None
    if body.startswith(_FIELDS):
        return _Chunk()
    if body.startswith(b"data:"):
        body = body[5:].strip()
        if body == b"[DONE]":
            return _Chunk()
    is_thread = body.startswith(_THREAD)
    if not is_thread and not _is_marked(body):
        return None
    record = decode_record(body)
    if isinstance(record, Refusal):
        return None
    if is_thread and is_thread_event(record):
        return _Chunk(_EVENTS[2], body, starts=record["type"] in _STARTS)
    if is_chunk(record):
        return _of_choices(record, body)
    if not is_event(record):
        return None
    kind = str(record["type"])
    return _Chunk(_EVENTS[0 if kind.startswith("response.") else 1], body, starts=kind in _STARTS)


def _is_marked(body: bytes) -> bool:
    """Whether a line may be a chunk, from its two ends."""
    ends = body if len(body) <= 2 * _SEARCHED else body[:_SEARCHED] + body[-_SEARCHED:]
    return any(mark in ends for mark in _MARKS)


def _of_choices(record: JsonObject, body: bytes) -> _Chunk:
    says, ends = set(), set()
    for one in fields.tables(record.get("choices")):
        index = fields.whole(one.get("index")) or 0
        delta = fields.table(one.get("delta"))
        if one.get("text") or any(delta.get(key) for key in _SAYS):
            says.add(index)
        if one.get("finish_reason"):
            ends.add(index)
    stream = f"chat {fields.named(record.get('id')) or ''}"
    return _Chunk(stream, body, says=frozenset(says), ends=frozenset(ends))
