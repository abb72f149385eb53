"""A wish that takes back another one: what was said first must not be done. English."""

from collections.abc import Sequence
from random import Random

from rsi.discover.hypotheses.variant import Variant, in_english, lowered, sentence
from rsi.records import Task
from rsi.tasks.prompt import TOOL

_TURNS = (
    "I was going to ask you this: {} But no, forget that. Instead: {}",
    "{} Actually, scratch that, somebody else does it. {}",
    "First I thought: {} Never mind that one. What I need is this: {}",
)


def contradiction(seed: Task, others: Sequence[Task], rng: Random) -> Variant | None:
    """Another task's wish, taken back, then the task's own."""
    text = in_english(seed)
    fitting = [one for one in others if in_english(one) and one.expected != seed.expected and _alone(one)]
    if not text or not fitting:
        return None
    other = in_english(fitting[rng.randrange(len(fitting))])
    return Variant(rng.choice(_TURNS).format(sentence(lowered(other)), sentence(text)), seed.expected)


def _alone(one: Task) -> bool:
    """Whether its request can be read without what came before."""
    return one.hop != TOOL or len(one.messages) <= 2
