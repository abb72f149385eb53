"""Passwords and the like: values of fields that are named so, and what stands between name and host in a URL."""

import json
import re
from collections.abc import Iterator

from rsi.intake import Kind
from rsi.traces.shapes.edges import Found, apart, lowered

KIND: Kind = Kind.PASSWORD
_NAMES = (
    r"passw(?:or)?d|passphrase|passcode|pwd|secret|authorization"
    r"|(?:api|access|secret|secret[_-]?access|private|account)[_-]?key"
    r"|(?:auth|access|refresh|id|session|bearer|api)[_-]?token"
)
NAMES: re.Pattern[str] | None = re.compile(rf"(?i:{_NAMES})\d{{0,2}}$", re.ASCII)
RAW = rf"(?i:{_NAMES})|(?i:(?:[?&]|\\u0026)(?:token|key|sig|signature|x-amz-signature)=)|/[^\s/\"@]*:[^\s/\"@]+@"

_ENDS = ("password", "passwd", "passphrase", "passcode", "pwd", "secret", "authorization", "key", "token")
"""What the names end with."""
_WHOLE_NAME = re.compile(rf"(?i:{_NAMES})$", re.ASCII)
_MAX_NAME, _MAX_TRIES = 20, 8
_FIELD = re.compile(
    r"\d{0,2}\\*+[\"'`]?\]?(?P<before>[ \t]{0,4})(?P<sign>=>|:=|=|:)(?P<after>[ \t]{0,4})"
    r"(?:(?P<slashes>\\*+)(?P<quote>[\"'`])|(?:(?i:bearer|basic|token|digest)[ \t]{1,4})?"
    r"(?P<bare>[^\s\"'`<>\\,;&(){}\[\]]++)(?P<next>[(\[]?))",
    re.ASCII,
)
_PLAIN = {quote: re.compile(rf"(?:[^{quote}\\\n]|\\.)*+") for quote in "\"'`"}
_ESCAPED = {quote: re.compile(rf"(?:[^{quote}\\\n]|\\+[^{quote}\\\n])*+") for quote in "\"'`"}
_QUERY = re.compile(r"[?&](?i:token|key|sig|signature|x-amz-signature)=([0-9A-Za-z._~%+/=-]{16,}+)")
_LOGIN = re.compile(r":\\*/\\*/[^\s/?#@:\"'`<>\\]{0,256}:([^\s/@\"'`<>\\]{1,256})@")
_PSEUDONYM = re.compile(r"<[a-z]{2,12}:[0-9a-f]{10}>")
_PLACEHOLDER = re.compile(
    r"[*x.\u2022_-]+|\$\{?[A-Za-z_]\w*\}?|%\(?\w*\)?s|\{.*|\[.*|<.*|(?i:none|null|nil|true|false|undefined|string\??|str"
    r"|required|optional|redacted|masked|hidden|your[_ -].*|bearer|basic)"
)
_WORD = re.compile(r"[^\W\d]+[.!?:]*")
_PATH = re.compile(r"[A-Za-z_]\w*+(?:\.\w++)++|.*(?i:password|passwd|secret|token|key|environ|getenv).*")
"""Code that fetches the value from somewhere."""


def find(text: str) -> Iterator[Found]:
    """Values of fields and passwords of URLs in a text."""
    found = [one for match in _fields(text) if (one := _assigned(text, match)) is not None]
    if "/" in text and "@" in text:
        found += [
            Found(*one.span(1), one.group(1)) for one in _LOGIN.finditer(text) if _is_value(one.group(1))
        ]
    found += [
        Found(*one.span(1), one.group(1))
        for one in _QUERY.finditer(text)
        if any(map(str.isdigit, one.group(1)))
    ]
    yield from apart(found)


def named(value: str) -> bool:
    """Whether a field named a password holds one, and not a type, a path or the place of one."""
    return _is_value(value) and not value.startswith(("/", "~", "http://", "https://"))


def normal(value: str) -> str:
    """As it is."""
    return value


def _fields(text: str) -> Iterator[re.Match[str]]:
    """Signs behind the names of such fields. Names are found by their ends, since most texts have none."""
    low = lowered(text)
    for end in _ENDS:
        run = tries = 0
        at = low.find(end)
        while at >= 0:
            stop = at + len(end)
            match = _named_field(text, stop)
            if match:
                yield match
                # Names inside a value: each would go through the rest of it again.
                tries = tries + 1 if at < run else 0
                run = match.end()
                stop = stop if tries < _MAX_TRIES else max(stop, run)
            at = low.find(end, stop)


def _named_field(text: str, at: int) -> re.Match[str] | None:
    return _FIELD.match(text, at) if _WHOLE_NAME.search(text[max(at - _MAX_NAME, 0) : at]) else None


def _assigned(text: str, match: re.Match[str]) -> Found | None:
    if match["quote"]:
        pattern = (_ESCAPED if match["slashes"] else _PLAIN)[match["quote"]]
        inside = pattern.match(text, match.end())
        if inside is None or not named(inside.group()):
            return None
        return Found(*inside.span(), _said(inside.group(), match["quote"], len(match["slashes"])))
    value = match["bare"]
    spaced = match["sign"] != "=" or match["before"] or match["after"]
    if not named(value) or len(value) < 3 or match["next"] or _PATH.fullmatch(value):
        return None
    if spaced and _WORD.fullmatch(value):
        # A word behind a colon is more often prose than a password, behind an equal sign more often a variable.
        return None
    value = value.rstrip(".") if spaced else value
    return Found(match.start("bare"), match.start("bare") + len(value), value)


def _is_value(value: str) -> bool:
    plain = value.strip()
    return bool(plain) and not _PLACEHOLDER.fullmatch(plain) and not _PSEUDONYM.search(plain)


def _said(value: str, quote: str, slashes: int) -> str:
    """A quoted value without the escapes of the JSON around it."""
    if quote != '"' or "\\" not in value:
        return value
    for _ in range((slashes + 1).bit_length()):
        try:
            value = str(json.loads(f'"{value}"', strict=False))
        except ValueError:
            break
    return value
