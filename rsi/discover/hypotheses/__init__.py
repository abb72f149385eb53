"""Hypotheses of AutoResearch: what might be harder than, or lies beside, a task that is known to be right.

Each takes a task and gives the request and the answer of another one, whose answer follows from how it was made.
Adding a kind is one file and one line.
"""

from collections.abc import Callable, Sequence
from random import Random

from rsi.discover.hypotheses.chained import chained
from rsi.discover.hypotheses.contradiction import contradiction
from rsi.discover.hypotheses.lifted import lifted
from rsi.discover.hypotheses.longer import longer
from rsi.discover.hypotheses.paraphrase import paraphrase
from rsi.discover.hypotheses.slots import slots
from rsi.discover.hypotheses.variant import Variant
from rsi.records import Task

Hypothesis = Callable[[Task, Sequence[Task], Random], Variant | None]
"""(a task, other tasks of the same kind, randomness) -> its variant; none where the task has nothing to vary."""

HYPOTHESES: dict[str, Hypothesis] = {
    "paraphrase": paraphrase,
    "longer": longer,
    "chained": chained,
    "contradiction": contradiction,
    "lifted": lifted,
    "slots": slots,
}
