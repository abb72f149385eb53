"""Prompts that run together, and what is kept of a call for the turns that go on from it.

An agent's next prompt is its last one, the answer, and what a tool said to it. Keys and values of the first two are
there when the answer is; only the tool's words are new.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import torch

from rsi.engine.prefix import KeyValues, Tokens


@dataclass(frozen=True, eq=False)
class Kept:
    """A sequence that was read, from its token `start` on."""

    tokens: Tokens
    """All of it, from its first token."""
    start: int
    state: KeyValues
    """Of tokens[start:], each of shape (1, heads, tokens, width)."""

    def since(self, start: int) -> "Kept":
        """What is behind another token, at or behind its own start."""
        cut = start - self.start
        return Kept(self.tokens, start, tuple((one[:, :, cut:], two[:, :, cut:]) for one, two in self.state))

    def __len__(self) -> int:
        return len(self.tokens) - self.start


class Turns:
    """What the last call read and no older one, so that a call's numbers follow from it and the one before it."""

    def __init__(self, capacity: int) -> None:
        """Keep up to `capacity` tokens."""
        self._room = self._capacity = capacity
        self._adapter: str | None = None
        self._kept: dict[Tokens, Kept] = {}

    def take(self, adapter: str | None) -> Mapping[Tokens, Kept]:
        """What the last call read under that adapter, by its tokens; from now on the next call's is kept."""
        last = self._kept if adapter == self._adapter else {}
        self._adapter, self._kept, self._room = adapter, {}, self._capacity
        return MappingProxyType(last)

    def wants(self, tokens: Tokens, length: int) -> bool:
        """Whether there is room for a sequence, of which so many tokens are kept, and it is not there."""
        return tokens not in self._kept and length <= self._room

    def keep(self, one: Kept) -> None:
        """Keep a sequence of this call."""
        self._kept[one.tokens] = one
        self._room -= len(one)

    def forget(self, adapter: str | None) -> None:
        """Drop what was computed under an adapter."""
        if adapter == self._adapter:
            self._kept = {}


def begun(rows: Sequence[Tokens], start: int, last: Mapping[Tokens, Kept]) -> list[Kept | None]:
    """The longest of `last` that each row goes on from, without its first `start` tokens."""
    lengths = sorted({len(one) for one in last}, reverse=True)
    found: list[Kept | None] = []
    for row in rows:
        fits = (last.get(row[:length]) for length in lengths if start < length < len(row))
        one = next((one for one in fits if one is not None and one.start <= start), None)
        found.append(one.since(start) if one is not None else None)
    return found


@dataclass(frozen=True)
class Pass:
    """Prompts that run together behind a shared prefix of `start` tokens.

    A row's keys are those of the prefix, what was read of it before (padded to K tokens), its rest (padded to S), and
    what is decoded.
    """

    places: list[int]
    rests: list[Tokens]
    start: int
    prefix: KeyValues
    before: Sequence[Kept | None] = ()
    """What was read of each row behind the prefix; empty where that is nothing of any."""

    @property
    def lengths(self) -> torch.Tensor:
        """Tokens of each rest, shape (rows,)."""
        return torch.tensor([len(rest) for rest in self.rests])

    @property
    def read(self) -> torch.Tensor:
        """Tokens of each row that were read before its rest, shape (rows,)."""
        return self.start + torch.tensor([len(one or ()) for one in self.before] or [0] * len(self.rests))

    @property
    def ids(self) -> torch.Tensor:
        """The rests, padded on the right, shape (rows, S)."""
        rows = [torch.tensor(rest) for rest in self.rests]
        return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=0)

    @property
    def positions(self) -> torch.Tensor:
        """Of `ids`, shape (rows, S)."""
        return self.read[:, None] + torch.arange(int(self.lengths.max()))

    def mask(self, more: int) -> torch.Tensor:
        """1 where a key is real, `more` decoded tokens behind the pads; shape (rows, start + K + S + more)."""
        before, rows = self.read - self.start, len(self.rests)
        read = torch.arange(int(before.max()))[None, :] < before[:, None]
        rests = torch.arange(int(self.lengths.max()))[None, :] < self.lengths[:, None]
        return torch.cat([torch.ones(rows, self.start), read, rests, torch.ones(rows, more)], dim=1).long()

    def state(self) -> KeyValues:
        """Keys and values that the rests follow: of one row where all share them, else of every row, padded."""
        there = [one for one in self.before if one is not None]
        if not there:
            return self.prefix
        longest = self.start + max(map(len, there))
        nothing = tuple((keys[:, :, :0], values[:, :, :0]) for keys, values in there[0].state)
        rows = [one.state if one is not None else nothing for one in self.before]
        shared = self.prefix or nothing
        return tuple(
            (
                torch.cat([_joined(shared[layer][0], row[layer][0], longest) for row in rows]),
                torch.cat([_joined(shared[layer][1], row[layer][1], longest) for row in rows]),
            )
            for layer in range(len(nothing))
        )

    def once(self) -> tuple["Pass", list[int]]:
        """Every prompt of the pass once, and which of these each of its rows is."""
        before = self.before or [None] * len(self.rests)
        names = [(one.tokens if one else (), rest) for one, rest in zip(before, self.rests, strict=True)]
        first = {name: names.index(name) for name in names}
        rows, order = list(first.values()), list(first)
        alone = Pass(
            places=[self.places[row] for row in rows],
            rests=[self.rests[row] for row in rows],
            start=self.start,
            prefix=self.prefix,
            before=[before[row] for row in rows] if self.before else (),
        )
        return alone, [order.index(name) for name in names]

    def columns(self, row: int, decoded: int) -> torch.Tensor:
        """Where in a cache of this pass the keys of a row lie that are its own, with its first decoded ones."""
        before, wide = self.read - self.start, int(self.lengths.max())
        rests = self.start + int(before.max())
        parts = (self.start, int(before[row])), (rests, len(self.rests[row])), (rests + wide, decoded)
        return torch.cat([torch.arange(begin, begin + count) for begin, count in parts])


def _joined(prefix: torch.Tensor, behind: torch.Tensor, longest: int) -> torch.Tensor:
    """Both, padded on the right to so many tokens."""
    whole = torch.cat([prefix, behind], dim=2)
    return torch.nn.functional.pad(whole, (0, 0, 0, longest - whole.shape[2]))
