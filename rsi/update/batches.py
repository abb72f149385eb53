"""Every expected answer equally often. Depends on nothing but its arguments, so that a resumed job asks the same."""

import random
from collections import defaultdict
from collections.abc import Sequence

from rsi.records import Task
from rsi.tasks.prompt import ROUTE


def slots(tasks: Sequence[Task], seed: int, first: int, count: int) -> list[Task]:
    """Tasks of `count` turns from `first` (from 0) on: every label equally often, each list in a seeded order."""
    by_answer: dict[str, list[Task]] = defaultdict(list)
    for one in sorted(tasks, key=lambda task: task.task_id):
        by_answer[one.expected if one.hop == ROUTE else one.hop].append(one)
    answers = sorted(by_answer)
    chosen = []
    for slot in range(first, first + count):
        answer, turn = answers[slot % len(answers)], slot // len(answers)
        pool = by_answer[answer]
        order = list(range(len(pool)))
        random.Random(f"{seed}:{answer}:{turn // len(pool)}").shuffle(order)
        chosen.append(pool[order[turn % len(pool)]])
    return chosen
