"""A file cut into records, in bounded memory: one a line (NDJSON) or one a JSON value (documents and arrays).

Nothing here knows formats. A piece has its line, its byte offset in the decompressed text and its bytes; what
is too long, cut or no JSON at all is a flaw, and reading goes on behind it.
"""

import gzip
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from rsi.traces.rows import Reason
from rsi.traces.values import Cut, Flaw, Piece, values

BLOCK = 1 << 20
MAX_RECORD = 16 << 20
OPEN = ".open"
DOCUMENTS = (".json",)
LINES = (".jsonl", ".ndjson")
COMPRESSED = (".gz", ".zst")

_BOM = b"\xef\xbb\xbf"
_FIRST_LINE = re.compile(rb"\s*(?:\{\s*\n|\[)")


@dataclass(frozen=True)
class Left:
    """An unterminated last line of a segment that is still being written: read it the next time."""

    byte_offset: int


def taken(path: Path) -> bool:
    """Whether ingest reads files of that name: .json, .jsonl, .ndjson, also with .gz, .zst or .open."""
    return _ending(path) in (*DOCUMENTS, *LINES)


def pieces(path: Path) -> Iterator[Piece | Flaw | Left]:
    """The records of a file, in order. Never raises for what is in the file.

    Lines that are blank are no records. A file of lines that begins like a document (an array, or a brace
    alone on its line) is read as one.
    """
    blocks = _blocks(path)
    head = next(blocks, b"")
    if isinstance(head, Flaw):
        yield head
        return
    head = head.removeprefix(_BOM) if (skipped := head.startswith(_BOM)) else head
    start = len(_BOM) if skipped else 0
    if _ending(path) in DOCUMENTS or _FIRST_LINE.match(head):
        yield from values(_chain(head, blocks), start, MAX_RECORD)
    else:
        yield from _lines(_chain(head, blocks), start, path.name.endswith(OPEN))


def _ending(path: Path) -> str:
    name = path.name.removesuffix(OPEN)
    for suffix in COMPRESSED:
        name = name.removesuffix(suffix)
    return Path(name).suffix.lower()


def _chain(head: bytes, blocks: Iterator[bytes | Flaw]) -> Iterator[bytes | Flaw]:
    yield head
    yield from blocks


def _blocks(path: Path) -> Iterator[bytes | Flaw]:
    try:
        with _opened(path) as file:
            # A damaged gzip file gives what it has, block by block, before it finds that the rest is missing.
            read = file.read1 if isinstance(file, gzip.GzipFile) else file.read
            while block := read(BLOCK):
                yield block
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        yield Flaw(0, 0, Reason.CUT_STREAM, f"the compressed stream is damaged or ends early: {error}")
    except OSError as error:
        damaged = path.suffix in COMPRESSED and error.errno is None
        reason = Reason.CUT_STREAM if damaged else Reason.UNREADABLE
        yield Flaw(0, 0, reason, str(error).splitlines()[0])


def _opened(path: Path) -> IO[bytes] | gzip.GzipFile:
    if path.suffix == ".gz":
        return gzip.GzipFile(path, "rb")
    if path.suffix == ".zst":
        import pyarrow as pa

        stream: IO[bytes] = pa.input_stream(str(path), compression="zstd")
        return stream
    return path.open("rb")


def _lines(blocks: Iterator[bytes | Flaw], start: int, is_open: bool) -> Iterator[Piece | Flaw | Left]:
    line, offset, held, size = 1, start, list[bytes](), 0
    for block in blocks:
        if isinstance(block, Flaw):
            yield from _last(line, offset, b"".join(held), size, False)
            yield Flaw(line, offset + size, block.reason, block.detail)
            return
        begin = 0
        while (end := block.find(b"\n", begin)) >= 0:
            size += end + 1 - begin
            held.append(block[begin:end])
            if size > MAX_RECORD:
                yield Flaw(line, offset, Reason.TOO_LARGE, _too_large(size))
            elif body := b"".join(held).strip():
                yield Piece(line, offset, body)
            line, offset, begin, size = line + 1, offset + size, end + 1, 0
            held.clear()
        size += len(block) - begin
        if size <= MAX_RECORD:
            held.append(block[begin:])
        else:
            held.clear()
    yield from _last(line, offset, b"".join(held), size, is_open)


def _last(line: int, offset: int, body: bytes, size: int, is_open: bool) -> Iterator[Piece | Flaw | Left]:
    """An unterminated last line: of an open segment it waits, elsewhere it may be whole."""
    if size > MAX_RECORD:
        yield Flaw(line, offset, Reason.TOO_LARGE, _too_large(size))
    elif body.strip():
        yield Left(offset) if is_open else Piece(line, offset, body.strip(), Cut.PERHAPS)


def _too_large(size: int) -> str:
    return f"a line of {size} bytes; at most {MAX_RECORD} are read"
