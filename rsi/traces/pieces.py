"""A file cut into records, in bounded memory: one a line (NDJSON) or one a JSON value (documents and arrays).

Nothing here knows formats but archives. What a file is, its content decides: how it is compressed, and whether it
holds lines or documents; its name helps where the content may be either. A piece has its line, its byte offset in
the decompressed text and its bytes; what is too long, cut or no JSON at all is a flaw, and reading goes on behind it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from rsi.traces import archives, packed
from rsi.traces.rows import Reason
from rsi.traces.values import Cut, Flaw, Piece, values

BLOCK = 1 << 20
MAX_RECORD = 32 << 20
OPEN = ".open"
DOCUMENTS = (".json", ".traj")
LINES = (".jsonl", ".ndjson")
ARCHIVES = (".eval",)
COMPRESSED = (".gz", ".zst")

_BOM = b"\xef\xbb\xbf"
_WIDE = (b"\xff\xfe", b"\xfe\xff")
_SAMPLE = 1 << 16
"""Bytes that are looked at to tell lines from documents."""
_MARK = re.compile(rb"\s*[{\[]")


@dataclass(frozen=True)
class Left:
    """An unterminated last line of a segment that is still being written: read it the next time."""

    byte_offset: int


def taken(path: Path) -> bool:
    """Whether ingest reads files of that name in a folder.

    They are .json, .traj, .jsonl, .ndjson and .eval, also with .gz, .zst or .open.
    """
    return _ending(path) in (*DOCUMENTS, *LINES, *ARCHIVES)


def looks_like_json(path: Path) -> bool:
    """Whether a file of any name begins as one that can be read."""
    head, _ = _head(packed.blocks(path, BLOCK))
    return _MARK.match(head.removeprefix(_BOM)) is not None or head.startswith(archives.MAGIC)


def pieces(path: Path) -> Iterator[Piece | Flaw | Left]:
    """The records of a file, in order. Never raises for what is in the file. Blank lines are no records."""
    head, blocks = _head(packed.blocks(path, BLOCK))
    if head.startswith(archives.MAGIC):
        yield from archives.records(path, MAX_RECORD)
        return
    if head.startswith(_WIDE):
        yield Flaw(1, 0, Reason.NOT_UTF8, "the file is UTF-16; expected UTF-8: convert it first", head[:200])
        return
    start = len(_BOM) if head.startswith(_BOM) else 0
    text = _chain(head[start:], blocks)
    if path.name.endswith(OPEN) or not _is_document(head[start:], _ending(path)):
        yield from _lines(text, start, path.name.endswith(OPEN))
    else:
        yield from values(text, start, MAX_RECORD)


def _ending(path: Path) -> str:
    name = path.name.removesuffix(OPEN)
    for suffix in COMPRESSED:
        name = name.removesuffix(suffix)
    return Path(name).suffix.lower()


def _head(blocks: Iterator[bytes | Flaw]) -> tuple[bytes, Iterator[bytes | Flaw]]:
    """The first bytes, as many as are looked at, and the blocks behind them."""
    head = b""
    for block in blocks:
        if isinstance(block, Flaw):
            return head, iter([block])
        head += block
        if len(head) >= _SAMPLE:
            break
    return head, blocks


def _is_document(head: bytes, ending: str) -> bool:
    """Whether a text is to be cut by its brackets, and not by its lines.

    It is where it begins with an array, where most of its lines are no whole objects (they belong to printed
    documents), and where several objects share a line.
    """
    text = head[:_SAMPLE].lstrip()
    if not text.startswith(b"{"):
        return text.startswith(b"[") or ending not in LINES
    lines = [line for one in text.split(b"\n") if (line := one.strip())]
    if len(text) == _SAMPLE and len(lines) > 1:
        lines.pop()
    whole = [line for line in lines if line.startswith(b"{") and line.endswith(b"}")]
    if len(whole) * 2 == len(lines) or len(lines) == 1:
        named_lines = ending in LINES
    else:
        named_lines = len(whole) * 2 > len(lines)
    return not named_lines or any(_several(line) for line in whole[:3])


def _several(line: bytes) -> bool:
    """Whether a line holds more than one object."""
    found = (one for one in values(iter([line]), 0, MAX_RECORD) if isinstance(one, Piece))
    return len(list(islice(found, 2))) > 1


def _chain(head: bytes, blocks: Iterator[bytes | Flaw]) -> Iterator[bytes | Flaw]:
    yield head
    yield from blocks


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
