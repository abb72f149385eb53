"""Words of a text, folded so that the same text in other clothes has the same words.

NFKC, case, accents, characters that are not seen (zero-width, bidi, tags, soft hyphens) and letters of other
scripts that look like Latin ones are folded; punctuation and spaces separate words and say nothing. A character of a
script that is written without spaces is a word.
"""

import re
import unicodedata

_WORD = re.compile(r"[^\W_]+")
_ALONE = re.compile("([\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0e7f])")
_LOOK = "аеорсухівјѕһԁԛԝкмнтгαεορικνυχτηβγ"
_LIKE = "aeopcyxibjshdqwkmhtraeopikvuxtnby"
_LATIN = str.maketrans(_LOOK, _LIKE)
"""Cyrillic and Greek letters -> the Latin ones they look like; the same on both sides, so real Russian or Greek
still equals itself."""
_ENDINGS = ("ing", "ed", "es", "s")
_STEM = 4


def words(text: str) -> list[str]:
    """The folded words of a text, in order."""
    if text.isascii():
        return _WORD.findall(text.lower())
    # Folded twice: some characters decompose into others that fold again.
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold()).casefold()
    seen = "".join(one for one in folded if unicodedata.category(one) not in ("Cf", "Mn"))
    return _WORD.findall(_ALONE.sub(r" \1 ", seen.translate(_LATIN)))


def stem(word: str) -> str:
    """A word without its commonest English endings, so that "booked" and "books" are near "book"."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _STEM:
            return word[: -len(ending)]
    return word
