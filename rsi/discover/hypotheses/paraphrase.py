"""The same wish in other words: another opening, and synonyms of common verbs. English."""

import re
from collections.abc import Sequence
from random import Random

from rsi.discover.hypotheses.variant import Variant, in_english, lowered
from rsi.records import Task

_OPENINGS = (
    "Could you {}",
    "I'd like you to {}",
    "Would you mind helping me: {}",
    "Quick one: {}",
    "Next thing: {}",
)
_POLITE = re.compile(
    r"^(?:please|could you|can you|would you|i want you to|i need you to|help me)[,:]?\s+", re.IGNORECASE
)
_SYNONYMS = {
    "make": "put together",
    "write": "draft",
    "show": "display",
    "explain": "walk me through",
    "find": "track down",
    "fix": "repair",
    "create": "set up",
    "build": "put together",
    "tell": "let me know",
    "get": "fetch",
    "book": "reserve",
    "change": "alter",
    "cancel": "call off",
    "send": "pass on",
}


def paraphrase(seed: Task, others: Sequence[Task], rng: Random) -> Variant | None:
    """Another opening; and half of the time a verb's synonym."""
    text = in_english(seed)
    if not text:
        return None
    core = lowered(_POLITE.sub("", text))
    if rng.random() < 0.5:
        found = [word for word in re.findall(r"[a-z]+", core.lower()) if word in _SYNONYMS]
        if found and found[0] != "tell":
            core = re.sub(rf"\b{found[0]}\b", _SYNONYMS[found[0]], core, count=1, flags=re.IGNORECASE)
    return Variant(rng.choice(_OPENINGS).format(core), seed.expected)
