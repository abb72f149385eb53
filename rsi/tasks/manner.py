"""How something is said, whatever it says: whether an answer refuses, and whether it repeats itself."""

import re
from collections.abc import Hashable, Sequence

RUN = 4
"""Pieces in a row that count as the same words again."""
LEAST = 16
"""Fewer pieces than this are no loop."""
_REFUSAL = re.compile(
    r"\W*((i['\u2019]?m|i am|we are|we['\u2019]re)\W+)?((really|very|so|truly)\W+)?"
    r"((sorry|afraid|unfortunately|i apologi[sz]e)\W+)?((but|that|for \w+ \w+)\W+)?"
    r"i\W?(can['\u2019]?t|cannot|can not|am unable|['\u2019]?m unable|am not able|['\u2019]?m not able|was unable"
    r"|could not|couldn['\u2019]t)\b",
    re.IGNORECASE,
)


def refuses(text: str) -> bool:
    """Whether the first words of an answer are a refusal in the first person, in English."""
    return _REFUSAL.match(text) is not None


def looped(pieces: Sequence[Hashable]) -> bool:
    """Whether more than half of the runs of `RUN` pieces, tokens or words, were said before in the same answer."""
    runs = [tuple(pieces[at : at + RUN]) for at in range(len(pieces) - RUN + 1)]
    return len(pieces) >= LEAST and 2 * len(set(runs)) < len(runs)


def repeats(text: str) -> bool:
    """Whether a text loops, in words; one of few words, or without blanks between them, in characters."""
    words = text.split()
    return looped(words if len(words) >= LEAST else text)
