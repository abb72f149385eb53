"""What a batch shares: the common start of its prompts, computed once, and prompts of like length together.

Attention is causal, so the keys and values of a prompt's first tokens do not depend on what follows. The
start that all prompts of a call share (as a rule the system text) is run once, kept, and expanded over the
batch. Where the cut falls, and which prompts share a pass, follow from the call alone and never from what is
kept or from the order of the prompts: equal calls give equal numbers.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence

import torch

Tokens = tuple[int, ...]
KeyValues = tuple[tuple[torch.Tensor, torch.Tensor], ...]
"""Keys and values of one sequence, a pair a layer, each of shape (1, heads, tokens, width)."""

SHORTEST = 8
"""A shared start of fewer tokens is not worth a pass of its own."""
ROWS = 32
"""Most prompts in one pass."""
PASS_TOKENS = 16384
"""Most tokens whose keys and values one pass holds, padding included."""
WASTE = 0.15
"""Share of padding in a pass above which a pass of its own is cheaper."""
_STEP_BACK = 8
_FEW = 4


def shared_start(prompts: Sequence[Tokens], special: Collection[int]) -> int:
    """How many tokens at the start of every prompt are one shared prefix; 0 where sharing does not pay.

    At least one token of each prompt is left over. A cut that falls just after a special token is moved back
    to it, so that the prefix is the same whatever words the requests happen to begin with. A lone prompt is
    cut where its first token, which in ChatML begins a turn, comes again: after the system text, as others.
    """
    if not prompts:
        return 0
    shortest = min(map(len, prompts))
    if len(prompts) == 1:
        first = prompts[0]
        again = first.index(first[0], 1) if first and first[0] in special and first[0] in first[1:] else -1
        common = again + 1
    else:
        common = _agreement(min(prompts), max(prompts))
    common = min(common, shortest - 1)
    near = range(max(0, common - _STEP_BACK), common)
    cut = max((place + 1 for place in near if prompts[0][place] in special), default=common)
    return cut if cut >= SHORTEST else 0


def _agreement(one: Tokens, other: Tokens) -> int:
    """Length of the common start; that of the least and the greatest of many is that of all."""
    for place, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return place
    return min(len(one), len(other))


def passes(rests: Sequence[Tokens], start: int = 0, waste: float = WASTE) -> list[list[int]]:
    """Places of the prompts in passes of like length, shortest first; order of the call does not matter.

    `rests` is what is left of each prompt after a shared start of `start` tokens. A pass ends at `ROWS`
    prompts, at `PASS_TOKENS` tokens with the start counted for each, or where padding would be more than the
    share `waste` of it.
    """
    order = sorted(range(len(rests)), key=lambda place: (len(rests[place]), rests[place]))
    found: list[list[int]] = []
    real = 0
    for place in order:
        length = len(rests[place])
        rows = len(found[-1]) + 1 if found else 1
        padded = rows * length
        wasteful = rows > _FEW and padded - real - length > waste * padded
        if not found or rows > ROWS or padded + rows * start > PASS_TOKENS or wasteful:
            found.append([])
            real = 0
        found[-1].append(place)
        real += length
    return found


class PrefixCache:
    """Keys and values of prefixes, by (adapter, tokens); the least recently used go first."""

    def __init__(self, capacity: int) -> None:
        """Keep prefixes of up to `capacity` tokens in all."""
        self._capacity = capacity
        self._kept: OrderedDict[tuple[str | None, Tokens], KeyValues] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, adapter: str | None, prefix: Tokens, compute: Callable[[], KeyValues]) -> KeyValues:
        """The prefix's keys and values under that adapter, computed only where they are not kept."""
        if len(prefix) > self._capacity:
            return compute()
        key = (adapter, prefix)
        found = self._kept.pop(key, None)
        found = compute() if found is None else found
        self._kept[key] = found
        held = sum(len(tokens) for _, tokens in self._kept)
        while held > self._capacity:
            (_, dropped), _ = self._kept.popitem(last=False)
            held -= len(dropped)
        return found

    def forget(self, adapter: str | None) -> None:
        """Drop what was computed under an adapter."""
        for key in [key for key in self._kept if key[0] == adapter]:
            del self._kept[key]
