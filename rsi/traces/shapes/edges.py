"""Where a value may begin in text that may itself be JSON: never inside an escape such as ``\\n`` or ``\\u00e9``.

Text from traces is often JSON in a string, several levels deep; what is put in the place of a value must leave
every level readable. The same edges exist for RE2 over raw JSON, where one more level of escapes lies on top.
"""

import re
from typing import NamedTuple

RAW_EDGE = r"(?:^|[^0-9A-Za-z_]|\\[bfnrt]|\\u[0-9A-Fa-f]{4})"
"""What stands before a value in raw JSON."""

_ESCAPES = "bfnrt"
_HEX = re.compile(r"[0-9A-Fa-f]{4}")
_ID = re.compile(
    r"(?i:(?:^|[_.-])(?:id|ids|uid|uuid|guid|seed|hash|digest|sha\d*|md5|checksum|etag|ts|ns|ms|at|nanos?)$"
    r"|(?:time|timestamp|nano|nanos|created|updated|fingerprint|offset|bytes)$)|(?:Id|ID|Ids|Uid|Uuid|At|Ns|Ms)$"
)
_NAME = re.compile(r"[\w.-]+$")
_LOOK_BACK = 80


class Found(NamedTuple):
    """A value in a text."""

    start: int
    end: int
    value: str
    """What it says, without the escapes of its place."""


def begins(text: str, at: int) -> bool:
    """Whether a value may begin at `at`: after no letter, digit or underscore, unless an escape ends there."""
    if not at:
        return True
    before = text[at - 1]
    if before == "\\":
        return text[at] not in "bfnrtu"
    if not (before.isalnum() or before == "_"):
        return True
    if before in _ESCAPES and text[max(at - 2, 0) : at - 1] == "\\":
        return True
    return text[max(at - 6, 0) : at - 4] == "\\u" and _HEX.match(text, at - 4) is not None


def opened(text: str, at: int) -> int:
    """The first place from `at` on that is not inside an escape."""
    if not at or text[at - 1] != "\\":
        return at
    if text[at] == "u" and _HEX.match(text, at + 1):
        return at + 5
    return at + 1 if text[at] in _ESCAPES else at


def is_id(name: str) -> bool:
    """Whether a field of that name holds ids, times or sizes, whose digits mean nothing to a person."""
    return _ID.search(name) is not None


def field_before(text: str, at: int) -> str:
    """The name of the field whose value begins at `at` in JSON or code inside a text; "" where there is none."""
    before = text[max(at - _LOOK_BACK, 0) : at].rstrip(" \t\"'\\")
    if not before.endswith((":", "=")):
        return ""
    found = _NAME.search(before[:-1].rstrip(" \t\"'\\")[-_LOOK_BACK // 2 :])
    return found.group() if found else ""


def lowered(text: str) -> str:
    """In lower case, each character in its place."""
    low = text.lower()
    return low if len(low) == len(text) else text.replace("\u0130", "I").lower()


def apart(found: list[Found]) -> list[Found]:
    """In order, without those that overlap an earlier one."""
    kept: list[Found] = []
    for one in sorted(found):
        if not kept or one.start >= kept[-1].end:
            kept.append(one)
    return kept
