"""A number with its unit.

`expected` is a number with an optional unit as text (``"9.81 m/s^2"``), or ``{"value": 9.81, "unit": "m/s^2",
"relative": 0.01, "absolute": 0.0}``. The default tolerance is that of rounding: relative 1e-6.

The answer's number is the last one of its first line with a number, after an ``=``, ``is`` or ``:`` if there is one;
a line with several numbers and none of these is wrong format, so that a list of guesses earns nothing. A unit that is
expected must stand there, in any unit of the same dimension; one that is not expected may stand there as a word of any
kind. 50% equals 0.5. Separators: ``1,234.5``, ``1 234,5``, ``1.234,5``; ``1,234`` is one thousand two hundred.
"""

import math
import re
from typing import NamedTuple

import orjson

from rsi.records import Outcome
from rsi.verifiers.outcomes import empty, invalid, scored, wrong_format
from rsi.verifiers.units import Unit, unit

LONGEST = 500
"""Most characters of the line that is read."""
RELATIVE = 1e-6
_NUMBER = re.compile(
    r"(?<![\w.,^])([$€£]\s?)?([-+−]?)([$€£]\s?)?"
    r"(\d{1,3}(?:[,\u00a0\u202f' .]\d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d+)?|\.\d+)"
    r"(?:\s?[x×*]\s?10\^?(?:\{([-−+]?\d{1,3})\}|([-−+]?\d{1,3}))|[eE]([-+−]?\d{1,3}))?"
)
_UNIT = re.compile(r"\s?((?:degrees?|square|cubic|sq|per) [A-Za-z]+|[%‰°$€£µμΩA-Za-z][\w°µμΩ²³·⋅*/^-]*)")
_MARK = re.compile(r"(?:=|:|≈|\bis\b|\bare\b|\bequals\b)\s*", re.IGNORECASE)


class Wanted(NamedTuple):
    """What is expected, in SI."""

    value: float
    unit: Unit
    written: str
    relative: float
    absolute: float


class Said(NamedTuple):
    """A number found in a text with the word after it."""

    value: float
    unit: str


def check(answer: str, expected: str) -> Outcome:
    """Right when the answer's number is the expected one within the tolerance, in a unit of its dimension."""
    wanted = parse(expected)
    if wanted is None:
        return invalid("expected is no number with a known unit")
    if not answer.strip():
        return empty()
    said = _answered(answer)
    if said is None:
        return wrong_format("no line of the answer holds one number")
    measured = unit(said.unit)
    if measured is None or (measured.dimension != wanted.unit.dimension):
        if wanted.written:
            return scored(False, f"the unit is {said.unit[:20]!r}")
        measured = Unit(1.0, ())
    value = said.value * measured.factor + measured.offset
    bound = max(wanted.absolute * wanted.unit.factor, wanted.relative * abs(wanted.value))
    return scored(abs(value - wanted.value) <= bound)


def gold(expected: str) -> str | None:
    """The expected number and unit, as they were written."""
    found = _parts(expected)
    return f"{found[0]!r} {found[1]}".strip() if found and parse(expected) else None


def parse(expected: str) -> Wanted | None:
    """What is expected; None where it is no finite number with a known unit."""
    found = _parts(expected)
    if found is None:
        return None
    value, written, relative, absolute = found
    known = unit(written)
    numbers = (value, relative, absolute)
    if known is None or not all(map(math.isfinite, numbers)) or relative < 0 or absolute < 0:
        return None
    return Wanted(value * known.factor + known.offset, known, written, relative, absolute)


def _parts(expected: str) -> tuple[float, str, float, float] | None:
    try:
        found = orjson.loads(expected)
    except orjson.JSONDecodeError:
        numbers = _numbers(expected.strip())
        whole = [one for one, end in numbers if end == len(expected.strip())]
        return (whole[0].value, whole[0].unit, RELATIVE, 0.0) if len(numbers) == len(whole) == 1 else None
    if isinstance(found, int | float) and not isinstance(found, bool):
        return float(found), "", RELATIVE, 0.0
    if not isinstance(found, dict) or not found.keys() <= {"value", "unit", "relative", "absolute"}:
        return None
    numbers_said = [found.get("value"), found.get("relative", RELATIVE), found.get("absolute", 0.0)]
    written = found.get("unit", "")
    if not isinstance(written, str) or any(type(one) not in (int, float) for one in numbers_said):
        return None
    value, relative, absolute = map(float, numbers_said)
    return value, written, relative, absolute


def _answered(answer: str) -> Said | None:
    for line in answer.splitlines():
        found = _numbers(line[:LONGEST])
        if not found:
            continue
        if len(found) == 1:
            return found[0][0]
        marks = list(_MARK.finditer(line[:LONGEST]))
        after = _numbers(line[marks[-1].end() : LONGEST]) if marks else []
        return after[0][0] if len(after) == 1 else None
    return None


def _numbers(text: str) -> list[tuple[Said, int]]:
    """Every number with its unit and the place where both end."""
    found: list[tuple[Said, int]] = []
    for match in _NUMBER.finditer(text):
        if found and match.start() < found[-1][1]:
            continue
        sign = -1.0 if match[2] in ("-", "−") else 1.0
        power = int((match[5] or match[6] or match[7] or "0").replace("−", "-"))
        after = _UNIT.match(text, match.end())
        symbol, end = (after[1].rstrip("-*/^"), after.end()) if after else ("", match.end())
        money = (match[1] or match[3] or "").strip()
        value = sign * _value(match[4]) * 10.0 ** min(power, 300)
        found.append((Said(value, money or symbol), end))
    return found


def _value(digits: str) -> float:
    """The value of digits with separators: the last mark is the decimal one unless it stands before three digits."""
    plain = re.sub(r"[\u00a0\u202f' ]", "", digits)
    marks = [mark for mark in plain if mark in ".,"]
    if len(set(marks)) == 2:
        return float(plain.replace(marks[0], "").replace(",", "."))
    if len(marks) > 1 or (marks == [","] and re.fullmatch(r"\d{1,3},\d{3}", plain)):
        return float(plain.replace(marks[0], ""))
    return float(plain.replace(",", "."))
