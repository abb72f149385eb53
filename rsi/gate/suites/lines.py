"""``items.jsonl``: items that were written down one by one, or name a public item whose text is not copied."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError, model_validator

from rsi.assets import PublicRef
from rsi.errors import ContractError
from rsi.ids import canonical
from rsi.records import ChatMessage, Item, Record, Split
from rsi.settings import said

LIMIT = 32 * 1024 * 1024
"""Largest items file in bytes."""
OWN = "own"
"""Source of items written for this project."""

Resolve = Callable[[PublicRef], str]
"""Text of a public item."""


def taken(expected: str | Sequence[str]) -> str:
    """An expectation as verifiers take it: a word as it is, spellings as a JSON list."""
    return expected if isinstance(expected, str) else canonical(list(expected)).decode()


class Marked(Record):
    """An answer to an item that a person marked."""

    answer: str = Field(min_length=1)
    right: bool


class Line(Record):
    """One line of ``items.jsonl``."""

    id: str = Field(min_length=1, max_length=200)
    split: Literal[Split.GATE, Split.VAULT]
    expected: str | tuple[str, ...]
    hard: bool = False
    cluster: str | None = None
    """Items that stand or fall together; the item's own id where nothing is said."""
    source: str | None = None
    """`own` for text written here, else the package."""
    text: str | None = Field(None, min_length=1)
    messages: tuple[ChatMessage, ...] | None = Field(None, min_length=1)
    """In place of text: the turns up to the one that asks."""
    ref: PublicRef | None = None
    marked: tuple[Marked, ...] = ()
    """Answers that show whether a judge agrees with people (`rsi.gate.agreement`); nobody else sees them."""

    @model_validator(mode="after")
    def _has_one_text(self) -> "Line":
        if [self.text, self.messages, self.ref].count(None) != 2:
            raise ValueError("an item has one of text, messages and ref")
        if self.messages and self.messages[-1].role != "user":
            raise ValueError("the last of an item's messages is the user's: it is what is asked")
        expected = self.ref.package if self.ref else OWN
        if self.source not in (None, expected):
            raise ValueError(f"source is {self.source!r}, expected {expected!r}")
        return self

    @property
    def wanted(self) -> str:
        """What the verifier takes: the text itself, or the list as JSON."""
        return taken(self.expected)

    def item(self, resolve: Resolve) -> Item:
        """The line as an item: one user turn, or those that were written down."""
        text = self.text if self.ref is None else resolve(self.ref)
        return Item(
            item_id=self.id,
            messages=self.messages or (ChatMessage(role="user", content=text or ""),),
            expected=self.wanted,
            cluster=self.cluster or self.id,
            source=self.ref.package if self.ref else OWN,
            hard=self.hard,
        )


def read(path: Path, accepts: Callable[[str], str]) -> list[Line]:
    """The lines of both splits.

    Args:
        accepts: what is wrong with an expectation; "" where its verifier accepts its own gold answer.

    Raises:
        ContractError: a line is not an item that its verifier can judge; the message names it.
    """
    if path.stat().st_size > LIMIT:
        raise ContractError(f"{path} has more than {LIMIT} bytes; split the suite")
    found: list[Line] = []
    seen: dict[str, int] = {}
    for number, raw in enumerate(path.read_bytes().splitlines(), 1):
        if not raw.strip():
            continue
        try:
            line = Line.parse(raw)
        except ValidationError as error:
            raise ContractError(f"{path} line {number}: {said(error)}") from None
        if line.id in seen:
            raise ContractError(f"{path} line {number}: id {line.id!r} was used on line {seen[line.id]}")
        seen[line.id] = number
        if wrong := accepts(line.wanted):
            raise ContractError(f"{path} line {number}: {wrong}")
        found.append(line)
    return found
