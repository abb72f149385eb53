"""The same wish in a longer context, with things in it that do not matter. English."""

from collections.abc import Sequence
from random import Random

from rsi.discover.hypotheses.variant import Variant, in_english, sentence
from rsi.records import Task

_BEFORE = (
    "It has been a long week and I am only now getting to this.",
    "My colleague was going to take care of it, but she is away until next month.",
    "I asked about something similar a while ago and never came back to it.",
    "There is no hurry, but I would like it off my list before the weekend.",
    "Some background first: we moved offices in spring and not everything is where it was.",
    "The coffee machine is broken again, so please forgive the mood.",
)
_AFTER = (
    "Thanks in advance, I will read your answer this evening.",
    "The rest of my list can wait.",
    "That is all for the moment.",
    "I will pass it on to the others as soon as I have it.",
)


def longer(seed: Task, others: Sequence[Task], rng: Random) -> Variant | None:
    """Two to four sentences before it and one or two behind."""
    text = in_english(seed)
    if not text:
        return None
    before = rng.sample(_BEFORE, rng.randint(2, 4))
    after = rng.sample(_AFTER, rng.randint(1, 2))
    return Variant(" ".join([*before, sentence(text), *after]), seed.expected)
