"""Caps: no single giver makes up a bank.

Who gave a task is the user (else the conversation, else the trace alone) of each trace behind it; for a task without
a trace its `source`: a generator, a template, a document. With n tasks, but no more than the bank takes, a giver may
stand behind `share` of n, or twice an even share where there are few givers, or `LEAST`, whichever is most. A task
that several people gave is refused only when each of them has had their share, so that one busy user takes nothing
from the others. An episode in a world is nobody's: its generator makes it, whatever traces gave the reason.

What this bounds: one hostile user with 1% of the traces, or 50%, holds no more than the cap, also where all of it is
one rare failure mode that coverage would favour. What it cannot see: one person with many accounts.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import ceil
from typing import NamedTuple

from rsi.records import Task

LEAST = 5
"""Tasks that anybody may give."""
EVEN = 2
"""How many even shares are never too much."""


class Caps(NamedTuple):
    """How much one giver may give."""

    share: float
    """Of a user or conversation, 0 to 1."""
    maker_share: float
    """Of a source without traces, 0 to 1."""
    most: int
    """Tasks the bank takes."""


class Capped(NamedTuple):
    """What stays within the caps, and what does not with the giver that had its share."""

    kept: tuple[Task, ...]
    over: tuple[tuple[Task, str], ...]


def givers(task: Task, by_trace: Mapping[str, str]) -> tuple[str, ...]:
    """Who stands behind a task, sorted."""
    if not task.traces:
        return (f"source {task.source}",)
    return tuple(sorted({by_trace.get(one, f"trace {one}") for one in task.traces}))


def cap(tasks: Sequence[Task], by_trace: Mapping[str, str], caps: Caps) -> Capped:
    """The tasks within the caps, in the order of their ids, which nobody can choose.

    Args:
        tasks: in any order.
        by_trace: trace -> its giver; a trace that is not in it stands for itself.
        caps: how much.
    """
    worlds = [one for one in tasks if one.world]
    ordered = sorted((one for one in tasks if not one.world), key=lambda one: one.task_id)
    behind = [givers(one, by_trace) for one in ordered]
    known = {name for names in behind for name in names}
    size = min(len(ordered), caps.most)
    even = ceil(EVEN * size / max(len(known), 1))
    limits = {
        name: max(LEAST, even, int((caps.maker_share if name.startswith("source ") else caps.share) * size))
        for name in known
    }
    counts: Counter[str] = Counter()
    kept, over = worlds, list[tuple[Task, str]]()
    for one, names in zip(ordered, behind, strict=True):
        if all(counts[name] >= limits[name] for name in names):
            over.append(
                (one, f"{names[0]} gave {limits[names[0]]} of {len(ordered)} tasks, which is its share")
            )
        else:
            counts.update(names)
            kept.append(one)
    return Capped(tuple(sorted(kept, key=lambda one: one.task_id)), tuple(over))
