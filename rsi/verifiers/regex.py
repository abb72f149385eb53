"""A pattern that the whole answer must match, in linear time.

`expected` is ``{"pattern": …, "example": …}``: RE2's syntax, which has no back references and no look-around
and so cannot blow up; `example` is an answer that must match. The pattern matches the answer without the spaces
around it, from end to end; ``(?i)`` and ``(?s)`` work as usual.
"""

import orjson

from rsi.records import Outcome
from rsi.verifiers.outcomes import empty, invalid, scored, wrong_format

PATTERN = 1000
"""Most characters of a pattern."""
LONGEST = 20_000
"""Most characters of an answer."""


def check(answer: str, expected: str) -> Outcome:
    """Right when the pattern matches all of the answer."""
    found = _parse(expected)
    if found is None:
        return invalid("expected is not an object with pattern and example")
    pattern, example = found
    matched = _matches(pattern, example)
    if matched is None:
        return invalid("RE2 does not take the pattern")
    if not matched:
        return invalid("the pattern does not match its own example")
    said = answer.strip()
    if not said:
        return empty()
    if len(said) > LONGEST:
        return wrong_format(f"the answer has {len(said)} characters, at most {LONGEST} are matched")
    return scored(_matches(pattern, said) is True)


def gold(expected: str) -> str | None:
    """The example."""
    found = _parse(expected)
    return found[1] if found else None


def _parse(expected: str) -> tuple[str, str] | None:
    try:
        found = orjson.loads(expected)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(found, dict) or found.keys() != {"pattern", "example"}:
        return None
    pattern, example = found["pattern"], found["example"]
    if not isinstance(pattern, str) or not isinstance(example, str):
        return None
    fits = 0 < len(pattern) <= PATTERN and 0 < len(example.strip()) <= LONGEST
    return (pattern, example) if fits else None


def _matches(pattern: str, text: str) -> bool | None:
    """Whether all of a text matches; None where the pattern is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        found = pc.match_substring_regex(pa.scalar(text.strip()), rf"\A(?:{pattern})\z")
    except (pa.ArrowInvalid, UnicodeEncodeError):
        return None
    return bool(found.as_py())
