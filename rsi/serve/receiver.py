"""What takes spans in: a spool of their own, one fsync for all that come together, and a bound on what is under way.

Loaded lazily: it needs the `serve` extra.
"""

import asyncio
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import cast

import orjson

from rsi.errors import ContractError, TransientError
from rsi.serve import otlp_wire
from rsi.traces.pieces import MAX_RECORD
from rsi.traces.rows import Json, JsonObject
from rsi.traces.spool import Spool

LIMIT = 20 << 20
"""Largest body in bytes, packed or not, as the OTLP specification recommends."""
MAX_HELD = 128 << 20
"""Bytes of bodies under way from which on exporters are asked to come again."""
SPANS_A_LINE = 500


class TooLargeError(ContractError):
    """A body of more than `LIMIT` bytes."""


@dataclass(frozen=True)
class Taken:
    """What became of a request's spans."""

    accepted: int
    refused: int
    why: str


class Receiver:
    """A spool for spans, its fsyncs, and how much is under way."""

    def __init__(self, spool: Spool) -> None:
        """Take the spool over."""
        self.spool = spool
        self.accepted = self.refused = 0
        self.problem: str | None = None
        """Why the last request could not be written."""
        self._held = 0
        self._commit = _Commit(spool)
        # Taking spans apart needs the interpreter's lock anyway; more threads would only hold more memory.
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="otlp")

    def hold(self, size: int) -> None:
        """Count bytes that came in; a negative size lets them go.

        Raises:
            TransientError: too many are under way.
        """
        if size > 0 and self._held and self._held + size > MAX_HELD:
            raise TransientError(f"more than {MAX_HELD} bytes of requests are under way; come again")
        self._held += size

    async def take(self, body: bytes, is_json: bool, is_packed: bool) -> Taken:
        """Read a request and write its spans; return when they are on the disk.

        Raises:
            ContractError: it cannot be read.
            TransientError: it cannot be written now.
        """
        loop = asyncio.get_running_loop()
        try:
            taken = await loop.run_in_executor(self._threads, self._written, body, is_json, is_packed)
            if taken.accepted:
                await self._commit.join()
        except TransientError as error:
            self.problem = str(error)
            raise
        self.problem = None
        self.accepted += taken.accepted
        self.refused += taken.refused
        return taken

    def close(self) -> None:
        """Finish what is under way and close the spool; harmless when repeated."""
        self._threads.shutdown()
        self.spool.close()

    def _written(self, body: bytes, is_json: bool, is_packed: bool) -> Taken:
        body = _unpacked(body) if is_packed else body
        request = otlp_wire.from_json(body) if is_json else otlp_wire.from_protobuf(body)
        accepted = 0
        for document, spans in _documents(request.groups):
            accepted += self._append(document, spans, request)
        return Taken(accepted, request.refused, request.why)

    def _append(self, document: JsonObject, spans: int, request: otlp_wire.Request) -> int:
        """Write a line; one that ingest would find too long is written in halves."""
        line = orjson.dumps(document)
        if len(line) < MAX_RECORD:
            self.spool.append_line(line)
            return spans
        if spans == 1:
            request.refuse(f"a span of {len(line)} bytes of JSON; at most {MAX_RECORD} are kept")
            return 0
        groups = _groups(document)
        return sum(self._append(half, count, request) for half, count in _documents(groups, (spans + 1) // 2))


class _Commit:
    """Fsyncs one after the other; whoever comes while one runs shares the next."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._running: asyncio.Task[None] | None = None
        self._next: asyncio.Task[None] | None = None

    async def join(self) -> None:
        """Return when an fsync that began after this call has ended.

        Raises:
            TransientError: it failed.
        """
        if self._next is None:
            self._next = asyncio.create_task(self._after(self._running))
        # A caller that goes away must not take the fsync from the others.
        await asyncio.shield(self._next)

    async def _after(self, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.wait([before])
        self._running, self._next = self._next, None
        await asyncio.to_thread(self._spool.sync)


def _unpacked(body: bytes) -> bytes:
    """A gzip body, as many members as it has."""
    parts, size = [], 0
    while body:
        unpacker = zlib.decompressobj(31)
        try:
            part = unpacker.decompress(body, LIMIT + 1 - size)
        except zlib.error as error:
            raise ContractError(f"the body is no gzip: {error}") from None
        parts.append(part)
        size += len(part)
        if size > LIMIT:
            raise TooLargeError(f"a body of more than {LIMIT} bytes when unpacked; send smaller batches")
        if not unpacker.eof:
            raise ContractError("the gzip body ends early")
        body = unpacker.unused_data
    return b"".join(parts)


def _documents(groups: list[otlp_wire.Group], limit: int = SPANS_A_LINE) -> Iterator[tuple[JsonObject, int]]:
    """OTLP/JSON documents of at most `limit` spans, and how many they have."""
    resources: list[Json] = []
    count = 0
    for group in groups:
        spans = list[Json](group.spans)
        while spans:
            room, part = limit - count, spans[: limit - count]
            resources.append({**group.resource, "scopeSpans": [{**group.scope, "spans": part}]})
            spans, count = spans[room:], count + len(part)
            if count == limit:
                yield {"resourceSpans": resources}, count
                resources, count = [], 0
    if count:
        yield {"resourceSpans": resources}, count


def _groups(document: JsonObject) -> list[otlp_wire.Group]:
    """What a document was made of."""
    groups = []
    for outer in cast(list[JsonObject], document["resourceSpans"]):
        (inner,) = cast(list[JsonObject], outer["scopeSpans"])
        resource = {key: value for key, value in outer.items() if key != "scopeSpans"}
        scope = {key: value for key, value in inner.items() if key != "spans"}
        groups.append(otlp_wire.Group(resource, scope, cast(list[JsonObject], inner["spans"])))
    return groups
