"""Coverage: every failure mode in turn, and no expected answer over its share.

Tasks are taken round by round, one a mode and round, so that a rare mode is covered before a common one fills
the bank. Then answers that hold more than their share of the bank are cut back, the tasks of the commonest mode first.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence

from rsi.records import Task
from rsi.tasks.refused import Reason


def balance(tasks: Sequence[Task], most: int, share: float) -> tuple[tuple[Task, ...], Counter[str]]:
    """At most `most` tasks with no expected answer over `share` of them; and the count of what was left out."""
    ordered = _rounds(tasks)
    chosen = ordered[:most]
    left: Counter[str] = Counter()
    if len(ordered) > most:
        left[Reason.OVER_LIMIT.value] = len(ordered) - most
    while True:
        counts = Counter(one.expected for one in chosen)
        over = [
            answer
            for answer, count in counts.items()
            if len(counts) * share >= 1 and count > share * len(chosen)
        ]
        if not over:
            return tuple(chosen), left
        others = len(chosen) - counts[over[0]]
        keep = max(1, int(share * others / (1 - share))) if share < 1 else counts[over[0]]
        if keep >= counts[over[0]]:
            return tuple(chosen), left
        kept: list[Task] = []
        seen = 0
        for one in chosen:
            if one.expected == over[0]:
                seen += 1
                if seen > keep:
                    left[Reason.OVER_SHARE.value] += 1
                    continue
            kept.append(one)
        chosen = kept


def _rounds(tasks: Sequence[Task]) -> list[Task]:
    by_mode: dict[str, list[Task]] = defaultdict(list)
    for one in sorted(tasks, key=lambda task: task.task_id):
        by_mode[one.mode_id or ""].append(one)
    longest = max(map(len, by_mode.values()), default=0)
    modes = sorted(by_mode)
    return [by_mode[mode][turn] for turn in range(longest) for mode in modes if turn < len(by_mode[mode])]
