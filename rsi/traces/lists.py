"""Lists inside of documents too large to be read as one: a page of millions of rows is cut into its rows.

Such a document is an object around one long list. Each element is given what stands around the list, so that it is
a small document of the same kind, which whoever reads the large one reads as well.
"""

import re
from typing import NamedTuple

NAMES = frozenset(
    (
        b'"data"', b'"runs"', b'"traces"', b'"results"', b'"items"', b'"records"', b'"rows"', b'"logs"', b'"entries"',
        b'"hits"', b'"documents"', b'"docs"', b'"sessions"', b'"observations"', b'"spans"', b'"samples"',
        b'"completions"', b'"responses"', b'"conversations"', b'"logEvents"', b'"Records"', b'"simulations"',
        b'"resourceSpans"', b'"resourceLogs"', b'"batches"', b'"batch"', b'"post"', b'"patch"', b'"interactions"',
        b'"scores"',
    )
)  # fmt: skip
"""Lists whose elements mean something alone. Messages, events and steps do not."""
_LONGEST = 64 << 10
"""Bytes around a list that go with each element."""
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[{}\[\]]', re.DOTALL)
"""A string, which may lose its end where the text does, or a bracket."""


class Opening(NamedTuple):
    """The list in which a text ends."""

    at: int
    """Where in the text its first element may begin."""
    front: bytes
    """What stands before an element, and makes a document with it and `back`."""
    back: bytes
    """The brackets that close it."""

    @property
    def depth(self) -> int:
        """Brackets that are open inside the list."""
        return len(self.back)


def opening(text: bytes) -> Opening | None:
    """The outermost list that is open where `text` ends, if it is one that can be cut."""
    stack: list[tuple[int, bytes]] = []
    key = b""
    for found in _TOKEN.finditer(text):
        token = found[0]
        if token in b"{[":
            stack.append((found.start(), key))
        elif token in b"}]":
            if not stack:
                return None
            stack.pop()
        else:
            key = token
    outer = next((place for place, (at, _) in enumerate(stack) if text[at] == 0x5B), None)
    if outer is None or stack[outer][1] not in NAMES:
        return None
    path = stack[: outer + 1]
    at = path[-1][0] + 1
    front = text[:at]
    if len(front) > _LONGEST:
        # The way to the list alone: it tells what the document is.
        front = b"".join(b"{" + name + b":" for _, name in path[1:]) + b"["
    return Opening(at, front, b"]" + b"}" * outer)
