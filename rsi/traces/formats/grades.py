"""What a judge said as a value from 0 (bad) to 1 (good), where its name and its type leave no doubt."""

import re
from typing import NamedTuple

from rsi.traces.formats import fields
from rsi.traces.rows import Json

_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_LOW = (
    "toxic", "hallucinat", "bias", "harm", "hate", "violen", "profan", "insult", "offens", "obscen", "threat",
    "stereotyp", "jailbreak", "injection", "leak", "pii", "misinform", "fabricat", "contradict", "unsafe", "malici",
    "criminal", "misogyn", "insensitiv", "deceptive", "deception", "sycophan", "incorrect", "inaccura", "irrelevan",
    "incoheren", "violation", "error", "failure", "frustrat", "noise", "spam", "repetit", "redundan",
)  # fmt: skip
"""How words begin that name something bad: much of it is bad."""
_HIGH = {"harmless", "harmlessness", "threatless"}
_WITHOUT = {"no", "non", "not", "free", "freeness", "without", "anti", "absence", "avoidance", "resistance", "safety",
            "safe", "robustness", "handling", "recovery"}  # fmt: skip
"""Words that turn the others around."""
_MEASURED = {"latency", "duration", "seconds", "ms", "time", "cost", "price", "usd", "token", "tokens", "count",
             "length", "distance", "perplexity", "loss", "temperature", "ttft"}  # fmt: skip
"""Words that name a quantity, which is no judgement even where it is below 1."""
_GOOD = {"yes", "true", "pass", "passed", "correct", "good", "thumbs_up", "thumbs-up", "thumbs up", "👍", "positive",
         "success", "safe", "helpful", "y"}  # fmt: skip
_BAD = {"no", "false", "fail", "failed", "incorrect", "wrong", "bad", "thumbs_down", "thumbs-down", "thumbs down", "👎",
        "negative", "failure", "unsafe", "unhelpful", "n"}  # fmt: skip
LOW_IS_GOOD = "low is good"
_END_USER = re.compile(
    r"(?:end[\s_-]?)?user[\s_-]?(?:feedback|score|rating|satisfaction|thumbs?)|thumbs?", re.IGNORECASE
)


class Grade(NamedTuple):
    """What a judge said, as the columns of a score."""

    value: float | None = None
    """1 good, 0 bad; null where what was said is no such number."""
    said: Json = None
    """What was said, where the value does not tell it."""
    basis: str | None = None


def grade(name: str, said: Json) -> Grade:
    """A number from 0 to 1, true or false, or a word for good or bad; where little of it is good, turned around."""
    words = [one.lower() for one in _WORDS.findall(name)]
    value = _value(said)
    if value is None or not _MEASURED.isdisjoint(words):
        return Grade(None, said)
    if low_is_good(name):
        return Grade(round(1 - value, 12), said, LOW_IS_GOOD)
    return Grade(value, None if isinstance(said, bool | int | float) else said)


def low_is_good(name: str) -> bool:
    """Whether a score of that name measures something bad."""
    words = [one.lower() for one in _WORDS.findall(name)]
    bad = any(one.startswith(_LOW) and one not in _HIGH for one in words)
    return bad and _WITHOUT.isdisjoint(words)


def is_end_users(name: str) -> bool:
    """Whether a score of that name is what the user of the agent said."""
    return _END_USER.fullmatch(name.strip()) is not None


def _value(said: Json) -> float | None:
    if isinstance(said, str):
        word = said.strip().lower()
        if word in _GOOD or word in _BAD:
            return float(word in _GOOD)
    number = fields.number(said)
    return number if number is not None and 0 <= number <= 1 else None
