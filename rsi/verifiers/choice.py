"""One label out of a closed set, said strictly."""

import re

from rsi.records import Outcome, OutcomeKind

_LABEL = re.compile(r"\w[\w-]*")


def choice(answer: str, expected: str) -> Outcome:
    """Right when the answer, without the spaces around it, is the expected label, letter for letter.

    Any other single word is wrong. More than a word, or one with a mark in it ("code."), is wrong format: the
    router's label is used as it stands, so nothing is forgiven.
    """
    if not _LABEL.fullmatch(expected):
        return Outcome(kind=OutcomeKind.INVALID, detail="the expected label is not a single word")
    said = answer.strip()
    if not said:
        return Outcome(kind=OutcomeKind.EMPTY)
    if not _LABEL.fullmatch(said):
        return Outcome(kind=OutcomeKind.WRONG_FORMAT, detail="the answer is not a single word")
    return Outcome(kind=OutcomeKind.SCORED, score=float(said == expected))
