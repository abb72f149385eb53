"""Phone numbers: international ones, the usual national shapes, and digits that a word or a field calls a phone.

Ten digits in a row are no phone number without such a word: they are as often an id.
"""

import re
from collections.abc import Iterator

from rsi.intake import Kind
from rsi.traces.shapes.edges import Found, apart, begins, field_before, is_id, lowered

KIND: Kind = Kind.PHONE
NAMES: re.Pattern[str] | None = re.compile(
    r"(?i:phone|mobile|fax|whatsapp|msisdn|(?:^|[^a-z])tel)(?:[_ -]?(?i:number|no|num|nr))?[_ -]?\d?$"
)
_GAP = r"(?:[ .\-]|\xc2\xa0|\xe2\x80[\x91\x93\xaf]|\\+u(?:00[aA]0|2011|2013|202[fF]))"
RAW = (
    rf"(?:\+|%2[bB])\(?[1-9](?:{_GAP}|[0-9()]){{7}}"
    rf"|\([0-9]{{3}}\){_GAP}?[0-9]{{3}}{_GAP}?[0-9]{{4}}"
    rf"|[0-9]{{3}}{_GAP}[0-9]{{3}}{_GAP}[0-9]{{4}}"
    rf"|(?:^|[^0-9A-Za-z_.,:/+\-]|\\[bfnrt]|\\u[0-9A-Fa-f]{{4}})00?[1-9](?:{_GAP}|\\*/|[0-9]){{8}}"
    r"|(?i:phone|mobile|whatsapp|msisdn|(?:[^A-Za-z]|\\[bfnrt])(?:fax|tel)(?:[^A-Za-z]|num|no|nr))"
)

_S = "[ .\u00a0\u202f\u2011\u2013-]"
_SHAPE = re.compile(
    rf"(?:\+|%2[Bb])1{_S}?\(?\d{{3}}\)?{_S}?\d{{3}}{_S}?\d{{4}}(?!\w)"
    rf"|(?:\+|%2[Bb])\(?[1-9]\d{{0,3}}\)?(?:{_S}?\(?\d{{1,12}}\)?){{1,6}}+(?!\w)"
    rf"|(?:1{_S}?)?\(\d{{3}}\){_S}?\d{{3}}{_S}?\d{{4}}(?!\w)"
    r"|(?<!\d)(?<!\d[-.])(?:1[-.\u2011\u2013])?\d{3}([-.\u2011\u2013])\d{3}\1\d{4}(?![\w-])(?!\.\d)"
    r"|(?<![\d.,:/+-])(?<!\d[ \u00a0])00?[1-9]\d{0,4}(?:[ ./\u00a0-]\d{2,9}){1,5}+(?!\w)(?![ .:/\u00a0-]\d)",
    re.ASCII,
)
_MAYBE = re.compile(r"[\d(+%](?:2[bB])?[\d ().\-/\u00a0\u202f\u2011\u2013]{7,}", re.ASCII)
"""Where a phone number may stand; digits alone are none without a plus sign."""
_WORDS = ("phone", "mobile", "whatsapp", "msisdn", "fax", "tel")
_LED = re.compile(
    r"(?:[ _-]?(?i:number|num|nr|no)\b)?(?: (?i:is|was|at))?(?![\w])(?:\\*+[ \t:=#.\"'()*]){1,12}"
    r"(\d[\d ()./-]{5,18}\d)(?!\w)",
    re.ASCII,
)
_NO_PHONE = re.compile(
    r"\d{5}-\d{4}$|\d{4}[-./]\d{1,2}[-./]\d{1,2}|\d{1,2}([-./])\d{1,2}\1\d{4}(?!\d)", re.ASCII
)
"""Dates, and the longer form of American postal codes."""
_WHOLE = re.compile(r"\+?[\d ()./\u00a0\u202f\u2011\u2013-]{7,24}", re.ASCII)


def find(text: str) -> Iterator[Found]:
    """Phone numbers in a text; dates and numbers in fields of ids are none."""
    found: list[Found] = []
    done = -1
    for place in _MAYBE.finditer(text):
        if place.group().isdigit():
            continue
        for one in _SHAPE.finditer(text, place.start(), place.end() + 2):
            if _long_enough(one.group()) and (one.start() == done or _right(text, one.start())):
                found.append(Found(*one.span(), one.group()))
                done = one.end()
    found += _led(text)
    for phone in apart(found):
        if _is_phone(phone.value) and not is_id(field_before(text, phone.start)):
            yield phone


def named(value: str) -> bool:
    """Whether a field called a phone holds the number of one."""
    return _WHOLE.fullmatch(value) is not None and _is_phone(value)


def normal(value: str) -> str:
    """Its digits."""
    return "".join(filter(str.isdigit, value.removeprefix("%2B").removeprefix("%2b")))


def _led(text: str) -> Iterator[Found]:
    """Digits behind a word for phones."""
    low = lowered(text)
    for word in _WORDS:
        at = low.find(word)
        while at >= 0:
            stop = at + len(word)
            one = _LED.match(text, stop)
            if one and (word not in ("fax", "tel") or begins(text, at)):
                yield Found(*one.span(1), one.group(1))
            at = low.find(word, stop)


def _right(text: str, at: int) -> bool:
    return text[at - 1 : at] != "+" and begins(text, at)


def _long_enough(value: str) -> bool:
    """Eight digits, more behind the zeros of a national or international prefix."""
    digits = normal(value)
    zeros = value.startswith("0") + value.startswith("00")
    return len(digits) >= 8 + zeros


def _is_phone(value: str) -> bool:
    return 7 <= len(normal(value)) <= 15 and not _NO_PHONE.match(value)
