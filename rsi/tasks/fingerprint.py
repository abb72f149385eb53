"""Fingerprints of texts: what the loop may know of held-out items.

The gate's side writes them beside its suites; the loop compares its proposals with them and never sees a text.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from rsi.ids import digest_bytes

if TYPE_CHECKING:
    from datasketch import MinHash

PERMUTATIONS = 128
SEED = 1
SCHEME = "affine32"
"""Of datasketch 2.0; signatures of different schemes do not mix, so it is named rather than defaulted."""
_WORD = re.compile(r"\w+")


class Fingerprint(NamedTuple):
    """One text, as digests."""

    exact: str
    """SHA-256 of the normalised text."""
    minhash: tuple[int, ...]
    """MinHash signature over word 3-grams, `PERMUTATIONS` values."""


def words(text: str) -> list[str]:
    """Normalised words: NFKC, case folded, letters and digits kept."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def shingles(text: str) -> set[str]:
    """Word 3-grams; the single words where there are fewer than five."""
    found = words(text)
    if len(found) < 5:
        return set(found)
    return {" ".join(found[at : at + 3]) for at in range(len(found) - 2)}


@lru_cache(maxsize=65536)
def fingerprint(text: str) -> Fingerprint:
    """The fingerprint of a text."""
    from datasketch import MinHash

    sketch = MinHash(num_perm=PERMUTATIONS, seed=SEED, scheme=SCHEME)
    sketch.update_batch([part.encode() for part in sorted(shingles(text))])
    exact = digest_bytes(" ".join(words(text)).encode())
    return Fingerprint(exact, tuple(int(value) for value in sketch.hashvalues))


class Index:
    """Fingerprints to compare with: exact hashes, and MinHash neighbours from a Jaccard bound on."""

    def __init__(self, known: Iterable[Fingerprint], bound: float) -> None:
        from datasketch import MinHashLSH

        self._bound = bound
        self._exact: set[str] = set()
        self._sketches: list[MinHash] = []
        self._near = MinHashLSH(threshold=bound, num_perm=PERMUTATIONS)
        for one in known:
            self.add(one)

    def add(self, one: Fingerprint) -> None:
        """Know one more."""
        if one.exact in self._exact:
            return
        self._exact.add(one.exact)
        sketch = self._sketch(one)
        self._near.insert(len(self._sketches), sketch)
        self._sketches.append(sketch)

    def exact(self, one: Fingerprint) -> bool:
        """Whether the same normalised text is known."""
        return one.exact in self._exact

    def near(self, one: Fingerprint) -> bool:
        """Whether a known text has an estimated Jaccard similarity of at least the bound."""
        sketch = self._sketch(one)
        return any(self._sketches[at].jaccard(sketch) >= self._bound for at in self._near.query(sketch))

    @staticmethod
    def _sketch(one: Fingerprint) -> "MinHash":
        from datasketch import MinHash
        from numpy import array, uint32

        return MinHash(seed=SEED, hashvalues=array(one.minhash, dtype=uint32), scheme=SCHEME)
