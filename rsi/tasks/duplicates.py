"""Duplicates among proposals: the same conversation with the same expectation, or one that is nearly the same.

A nearly same text with another expectation is another task: slots were filled otherwise, and so is the answer.
"""

import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rsi.records import Task
from rsi.tasks.fingerprint import PERMUTATIONS, exact, hashed, mixed, signatures
from rsi.tasks.words import words

if TYPE_CHECKING:
    from rsi.tasks.fingerprint import Signatures

ROWS = 8
"""Values of a signature that must be equal for a look: at a similarity of 0.85 a twin is missed once in 160."""
LOOKED_AT = 256
"""Most candidates a look compares with, the latest ones; bounds what one much used template costs."""
_END = " \t\n.!?…"


class Twin(NamedTuple):
    """An earlier task that says the same."""

    of: str
    share: float
    """Similarity; 1 where letters and digits are the same."""


def said(task: Task) -> str:
    """The conversation of a task as one text."""
    return "\n".join(f"{one.role} {one.content}" for one in task.messages)


def asked(task: Task) -> tuple[str, str]:
    """What is asked, told apart by case and spaces no more: two expectations for it contradict each other."""
    folded = unicodedata.normalize("NFKC", said(task)).casefold()
    return task.hop, " ".join(folded.split()).rstrip(_END)


def twins(tasks: Sequence[Task], bound: float) -> list[Twin | None]:
    """For each task an earlier one that stays and says the same; null where it is the first."""
    texts = [said(one) for one in tasks]
    told = [words(one) for one in texts]
    kinds = [(one.hop, one.verifier, one.expected) for one in tasks]
    found: list[Twin | None] = [None] * len(tasks)
    first: dict[tuple[str, ...], str] = {}
    left = []
    for at, one in enumerate(tasks):
        key = (*kinds[at], exact(told[at], texts[at]))
        if key in first:
            found[at] = Twin(first[key], 1.0)
        else:
            first[key] = one.task_id
            left.append(at)
    sketches = signatures(hashed(told[at] for at in left))
    for row, at, share in _near([kinds[at] for at in left], sketches, bound):
        found[left[row]] = Twin(tasks[left[at]].task_id, share)
    return found


def _near(
    kinds: Sequence[tuple[str, ...]], sketches: "Signatures", bound: float
) -> list[tuple[int, int, float]]:
    """(row, earlier row that stays, similarity) of each row that is near one."""
    import numpy as np

    buckets: dict[int, list[int]] = defaultdict(list)
    found = []
    for row, shared in enumerate(_shared(kinds, sketches)):
        near = sorted({one for key in shared for one in buckets[key][-LOOKED_AT:]})[-LOOKED_AT:]
        if near:
            shares = (sketches[near] == sketches[row]).mean(axis=1)
            best = int(np.argmax(shares))
            if shares[best] >= bound:
                found.append((row, near[best], float(shares[best])))
                continue
        for key in shared:
            buckets[key].append(row)
    return found


def _shared(kinds: Sequence[tuple[str, ...]], sketches: "Signatures") -> Iterator[list[int]]:
    """For each row the keys of its bands that another row of its kind has as well; most rows have none."""
    import numpy as np

    numbers = {kind: at for at, kind in enumerate(sorted(set(kinds)))}
    own = np.array([numbers[kind] for kind in kinds], dtype=np.uint64)
    bands = PERMUTATIONS // ROWS
    keys = np.empty((len(sketches), bands), dtype=np.uint64)
    for place in range(bands):
        values = sketches[:, place * ROWS : (place + 1) * ROWS].astype(np.uint64)
        keys[:, place] = own * np.uint64(bands) + np.uint64(place)
        for at in range(ROWS):
            keys[:, place] = mixed(keys[:, place] + values[:, at])
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    inverse = inverse.reshape(keys.shape)
    often = counts[inverse] > 1
    for row in range(len(sketches)):
        yield inverse[row, often[row]].tolist()
