"""One label out of a closed set, said strictly."""

import re

from rsi.records import Outcome
from rsi.verifiers.outcomes import empty, invalid, scored, wrong_format

_LABEL = re.compile(r"\w[\w-]*")


def check(answer: str, expected: str) -> Outcome:
    """Right when the answer, without the spaces around it, is the expected label, letter for letter.

    Any other single word is wrong. More than a word, or one with a mark in it ("code."), is wrong format: the
    router's label is used as it stands, so nothing is forgiven.
    """
    if not _LABEL.fullmatch(expected):
        return invalid("the expected label is not a single word")
    said = answer.strip()
    if not said:
        return empty()
    if not _LABEL.fullmatch(said):
        return wrong_format("the answer is not a single word")
    return scored(said == expected)


def gold(expected: str) -> str:
    """The label itself."""
    return expected
