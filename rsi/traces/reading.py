"""Chunks of input read into batches, by this process or by several, in the order in which they came.

Reading is bound by the processor and needs no store, so that it is handed to other processes where there is
enough of it to pay for starting them; loading stays with the process that holds the lock.
"""

import multiprocessing
import os
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from rsi.errors import TransientError
from rsi.traces.arrays import first_array
from rsi.traces.batch import Batch, Chunk, Input, Reader, Rules
from rsi.traces.values import Flaw, Piece

CHUNK_RECORDS = 10_000
CHUNK_BYTES = 6 << 20
"""What is read at once, and how much of it."""
WORTH_IT = 24 << 20
"""Bytes of input from which other processes are started."""
MAX_PROCESSES = 4
AHEAD = 8
"""Chunks under way beyond one a process, so that reading goes on while a batch is loaded."""

_reader: Reader | None = None


def chunks(found: Iterable[tuple[Input, Piece | Flaw]]) -> Iterator[Chunk]:
    """Pieces in chunks of about `CHUNK_BYTES`."""
    chunk: list[tuple[Input, Piece | Flaw]] = []
    size = 0
    for source, piece in found:
        chunk.append((source, piece))
        size += len(piece.excerpt) if isinstance(piece, Flaw) else len(piece.body)
        if size >= CHUNK_BYTES or len(chunk) >= CHUNK_RECORDS:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def processes(size: int) -> int:
    """How many processes read so many bytes; 0 is this one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MAX_PROCESSES) if size >= WORTH_IT and cores > 1 else 0


def batches(found: Iterable[Chunk], rules: Rules, workers: int) -> Iterator[tuple[Chunk, Batch]]:
    """Each chunk with its batch; at most `AHEAD` chunks more than there are processes are under way.

    Raises:
        TransientError: a reading process died (killed, or out of memory).
    """
    first_array()
    if not workers:
        reader = Reader(rules)
        for chunk in found:
            yield chunk, reader.read(chunk)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, _start, (rules,)) as pool:
        waiting: deque[tuple[Chunk, Future[Batch]]] = deque()
        try:
            for chunk in found:
                waiting.append((chunk, pool.submit(_read, chunk)))
                if len(waiting) >= workers + AHEAD:
                    first, future = waiting.popleft()
                    yield first, future.result().filled(first)
            while waiting:
                first, future = waiting.popleft()
                yield first, future.result().filled(first)
        except BrokenProcessPool:
            raise TransientError(
                "a process that reads traces was killed (out of memory?); what was loaded is kept, run the "
                "same command again"
            ) from None
        finally:
            for _, future in waiting:
                future.cancel()


def _start(rules: Rules) -> None:
    global _reader
    first_array()
    _reader = Reader(rules)


def _read(chunk: Chunk) -> Batch:
    assert _reader is not None
    return _reader.thin(chunk)
