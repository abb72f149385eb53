"""Keys and tokens of well-known shapes: what providers put at the front of theirs tells them apart from words."""

import base64
import binascii
import re
from collections.abc import Iterator

from rsi.intake import Kind
from rsi.traces.shapes.edges import RAW_EDGE, Found, apart, begins

KIND: Kind = Kind.KEY
NAMES: re.Pattern[str] | None = None

_W = r"[0-9A-Za-z_-]"
_A = "[0-9A-Za-z]"
_SHAPES = {
    "sk-": _W + "{16,}",
    "sk_live_": _A + "{10,}",
    "sk_test_": _A + "{10,}",
    "rk_live_": _A + "{10,}",
    "rk_test_": _A + "{10,}",
    "whsec_": _A + "{16,}",
    "ghp_": _A + "{20,}",
    "gho_": _A + "{20,}",
    "ghu_": _A + "{20,}",
    "ghs_": _A + "{20,}",
    "ghr_": _A + "{20,}",
    "github_pat_": "[0-9A-Za-z_]{20,}",
    "glpat-": _W + "{16,}",
    "xoxa-": _W + "{10,}",
    "xoxb-": _W + "{10,}",
    "xoxe-": _W + "{10,}",
    "xoxo-": _W + "{10,}",
    "xoxp-": _W + "{10,}",
    "xoxr-": _W + "{10,}",
    "xoxs-": _W + "{10,}",
    "xapp-": _W + "{16,}",
    "AKIA": "[0-9A-Z]{16}(?![0-9A-Za-z])",
    "ASIA": "[0-9A-Z]{16}(?![0-9A-Za-z])",
    "AIza": _W + "{30,}",
    "ya29.": _W + "{16,}",
    "GOCSPX-": _W + "{16,}",
    "eyJ": _W + r"{8,}+\.(?:eyJ" + _W + r"{4,}+(?:\." + _W + r"*+)?|" + _W + r"*+(?:\." + _W + "*+){3})",
    "hf_": _A + "{20,}",
    "npm_": _A + "{20,}",
    "pypi-": _W + "{20,}",
    "SG.": _W + r"{16,}+\." + _W + "{16,}",
    "gsk_": _A + "{20,}",
    "xai-": _A + "{20,}",
    "pplx-": _A + "{20,}",
    "nvapi-": _W + "{20,}",
    "r8_": _A + "{20,}",
    "lsv2_": "(?:pt|sk)_[0-9a-z_]{20,}",
    "tvly-": _W + "{16,}",
    "dop_v1_": "[0-9a-f]{32,}",
    "shpat_": "[0-9a-f]{32,}",
    "dapi": "[0-9a-f]{32}(?![0-9A-Za-z])",
    "ATATT3": "[0-9A-Za-z_=-]{20,}",
    "AGE-SECRET-KEY-1": "[0-9A-Z]{20,}",
}
"""What a key begins with, and the rest of it."""
_REST = {front: re.compile(rest) for front, rest in _SHAPES.items()}
_SHORTEST = 15
"""Characters of the shortest of them."""
_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]{0,30}PRIVATE KEY[A-Z ]{0,10})-----((?:[^-\"']|-(?!----))*+)")
_BLOCK_END = re.compile(r"-----END [A-Z0-9 ]{0,40}-----")
_SCHEME = re.compile(r"(?i:(bearer)|basic)[ \t]{1,4}((?:[0-9A-Za-z._~+/=-]|\\/){8,}+)")
_HOOK = re.compile(r"hooks\.slack\.com(?:\\*/)services(?:\\*/)((?:[0-9A-Za-z_]|\\*/){16,}+)")
_RUN = re.compile("[0-9A-Za-z]{20}")


def _raw() -> str:
    """The same as RE2: the least that a key has behind its front."""
    least = {front: re.sub(r"\{(\d+),\}$", r"{\1}", rest) for front, rest in _SHAPES.items()}
    least |= {front: re.sub(r"\(\?!.*\)$", "", rest) for front, rest in least.items() if "(?!" in rest}
    least["eyJ"] = _W + r"{8,}\."
    least["SG."] = _W + r"{16,}\." + _W + "{16}"
    known = "|".join(re.escape(front) + rest for front, rest in least.items())
    return (
        rf"{RAW_EDGE}(?:{known})|BEGIN [A-Z0-9 ]{{0,30}}PRIVATE KEY|hooks\.slack\.com"
        r"|(?i:bearer|basic)(?:[ \t]|\\t)+[0-9A-Za-z._~+/=\\\-]{8}"
    )


RAW = _raw()


def find(text: str) -> Iterator[Found]:
    """Keys in a text, as long as they are."""
    found: list[Found] = []
    for front, rest in _REST.items() if len(text) >= _SHORTEST else ():
        at = text.find(front)
        while at >= 0:
            match = rest.match(text, at + len(front)) if begins(text, at) else None
            if match and _strong(match.group()):
                found.append(Found(at, match.end(), text[at : match.end()]))
            at = text.find(front, match.end() if match else at + 1)
    if "PRIVATE KEY" in text:
        found += _blocks(text)
    if "hooks.slack.com" in text:
        found += [Found(*one.span(1), one.group(1)) for one in _HOOK.finditer(text)]
    low = text.lower()
    if "bearer" in low or "basic" in low:
        found += [
            Found(*one.span(2), one.group(2))
            for one in _SCHEME.finditer(text)
            if (_is_token(one.group(2)) if one.group(1) else _is_login(one.group(2)))
        ]
    yield from apart(found)


def named(value: str) -> bool:
    """Fields named after keys are `passwords`' to know."""
    return False


def normal(value: str) -> str:
    """As it is."""
    return value


def _strong(rest: str) -> bool:
    """Whether it looks drawn at random: words with dashes between them have no digits and are short."""
    return any(map(str.isdigit, rest)) or _RUN.search(rest) is not None


def _is_token(value: str) -> bool:
    return len(value) >= 20 or any(map(str.isdigit, value))


def _is_login(value: str) -> bool:
    """Base64 of name:password; the word basic has other neighbours too."""
    try:
        return b":" in base64.b64decode(value.replace("\\/", "/"), validate=True)
    except (binascii.Error, ValueError):
        return False


def _blocks(text: str) -> Iterator[Found]:
    """Private keys with their first and last line; where the last is cut off, up to the end."""
    for one in _BLOCK.finditer(text):
        if not one.group(2).strip():
            continue
        end = _BLOCK_END.match(text, one.end())
        stop = end.end() if end else one.end() - (len(one.group()) - len(one.group().rstrip("\\")))
        yield Found(one.start(), stop, text[one.start() : stop])
