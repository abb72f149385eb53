"""Two wishes in one request: for a route two that belong to the same specialist, for tools both calls. English."""

from collections.abc import Sequence
from random import Random

from rsi.discover.hypotheses.variant import Variant, in_english, lowered, sentence
from rsi.records import Task
from rsi.tasks.calls import calls_of, expectation
from rsi.tasks.prompt import TOOL

_JOINTS = ("{} And when that is done, {}", "{} After that, {}", "Two things. First: {} Second: {}")


def chained(seed: Task, others: Sequence[Task], rng: Random) -> Variant | None:
    """The task's request and that of another one."""
    text = in_english(seed)
    fitting = [one for one in others if in_english(one) and one.task_id != seed.task_id and _fits(seed, one)]
    if not text or not fitting:
        return None
    other = fitting[rng.randrange(len(fitting))]
    second = lowered(in_english(other))
    expected = seed.expected
    if seed.hop == TOOL:
        expected = expectation((*calls_of(seed.expected), *calls_of(other.expected)), seed.tools)
    return Variant(rng.choice(_JOINTS).format(sentence(text), sentence(second)), expected)


def _fits(seed: Task, other: Task) -> bool:
    """The same answer (a route), or calls of their own that do not build on what came before."""
    if seed.hop != TOOL:
        return other.expected == seed.expected
    mine, theirs = calls_of(seed.expected), calls_of(other.expected)
    return other.tools == seed.tools and len(other.messages) <= 2 and bool(theirs) and mine != theirs
