"""JSON values cut out of a byte stream by their brackets, unread: documents, arrays, several in a row.

A record is an object (or array) at the top, or directly inside a top-level array, whatever is inside it; so
one broken element does not take the others with it. Each byte is looked at once, strings in one step. An object at
the top that is too large is cut at the list it holds (`rsi.traces.lists`), into records of one element each.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from rsi.traces.lists import Opening, opening
from rsi.traces.rows import Reason

EXCERPT = 200
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["{}\[\]]', re.DOTALL)
_STRING_REST = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_MARK = re.compile(rb"[^\s,]")
_BRACKET = re.compile(rb"[{\[\]]")
_LISTED = re.compile(rb"\[\s*\{")


class Cut(Enum):
    """Whether a record may have lost its end."""

    NO = 0
    PERHAPS = 1


@dataclass(frozen=True, slots=True)
class Piece:
    """The bytes of one record."""

    line: int
    byte_offset: int
    body: bytes
    cut: Cut = Cut.NO


@dataclass(frozen=True, slots=True)
class Flaw:
    """A stretch of input that is no record."""

    line: int
    byte_offset: int
    reason: Reason
    detail: str
    excerpt: bytes = b""


def values(blocks: Iterator[bytes | Flaw], start: int, limit: int) -> Iterator[Piece | Flaw]:
    """Records of at most `limit` bytes; `start` is the offset of the first byte of `blocks`."""
    scanner = _Scanner(start, limit)
    for block in blocks:
        if isinstance(block, Flaw):
            yield from scanner.end()
            yield Flaw(scanner.line, scanner.offset, block.reason, block.detail)
            return
        yield from scanner.feed(block)
        if scanner.hopeless:
            return
    yield from scanner.end()


class _Scanner:
    """State between blocks: how deep, inside a string or not, and the record begun."""

    def __init__(self, start: int, limit: int) -> None:
        self.offset, self.line, self.hopeless = start, 1, False
        self._limit = limit
        self._depth = self._base = 0
        self._in_string = self._escaped = False
        self._begun: tuple[int, int] | None = None
        self._held: list[bytes] = []
        self._size = 0
        self._seen = False
        self._list: Opening | None = None
        """The list that a document which is too large is cut at."""
        self._behind = False
        """Whether what is held stands behind that list."""
        self._may_cut = False
        """Whether what is held may turn out to be such a document."""

    def feed(self, block: bytes) -> Iterator[Piece | Flaw]:
        at = kept = lined = 0
        while at < len(block) and not self.hopeless:
            if self._begun is None:
                found = _MARK.search(block, at)
                if found is None:
                    break
                at = found.start()
                self.line += block.count(b"\n", lined, at)
                lined = at
                junk, at = self._between(block, at)
                if junk:
                    yield junk
                if self._begun is not None:
                    kept = at - 1
                continue
            at = self._inside(block, at)
            if self._depth == self._base and not self._in_string:
                yield from self._finished(block[kept:at])
                self.line += block.count(b"\n", lined, at)
                lined = at
        if self._begun is not None:
            self._hold(block[kept:])
        self.line += block.count(b"\n", lined)
        self.offset += len(block)
        if self._is_cut_next:
            yield from self._cut()

    def end(self) -> Iterator[Flaw]:
        """What is left open where the input ends."""
        if self._begun is not None:
            line, offset = self._begun
            yield Flaw(line, offset, Reason.CUT_LINE, "the file ends inside this record", self._excerpt())
        elif self._base:
            yield Flaw(self.line, self.offset, Reason.CUT_LINE, "the file ends before its array does")

    def _between(self, block: bytes, at: int) -> tuple[Flaw | None, int]:
        """Neither space nor comma, outside a record: open a record, open or close an array, or skip junk."""
        mark = block[at : at + 1]
        if mark == b"[" and not self._base:
            self._base = self._depth = 1
        elif mark == b"]" and self._list is not None:
            self._behind, self._begun = True, (self.line, self.offset + at)
            self._base, self._depth = 0, self._list.depth - 1
        elif mark == b"]" and self._base:
            self._base = self._depth = 0
        elif mark in (b"{", b"["):
            self._begun = (self.line, self.offset + at)
            self._may_cut = not self._base
            self._depth += 1
        else:
            self.hopeless = not self._seen
            found = _BRACKET.search(block, at + 1)
            end = found.start() if found else len(block)
            detail = "text that is no JSON object stands here"
            if self.hopeless:
                detail = "the file does not begin with a JSON object or array; nothing of it was read"
            return Flaw(self.line, self.offset + at, Reason.NOT_JSON, detail, block[at:end][:EXCERPT]), end
        self._seen = True
        return None, at + 1

    def _inside(self, block: bytes, at: int) -> int:
        """Go on to the end of the record or of the block."""
        if self._in_string:
            at = self._string_rest(block, at)
        while at < len(block) and not self._in_string:
            found = _TOKEN.search(block, at)
            if found is None:
                return len(block)
            at = found.end()
            token = block[found.start()]
            if token == 0x22:
                if at - found.start() == 1:
                    self._in_string = True
                    at = self._string_rest(block, at)
            elif token in b"{[":
                self._depth += 1
            else:
                self._depth -= 1
                if self._depth == self._base:
                    return at
        return at

    def _string_rest(self, block: bytes, at: int) -> int:
        if self._escaped:
            self._escaped, at = False, at + 1
        found = _STRING_REST.match(block, at)
        end = found.end() if found else at
        if end >= len(block):
            return len(block)
        if block[end] == 0x22:
            self._in_string = False
        else:
            self._escaped = True
        return end + 1

    def _hold(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= self._limit or self._may_cut:
            self._held.append(part)
        else:
            self._held = [b"".join(self._held)[:EXCERPT]]

    @property
    def _is_cut_next(self) -> bool:
        return self._may_cut and self._size > self._limit

    def _cut(self) -> Iterator[Piece | Flaw]:
        """Go back to the list in which a document becomes too large; without one, give the document up."""
        assert self._begun is not None
        line, offset = self._begun
        text = b"".join(self._held)
        self._may_cut, self._list = False, opening(text[: self._limit])
        if self._list is None:
            self._held = [text[:EXCERPT]]
            return
        at = self._list.at
        self._base = self._depth = self._list.depth
        self._in_string = self._escaped = False
        self._begun, self._held, self._size = None, [], 0
        self.line, self.offset = line + text.count(b"\n", 0, at), offset + at
        yield from self.feed(text[at:])

    def _finished(self, part: bytes) -> Iterator[Piece | Flaw]:
        self._hold(part)
        if self._is_cut_next:
            here = self.line, self.offset
            yield from self._cut()
            if self._begun is None:
                self.line, self.offset = here
                return
        assert self._begun is not None
        line, offset = self._begun
        body, size = b"".join(self._held), self._size
        self._begun, self._held, self._size = None, [], 0
        if size > self._limit:
            detail = f"a record of {size} bytes; at most {self._limit} are read"
            yield Flaw(line, offset, Reason.TOO_LARGE, detail, body[:EXCERPT])
        elif self._list is None:
            yield Piece(line, offset, body)
        elif not self._behind:
            yield Piece(line, offset, self._list.front + body + self._list.back)
        elif _LISTED.search(body):
            # Another list stands behind the one that was cut.
            yield Piece(line, offset, self._list.front + body)
        if self._behind:
            self._list, self._behind = None, False

    def _excerpt(self) -> bytes:
        return b"".join(self._held)[:EXCERPT]
