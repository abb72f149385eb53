"""What redaction looks for, one module a kind. `SHAPES` is the table, in the order in which they are looked for."""

import re
from collections.abc import Iterator
from typing import Protocol

from rsi.intake import Kind
from rsi.traces.shapes import cards, emails, keys, passwords, phones
from rsi.traces.shapes.edges import Found


class Shape(Protocol):
    """A module of this package."""

    KIND: Kind
    NAMES: re.Pattern[str] | None
    """Fields whose whole value may be of this kind."""
    RAW: str
    """RE2 that matches every raw JSON record with such a value in it, and few others."""

    def find(self, text: str) -> Iterator[Found]:
        """Values in a text, in order, apart from each other; in time linear in its length."""
        ...

    def named(self, value: str) -> bool:
        """Whether a field whose name is in `NAMES` holds such a value."""
        ...

    def normal(self, value: str) -> str:
        """The spelling by which equal values are known."""
        ...


SHAPES: tuple[Shape, ...] = (keys, passwords, emails, cards, phones)
