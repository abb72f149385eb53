"""Fingerprints of texts: what the loop may know of held-out items.

The gate's side writes them beside its suites; the loop compares its proposals with them and never sees a text.
Three kinds of digest, each over folded words (`rsi.tasks.words`):

* `exact`: of all letters and digits, without spaces;
* `grams`: of every run of 13 words, of 8 words where the text has fewer than 16, of all words where it has 5 to 7;
  below that a run says too little;
* `minhash`: MinHash (Broder 1997; scheme and permutations of datasketch) over pairs of stems that stand up to three
  words apart, the text's two ends counting as words. One changed word leaves most pairs as they are, in a short text
  too, and no single word is hashed.

What digests do not hide: whoever guesses a text can tell that it is held out, and the pairs of a signature can be
tried with a word list in some 10^9 steps. A salt that lies beside them would not change that. They keep text from
being read, copied or trained on, not from an attacker who reads the file.
"""

import hashlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from rsi.ids import digest_bytes
from rsi.tasks.words import stem, words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Hashes = NDArray[np.uint64]
    Signatures = NDArray[np.uint32]

PERMUTATIONS = 128
SEED = 1
SCHEME = "affine32"
"""Of datasketch 2.0; signatures of different schemes do not mix, so it is named rather than defaulted."""
LONG, SHORT, LEAST = 13, 8, 5
"""Words of a run: of a long text, of a short one, and the fewest."""
SHORT_BELOW = 16
"""Words from which a text is long."""
APART = 3
"""Largest distance of the two words of a pair."""
_ENDS = ("\x02", "\x03")
_BLOCK = 1 << 13
"""Pairs that are permuted at once: 4 MiB."""


class Fingerprint(NamedTuple):
    """One text, as digests."""

    exact: str
    """SHA-256 of its letters and digits; of the text itself where it has none."""
    run: int
    """Words of each of `grams`; 0 where there are none."""
    grams: tuple[int, ...]
    """64-bit hashes, sorted."""
    minhash: tuple[int, ...]
    """`PERMUTATIONS` 32-bit values."""


class Hashed(NamedTuple):
    """Texts as hashes of their words, one after the other."""

    words: "Hashes"
    stems: "Hashes"
    """With a hash for each end of a text: two more than its words."""
    starts: "NDArray[np.int64]"
    """Where in `words` each text begins, and at the end their number."""


def exact(found: Sequence[str], text: str) -> str:
    """The exact digest of a text with these words."""
    return digest_bytes(("".join(found) or text.strip()).encode("utf-8", "surrogatepass"))


def fingerprint(text: str) -> Fingerprint:
    """The fingerprint of a text."""
    return fingerprints([text])[0]


def fingerprints(texts: Sequence[str]) -> list[Fingerprint]:
    """The fingerprint of each text."""
    told = [words(text) for text in texts]
    hashes = hashed(told)
    sketches = signatures(hashes)
    found = []
    for at, (text, part) in enumerate(zip(texts, told, strict=True)):
        run = run_of(len(part))
        own = hashes.words[hashes.starts[at] : hashes.starts[at + 1]]
        grams = tuple(sorted(set(runs(own, run).tolist()))) if run else ()
        found.append(Fingerprint(exact(part, text), run, grams, tuple(sketches[at].tolist())))
    return found


def run_of(count: int) -> int:
    """How long the runs of a text with `count` words are."""
    if count >= SHORT_BELOW:
        return LONG
    if count >= SHORT:
        return SHORT
    return count if count >= LEAST else 0


def hashed(texts: Iterable[Sequence[str]]) -> Hashed:
    """Texts, given by their words, as hashes."""
    import numpy as np

    known: dict[str, tuple[int, int]] = {}
    first, last = (_hash(end) for end in _ENDS)
    plain, stems, starts = list[int](), list[int](), [0]
    for text in texts:
        stems.append(first)
        for word in text:
            pair = known.get(word)
            if pair is None:
                pair = known[word] = (_hash(word), _hash(stem(word)))
            plain.append(pair[0])
            stems.append(pair[1])
        stems.append(last)
        starts.append(len(plain))
    return Hashed(
        np.array(plain, dtype=np.uint64),
        np.array(stems, dtype=np.uint64),
        np.array(starts, dtype=np.int64),
    )


def runs(hashes: "Hashes", length: int) -> "Hashes":
    """A hash for each run of `length` words; also for runs that cross from one text into the next."""
    import numpy as np

    count = max(len(hashes) - length + 1, 0)
    found = np.full(count, length, dtype=np.uint64)
    for at in range(length):
        found = mixed(found * np.uint64(0x9E3779B97F4A7C15) + hashes[at : at + count])
    return found


def signatures(told: Hashed) -> "Signatures":
    """MinHash of each text, shape (texts, `PERMUTATIONS`)."""
    import numpy as np

    factors, offsets = _permutations()
    features, starts = pairs(told)
    found = np.empty((len(starts) - 1, PERMUTATIONS), dtype=np.uint32)
    at = 0
    while at < len(found):
        stop = max(int(np.searchsorted(starts, starts[at] + _BLOCK, side="right")) - 1, at + 1)
        some = features[starts[at] : starts[stop], None] * factors + offsets
        found[at:stop] = np.minimum.reduceat(some, starts[at:stop] - starts[at], axis=0)
        at = stop
    return found


@lru_cache(maxsize=1)
def _permutations() -> "tuple[NDArray[np.uint32], NDArray[np.uint32]]":
    """Factor and offset of each permutation."""
    import numpy as np
    from datasketch import MinHash

    factors, offsets = MinHash(num_perm=PERMUTATIONS, seed=SEED, scheme=SCHEME).permutations
    return np.asarray(factors, dtype=np.uint32), np.asarray(offsets, dtype=np.uint32)


def pairs(told: Hashed) -> "tuple[NDArray[np.uint32], NDArray[np.int64]]":
    """Hashed pairs of stems of each text, one text after the other, and where each text's begin."""
    import numpy as np

    stems = told.stems
    ends = told.starts + 2 * np.arange(len(told.starts))
    owner = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    found, owners = list["Hashes"](), list["NDArray[np.int64]"]()
    for apart in range(1, APART + 1):
        inside = owner[apart:] == owner[:-apart]
        both = stems[:-apart] * np.uint64(0xFF51AFD7ED558CCD) + stems[apart:] + np.uint64(apart)
        found.append(mixed(both)[inside])
        owners.append(owner[apart:][inside])
    order = np.argsort(np.concatenate(owners), kind="stable")
    features = _finished((np.concatenate(found)[order] >> np.uint64(32)).astype(np.uint32))
    counts = np.bincount(np.concatenate(owners), minlength=len(ends) - 1)
    return features, np.concatenate(([0], np.cumsum(counts))).astype(np.int64)


def _hash(word: str) -> int:
    return int.from_bytes(
        hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little"
    )


def mixed(values: "Hashes") -> "Hashes":
    """The 64-bit finaliser of splitmix (Steele et al. 2014)."""
    import numpy as np

    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    found: Hashes = values ^ (values >> np.uint64(31))
    return found


def _finished(values: "NDArray[np.uint32]") -> "NDArray[np.uint32]":
    """The 32-bit finaliser that datasketch's scheme applies before it permutes."""
    import numpy as np

    values = (values ^ (values >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    values = (values ^ (values >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    finished: NDArray[np.uint32] = values ^ (values >> np.uint32(16))
    return finished
