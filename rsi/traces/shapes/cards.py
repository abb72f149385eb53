"""Payment card numbers: 13 to 19 digits that begin with 3 to 6 and pass Luhn's check, bare or in usual groups."""

import re
from collections.abc import Iterator

from rsi.intake import Kind
from rsi.traces.shapes.edges import Found, begins, field_before, is_id

KIND: Kind = Kind.CARD
NAMES: re.Pattern[str] | None = None
RAW = (
    r"(?:^\.?|[^0-9A-Za-z_.]|[^0-9]\.|\\[bfnrt]|\\u[0-9A-Fa-f]{4})"
    r"[3-6](?:(?:[ \-]|\xc2\xa0|\\+u00[aA]0)?[0-9]){12}"
)

_RUN = re.compile(r"(?<!\d)\d(?:[ \u00a0-]?\d){12,}", re.ASCII)
_MAYBE = re.compile(r"\d[\d \u00a0-]{12,}", re.ASCII)
_GROUP = re.compile(r"\d+", re.ASCII)
_SHAPES = {(4, 4, 4, 4), (4, 6, 5), (4, 6, 4), (8, 8)}
_SHAPES |= {(4, 4, 4, 4, last) for last in (1, 2, 3)} | {(4, 4, 4, last) for last in (1, 2, 3)}
_SHAPES |= {(6, last) for last in range(7, 14)}
_FIRST = {lengths[0] for lengths in _SHAPES}
_DOUBLED = str.maketrans("0123456789", "0246813579")


def find(text: str) -> Iterator[Found]:
    """Card numbers in a text; digits after a decimal point, or in fields of ids and times, are none."""
    for place in _MAYBE.finditer(text):
        for run in _RUN.finditer(text, place.start(), place.end()):
            yield from _in_run(text, run.start(), run.end())


def whole(digits: str) -> bool:
    """Whether digits are a card number."""
    if not 13 <= len(digits) <= 19 or digits[0] not in "3456":
        return False
    return (sum(map(int, digits[-1::-2])) + sum(map(int, digits[-2::-2].translate(_DOUBLED)))) % 10 == 0


def named(value: str) -> bool:
    """No name of a field makes a card number of what is none."""
    return False


def normal(value: str) -> str:
    """Its digits."""
    return "".join(filter(str.isdigit, value))


def _in_run(text: str, start: int, end: int) -> Iterator[Found]:
    groups = [one.span() for one in _GROUP.finditer(text, start, end)]
    at = 0
    if not begins(text, start) or _decimal(text, start):
        at = 1
    while at < len(groups):
        last = _card(text, groups, at)
        if last is None:
            at += 1
            continue
        begin, stop = groups[at][0], groups[last][1]
        yield Found(begin, stop, text[begin:stop])
        at = last + 1


def _card(text: str, groups: list[tuple[int, int]], at: int) -> int | None:
    """The last group of the card number that begins with group `at`."""
    begin, stop = groups[at]
    if text[begin] not in "3456" or (stop - begin not in _FIRST and stop - begin < 13):
        return None
    lengths: tuple[int, ...] = ()
    found = None
    for number in range(at, min(at + 5, len(groups))):
        begin, stop = groups[number]
        lengths = (*lengths, stop - begin)
        if sum(lengths) > 19:
            break
        usual = len(lengths) == 1 or lengths in _SHAPES
        if usual and _ends(text, stop) and whole(normal(text[groups[at][0] : stop])):
            found = number
    if found is None or is_id(field_before(text, groups[at][0])):
        return None
    return found


def _decimal(text: str, at: int) -> bool:
    return text[at - 1 : at] in (".", ",") and text[max(at - 2, 0) : at - 1].isdigit()


def _ends(text: str, at: int) -> bool:
    after = text[at : at + 1]
    if after == ".":
        return not text[at + 1 : at + 2].isdigit()
    return not (after.isalnum() or after == "_")
