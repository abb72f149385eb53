"""Personal values in a task: the second line behind redaction, which replaces them at ingest.

What a generator made up, or what came in while redaction was off, is met here. The detectors and the allow-list are
those of `rsi.traces.redact`; pseudonyms pass.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from rsi.intake import Kind
from rsi.traces.redact import Redactor

_PSEUDONYM = re.compile(r"<([a-z]+):[0-9a-f]{10}>")


class Personal(NamedTuple):
    """What was found, said without repeating it."""

    kinds: tuple[Kind, ...]
    masked: str
    """The text with a name of its kind in the place of each value."""


class Detector:
    """Finds personal values; made once for a screening."""

    def __init__(self, allow: Sequence[str] = (), kinds: Sequence[Kind] = tuple(Kind)) -> None:
        """`allow` names values that may stand, exactly or as ``*@example.com``."""
        self._redactor = Redactor(b"screen", allow, frozenset(kinds))

    def find(self, text: str) -> Personal | None:
        """The kinds of values in a text; null where there is none."""
        if text.isalpha():
            return None
        masked, counts = self._redactor.text(text)
        if not counts:
            return None
        return Personal(tuple(kind for kind in Kind if counts[kind.value]), _PSEUDONYM.sub(r"<\1>", masked))
