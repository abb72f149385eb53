"""Mixtures: new tasks with some of older banks, so that nothing is unlearnt, and a cap on made-up ones."""

import random
from collections.abc import Sequence

from rsi.records import Task
from rsi.tasks.duplicates import asked


def replayed(new: Sequence[Task], old: Sequence[Task], share: float, seed: int) -> tuple[Task, ...]:
    """Tasks of older banks to add to the new ones: at most `share` of the whole, drawn with a seed.

    A request that is asked anew stands as it is asked now: what was thought right of it may have changed.
    """
    most = int(share * len(new) / (1 - share)) if share < 1 else len(old)
    known = {asked(one) for one in new}
    left = {one.task_id: one for one in old if asked(one) not in known}
    names = sorted(left)
    random.Random(f"replay:{seed}").shuffle(names)
    return tuple(left[name] for name in sorted(names[:most]))


def capped(tasks: Sequence[Task], share: float) -> tuple[tuple[Task, ...], tuple[Task, ...]]:
    """The tasks with no more made-up ones than `share` of the whole, the first of them kept; and those that went.

    Episodes in worlds count on neither side: nobody but a world's generator could ask them.
    """
    made_up = sum(_made_up(one) for one in tasks)
    told = sum(not one.generator for one in tasks)
    most = made_up if share >= 1 else min(made_up, int(share * told / (1 - share)))
    kept, gone = list[Task](), list[Task]()
    seen = 0
    for one in tasks:
        seen += _made_up(one)
        (gone if _made_up(one) and seen > most else kept).append(one)
    return tuple(kept), tuple(gone)


def _made_up(task: Task) -> bool:
    return bool(task.generator) and not task.world
