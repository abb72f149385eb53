"""Duplicates among proposals: the same conversation with the same expectation, or one that is nearly the same.

A nearly same text with another expectation is another task: slots were filled otherwise, and so is the answer.
"""

import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from rsi.records import Task
from rsi.tasks.fingerprint import PERMUTATIONS, exact, hashed, signatures
from rsi.tasks.words import words

if TYPE_CHECKING:
    from rsi.tasks.fingerprint import Signatures

ROWS = 8
"""Values of a signature that must be equal for a look: at a similarity of 0.9 a twin is missed once in 8,000."""
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

    bands = [sketches[:, at : at + ROWS] for at in range(0, PERMUTATIONS, ROWS)]
    buckets: dict[tuple[object, ...], list[int]] = defaultdict(list)
    found = []
    for row in range(len(sketches)):
        keys = [(place, kinds[row], band[row].tobytes()) for place, band in enumerate(bands)]
        near = sorted({one for key in keys for one in buckets[key][-LOOKED_AT:]})[-LOOKED_AT:]
        if near:
            shares = (sketches[near] == sketches[row]).mean(axis=1)
            best = int(np.argmax(shares))
            if shares[best] >= bound:
                found.append((row, near[best], float(shares[best])))
                continue
        for key in keys:
            buckets[key].append(row)
    return found
