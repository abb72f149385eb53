"""Mail addresses, also where JSON inside the text writes the at sign as an escape."""

import re
from collections.abc import Iterator

from rsi.intake import Kind
from rsi.traces.shapes.edges import Found, opened

KIND: Kind = Kind.EMAIL
NAMES: re.Pattern[str] | None = None
RAW = r"[0-9A-Za-z._%+'\-\x80-\xff]@(?:[0-9A-Za-z\x80-\xff]|\\+u)[^\s\"@]*\.(?:[A-Za-z\x80-\xff]|\\+u)"

_AT = re.compile(
    r"(?<=[\w.%+'-])(@|\\++u0040)((?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,8}[^\W\d_]{2,24})(?![\w(]|-\w)"
)
_LOCAL = "._%+-'"
_MAX_LOCAL = 64
_NO_DOMAIN = re.compile(r"\d+(?:\.\d+|x\.)")
"""A version or the size of a picture: ``left-pad@1.3.0-rc.one``, ``logo@2x.png``."""
_NOBODY = ("git",)
"""What stands before the host of a repository."""


def find(text: str) -> Iterator[Found]:
    """Addresses in a text."""
    if "@" not in text and "u0040" not in text:
        return
    done = 0
    for one in _ats(text):
        begin = _begin(text, one.start(), done)
        local = text[begin : one.start()]
        if not local or local in _NOBODY or _NO_DOMAIN.match(one.group(2)):
            continue
        done = one.end()
        yield Found(begin, one.end(), f"{local}@{one.group(2)}")


def named(value: str) -> bool:
    """No name of a field makes an address of what is none."""
    return False


def normal(value: str) -> str:
    """In lower case."""
    return value.lower()


def _ats(text: str) -> Iterator[re.Match[str]]:
    """At signs with a domain behind them. Signs are found first: to try the expression everywhere takes longer."""
    if "u0040" in text:
        yield from _AT.finditer(text)
        return
    at = text.find("@")
    while at >= 0:
        one = _AT.match(text, at)
        if one:
            yield one
        at = text.find("@", one.end() if one else at + 1)


def _begin(text: str, at: int, done: int) -> int:
    """Where the part before the at sign begins."""
    begin, least = at, max(done, at - _MAX_LOCAL)
    while begin > least and (text[begin - 1].isalnum() or text[begin - 1] in _LOCAL):
        begin -= 1
    begin = min(opened(text, begin), at)
    while begin < at and text[begin] in "'.-":
        begin += 1
    return begin
