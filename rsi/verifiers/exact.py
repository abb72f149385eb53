"""A short fact in any of its accepted spellings, looked for in the first line of the answer.

It asks whether the fact stands there as whole words, so "Paris", "It is Paris." and "the capital, Paris"
are all right for ["Paris"], and "Parisian" is not. It does not understand: "not Paris" is right too, and so
is a line that lists every capital. What bounds this is the cap on answer tokens in the contract, which
leaves room for a short sentence and not for a list, and that both versions are measured by the same rule.
"""

import re
import unicodedata

import orjson

from rsi.records import Outcome
from rsi.verifiers.outcomes import empty, invalid, scored

LINE = 2000
"""Characters of the first line that are looked at."""
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_TOKEN = re.compile(r"(?<!\w)[-−]?\d+(?:[.,]\d+)*(?![^\W_])|[^\W_]+")


def words(text: str) -> tuple[str, ...]:
    """Normalised words: NFKC, case folded, punctuation gone, "1,000" as 1000, the sign of a number kept."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("−", "-")
    return tuple(_TOKEN.findall(_THOUSANDS.sub("", folded)))


def spellings(expected: str) -> tuple[str, ...]:
    """The spellings of a JSON list of strings; empty when it is no such list or one has no word."""
    try:
        found = orjson.loads(expected)
    except orjson.JSONDecodeError:
        return ()
    if not isinstance(found, list) or not all(isinstance(one, str) and words(one) for one in found):
        return ()
    return tuple(found)


def check(answer: str, expected: str) -> Outcome:
    """Right when the first line with text in it holds an accepted spelling as whole words, in order.

    `expected` is a JSON list of spellings, for instance ``["8", "eight"]``.
    """
    accepted = [words(one) for one in spellings(expected)]
    if not accepted:
        return invalid("expected is not a JSON list of spellings with words")
    line = next((line for line in answer.splitlines() if line.strip()), "")
    if not line:
        return empty()
    said = words(line[:LINE])
    found = any(
        said[at : at + len(spelling)] == spelling
        for spelling in accepted
        for at in range(len(said) - len(spelling) + 1)
    )
    return scored(found)


def gold(expected: str) -> str | None:
    """The first spelling."""
    return next(iter(spellings(expected)), None)
