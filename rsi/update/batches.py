"""Which tasks a step asks. Depends on nothing but its arguments, so that a resumed job asks the same."""

import random
from collections import defaultdict
from collections.abc import Sequence

from rsi.records import Task
from rsi.settings import Update
from rsi.tasks.prompt import ROUTE


def batch(tasks: Sequence[Task], settings: Update, step: int) -> list[Task]:
    """The tasks of one step (from 0): every label equally often, each list in a seeded order."""
    by_answer: dict[str, list[Task]] = defaultdict(list)
    for one in sorted(tasks, key=lambda task: task.task_id):
        by_answer[one.expected if one.hop == ROUTE else one.hop].append(one)
    answers = sorted(by_answer)
    chosen = []
    for slot in range(step * settings.prompts, (step + 1) * settings.prompts):
        answer, turn = answers[slot % len(answers)], slot // len(answers)
        pool = by_answer[answer]
        order = list(range(len(pool)))
        random.Random(f"{settings.seed}:{answer}:{turn // len(pool)}").shuffle(order)
        chosen.append(pool[order[turn % len(pool)]])
    return chosen
