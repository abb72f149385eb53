"""Overlap of proposals with held-out items, found on fingerprints: by the night's screen and by `rsi verify` alike.

A proposal overlaps when one of its texts, as it stands or decoded (`rsi.tasks.decoded`), has an item's letters and
digits, holds one of an item's runs of words, or has an estimated Jaccard similarity of pairs of at least the bound.
Neighbours are looked for in `BANDS` bands of two values: at a similarity s one is missed with probability
(1 - s^2)^64, which is 0.0006 at s = 0.33.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from rsi.records import Task
from rsi.tasks.decoded import hidden
from rsi.tasks.fingerprint import PERMUTATIONS, Fingerprint, Hashed, exact, hashed, runs, signatures
from rsi.tasks.words import words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rsi.tasks.fingerprint import Hashes, Signatures

BANDS = PERMUTATIONS // 2
CHUNK = 4096
"""Texts that are looked up at once."""
SHOWN = 200
"""Most characters of a proposal that are shown as evidence."""


class How(IntEnum):
    """How a proposal overlaps, the surest first."""

    EXACT = 0
    RUN = 1
    NEAR = 2


class HeldOut(NamedTuple):
    """One held-out item."""

    name: str
    """``suite/vN:item``."""
    print: Fingerprint


class Overlap(NamedTuple):
    """Where a proposal meets an item."""

    how: How
    item: str
    span: str
    """The proposal's own words, never the item's."""
    share: float
    """Similarity; 1 unless near."""


class View(NamedTuple):
    """A text that a proposal holds."""

    owner: int
    encoding: str
    """How it was hidden; "" for a text that stands there."""
    text: str


def texts_of(task: Task) -> tuple[str, ...]:
    """The texts of a task that may meet an item: what the user says, each message, and the tools on offer."""
    asked = "\n".join(one.content for one in task.messages if one.role == "user")
    said = (asked, *(one.content for one in task.messages), task.tools)
    return tuple(one for one in dict.fromkeys(said) if one)


class Index:
    """Held-out items to compare with."""

    def __init__(self, items: Iterable[HeldOut], bound: float) -> None:
        """`bound` is the similarity from which a text is near."""
        import numpy as np

        known = sorted(items, key=lambda one: (one.name, one.print.exact))
        self.bound = bound
        self._names = [one.name for one in known]
        self._exact: dict[str, int] = {}
        for at, one in enumerate(known):
            self._exact.setdefault(one.print.exact, at)
        self._runs = {run: _looked_up(known, run) for run in sorted({one.print.run for one in known} - {0})}
        told = [at for at, one in enumerate(known) if one.print.minhash]
        self._items = np.array(told, dtype=np.int64)
        self._sketches = np.array([known[at].print.minhash for at in told], dtype=np.uint32).reshape(
            -1, PERMUTATIONS
        )
        keys = _keys(self._sketches)
        self._orders = np.argsort(keys, axis=0, kind="stable")
        self._bands = np.take_along_axis(keys, self._orders, axis=0)

    def __len__(self) -> int:
        return len(self._names)

    def overlaps(self, proposals: Sequence[Sequence[str]]) -> list[Overlap | None]:
        """The surest overlap of each proposal, given by its texts; null where there is none."""
        found: list[Overlap | None] = []
        for at in range(0, len(proposals), CHUNK):
            found += self._chunk(proposals[at : at + CHUNK])
        return found

    def _chunk(self, proposals: Sequence[Sequence[str]]) -> list[Overlap | None]:
        found: list[Overlap | None] = [None] * len(proposals)
        views = [one for at, texts in enumerate(proposals) for one in _views(at, texts)]
        told = [words(one.text) for one in views]
        hashes = hashed(told)
        for place, one in sorted(
            [*self._same(views, told), *self._held(told, hashes), *self._close(views, told, hashes)],
            key=lambda pair: (pair[1].how, -pair[1].share, pair[1].item, pair[0]),
        ):
            view = views[place]
            if found[view.owner] is None:
                span = f"in {view.encoding}: {one.span}" if view.encoding else one.span
                found[view.owner] = one._replace(span=span)
        return found

    def _same(self, views: Sequence[View], told: Sequence[list[str]]) -> Iterator[tuple[int, Overlap]]:
        for place, (view, found) in enumerate(zip(views, told, strict=True)):
            item = self._exact.get(exact(found, view.text))
            if item is not None:
                yield place, Overlap(How.EXACT, self._names[item], view.text.strip()[:SHOWN], 1.0)

    def _held(self, told: Sequence[list[str]], hashes: Hashed) -> Iterator[tuple[int, Overlap]]:
        import numpy as np

        for length, (grams, items) in self._runs.items():
            said = runs(hashes.words, length)
            places = np.minimum(np.searchsorted(grams, said), len(grams) - 1)
            hits = np.flatnonzero(grams[places] == said)
            owners = np.searchsorted(hashes.starts, hits, side="right") - 1
            inside = hits + length <= hashes.starts[owners + 1]
            for hit, owner in zip(hits[inside].tolist(), owners[inside].tolist(), strict=True):
                begin = hit - int(hashes.starts[owner])
                span = " ".join(told[owner][begin : begin + length])
                yield owner, Overlap(How.RUN, self._names[items[places[hit]]], span[:SHOWN], 1.0)

    def _close(
        self, views: Sequence[View], told: Sequence[list[str]], hashes: Hashed
    ) -> Iterator[tuple[int, Overlap]]:
        import numpy as np

        if not len(self._items) or not views:
            return
        asked = signatures(hashes)
        keys = _keys(asked)
        candidates = []
        for band in range(BANDS):
            low = np.searchsorted(self._bands[:, band], keys[:, band], side="left")
            high = np.searchsorted(self._bands[:, band], keys[:, band], side="right")
            places = np.repeat(np.arange(len(low)), high - low)
            shift = np.arange(len(places)) - np.repeat(np.cumsum(high - low) - (high - low), high - low)
            candidates.append(
                places * len(self._items) + self._orders[np.repeat(low, high - low) + shift, band]
            )
        code = np.unique(np.concatenate(candidates))
        for at in range(0, len(code), 1 << 16):
            place, item = np.divmod(code[at : at + (1 << 16)], len(self._items))
            share = (asked[place] == self._sketches[item]).mean(axis=1)
            for one in np.flatnonzero(share >= self.bound).tolist():
                view = int(place[one])
                if told[view]:
                    name = self._names[self._items[item[one]]]
                    yield view, Overlap(How.NEAR, name, views[view].text.strip()[:SHOWN], float(share[one]))


def _views(owner: int, texts: Sequence[str]) -> Iterator[View]:
    for text in texts:
        yield View(owner, "", text)
        for one in hidden(text):
            yield View(owner, one.encoding, one.text)


def _keys(sketches: "Signatures") -> "Hashes":
    """Two neighbouring values of a signature as one, shape (texts, `BANDS`)."""
    import numpy as np

    wide = sketches.astype(np.uint64)
    keys: Hashes = (wide[:, 0::2] << np.uint64(32)) | wide[:, 1::2]
    return keys


def _looked_up(known: Sequence[HeldOut], run: int) -> "tuple[Hashes, NDArray[np.int64]]":
    """Sorted hashes of the runs of that length, and the first item that has each."""
    import numpy as np

    first: dict[int, int] = {}
    for at, one in enumerate(known):
        if one.print.run == run:
            for gram in one.print.grams:
                first.setdefault(gram, at)
    ordered = sorted(first.items())
    return (
        np.array([gram for gram, _ in ordered], dtype=np.uint64),
        np.array([at for _, at in ordered], dtype=np.int64),
    )
