"""What a text hides in an encoding: spans of base64, hex, percent, HTML and backslash escapes as plain text.

Not seen: ROT13, compression, encryption, reversed text, text in pictures.
"""

import base64
import html
import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote_plus

DEPTH = 3
"""Encodings inside encodings that are opened."""
MOST = 16
"""Spans of one text that are opened."""
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/_-]{12,}(?:\r?\n|\\n)?)+[A-Za-z0-9+/_-]*={0,2}")
_HEX = re.compile(r"(?:(?:0x|\\x)?[0-9A-Fa-f]{2}[ :,]?){8,}")
_HEX_MARKS = re.compile(r"0x|\\x|[ :,]")
_PERCENT = re.compile(r"%[0-9A-Fa-f]{2}")
_ENTITY = re.compile(r"&(?:#x?[0-9A-Fa-f]{1,6}|[a-z]{2,8});")
_ESCAPE = re.compile(r"\\u([0-9A-Fa-f]{4})|\\x([0-9A-Fa-f]{2})")
_ANY = re.compile(
    r"[A-Za-z0-9+/_-]{12}|[0-9A-Fa-f]{2}[ :,][0-9A-Fa-f]{2}[ :,]|%[0-9A-Fa-f]{2}|&[#a-z]|\\[ux]"
)


class Hidden(NamedTuple):
    """A span and what it says."""

    encoding: str
    text: str


def hidden(text: str) -> list[Hidden]:
    """Every decoded span of a text, and of those again."""
    found: list[Hidden] = []
    level = [text]
    for _ in range(DEPTH):
        level = [
            one.text for part in level for one in _once(part) if len(found) < MOST and _added(found, one)
        ]
    return found


def _added(found: list[Hidden], one: Hidden) -> bool:
    if any(one.text == other.text for other in found):
        return False
    found.append(one)
    return True


def _once(text: str) -> Iterator[Hidden]:
    if not _ANY.search(text):
        return
    if len(_PERCENT.findall(text)) > 1:
        yield Hidden("percent", unquote_plus(text, errors="replace"))
    if _ENTITY.search(text):
        yield Hidden("html", html.unescape(text))
    if _ESCAPE.search(text):
        yield Hidden("escapes", _ESCAPE.sub(lambda one: chr(int(one[1] or one[2], 16)), text))
    for span in _BASE64.finditer(text):
        for part in (span[0], *span[0].split("\n")):
            said = _base64(part)
            if said is not None:
                yield Hidden("base64", said)
                break
    for span in _HEX.finditer(text):
        digits = _HEX_MARKS.sub("", span[0])
        said = _plain(bytes.fromhex(digits[: len(digits) // 2 * 2]))
        if said is not None:
            yield Hidden("hex", said)


def _base64(span: str) -> str | None:
    body = re.sub(r"\s|\\n|=", "", span).replace("-", "+").replace("_", "/")
    # One letter too many at the end is a letter of the sentence around it.
    body = body[: len(body) - (len(body) % 4 == 1)]
    try:
        return _plain(base64.b64decode(body + "=" * (-len(body) % 4), validate=True))
    except ValueError:
        return None


def _plain(data: bytes) -> str | None:
    """Bytes as text, where most of it can be read."""
    for encoding in ("utf-8", "utf-16-le"):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        seen = sum(one.isalnum() or one.isspace() or (" " < one < "\x7f") for one in text)
        if text and seen >= 0.9 * len(text) and (encoding == "utf-8" or text.isascii()):
            return text
    return None
