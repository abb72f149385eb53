"""Which language a text is in, as far as scripts and the commonest words tell.

No model: the share of letters by script names languages that have a script of their own, and among those written in
Latin or Cyrillic letters the one whose commonest words make up most of the text. Short texts, mixtures and languages
without a list are `UNKNOWN` or taken for a neighbour; code is unknown or taken for English, whose words it uses.
"""

import re
from collections import Counter
from functools import cache
from pathlib import Path

UNKNOWN = "und"
"""ISO 639's code for undetermined."""
LEAST = 5
"""Words below which nothing is said."""
SHARE = 0.2
"""Least share of the words that are common ones."""
_WORD = re.compile(r"\b[^\W\d_]+\b")
_SCRIPTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("ja", re.compile("[\u3040-\u30ff]")),
    ("ko", re.compile("[\uac00-\ud7af\u1100-\u11ff]")),
    ("zh", re.compile("[\u3400-\u9fff]")),
    ("ar", re.compile("[\u0600-\u06ff\u0750-\u077f]")),
    ("he", re.compile("[\u0590-\u05ff]")),
    ("hi", re.compile("[\u0900-\u097f]")),
    ("bn", re.compile("[\u0980-\u09ff]")),
    ("ta", re.compile("[\u0b80-\u0bff]")),
    ("th", re.compile("[\u0e00-\u0e7f]")),
    ("el", re.compile("[\u0370-\u03ff]")),
    ("ka", re.compile("[\u10a0-\u10ff]")),
    ("hy", re.compile("[\u0530-\u058f]")),
)


@cache
def common() -> dict[str, frozenset[str]]:
    """Language -> its commonest words, from ``common_words.txt``: a line a language, its code first."""
    lines = Path(__file__).with_name("common_words.txt").read_text(encoding="utf-8").splitlines()
    return {code: frozenset(found) for code, *found in (line.split() for line in lines)}


def language(text: str) -> str:
    """ISO 639 code, or `UNKNOWN`."""
    letters = sum(map(len, _WORD.findall(text)))
    if not text.isascii() and letters:
        for code, script in _SCRIPTS:
            # Japanese is a mixture: a fifth of kana tells it from Chinese.
            if len(script.findall(text)) >= (0.2 if code == "ja" else 0.5) * letters:
                return code
    found = [word.casefold() for word in _WORD.findall(text)]
    if len(found) < LEAST:
        return UNKNOWN
    counts = Counter({code: sum(word in known for word in found) for code, known in common().items()})
    (best, most), (_, second) = counts.most_common(2)
    return best if most >= SHARE * len(found) and most > second else UNKNOWN
