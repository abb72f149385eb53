"""Coverage: the grid of failure modes and what their tasks should differ in; and a bank that leaves no mode out.

A cell is (mode, dimension, value): one value of one dimension at a time, since all combinations are more than any
night could fill. Tasks fill the cells of their mode that they show. What is asked of a mode follows from its kind:
a route's label, the tool of a call, the types of its arguments and the classes that values of these types have; and
for all of them length, and the languages that people wrote in.

Of the tasks one a mode and round is taken, so that a rare mode is covered before a common one fills the bank. Then
answers that hold more than their share of the bank are cut back, the tasks of the commonest mode first.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from rsi.expand.aims import Aim
from rsi.expand.facets import CLASSES
from rsi.expand.tools import Tool
from rsi.records import Task
from rsi.tasks.refused import Reason
from rsi.tasks.screen import Objection


class Dimension(StrEnum):
    """What tasks of one mode differ in."""

    TOOL = "tool"
    ARGUMENT = "argument"
    SLOT = "slot"
    LENGTH = "length"
    LANGUAGE = "language"
    DIFFICULTY = "difficulty"


class Spot(NamedTuple):
    """A cell of the grid."""

    mode_id: str
    dimension: str
    value: str

    def __str__(self) -> str:
        return f"{self.mode_id}/{self.dimension}/{self.value}"


def spots(task: Task) -> frozenset[Spot]:
    """The cells that a task fills; none where it covers no mode."""
    mode, shown = task.mode_id, task.facets
    if mode is None:
        return frozenset()
    found = {Spot(mode, Dimension.TOOL, one) for one in shown.tools}
    found |= {Spot(mode, Dimension.ARGUMENT, one) for one in shown.arguments}
    found |= {Spot(mode, Dimension.SLOT, one) for one in shown.slots}
    found |= {Spot(mode, Dimension.LENGTH, shown.length), Spot(mode, Dimension.LANGUAGE, shown.language)}
    if task.samples:
        found.add(Spot(mode, Dimension.DIFFICULTY, difficulty(task)))
    return frozenset(found)


def difficulty(task: Task) -> str:
    """never, sometimes or always right, of a task that was measured."""
    return "never" if not task.passed else "always" if task.passed == task.samples else "sometimes"


def asked(aims: Sequence[Aim], tools: Mapping[str, Tool], languages: Iterable[str]) -> frozenset[Spot]:
    """The cells that tasks are wanted for; `languages` are those that people wrote in."""
    spoken = sorted(set(languages))
    found: set[Spot] = set()
    for aim in aims:
        if aim.kind == "route":
            found.add(Spot(aim.mode_id, Dimension.SLOT, f"label:{aim.expected}"))
        elif aim.tool in tools:
            found |= _of_tool(aim, tools[aim.tool])
        else:
            continue
        found |= {Spot(aim.mode_id, Dimension.LENGTH, one) for one in ("short", "medium", "long")}
        found |= {Spot(aim.mode_id, Dimension.LANGUAGE, one) for one in spoken}
        found.add(Spot(aim.mode_id, Dimension.DIFFICULTY, "sometimes"))
    return frozenset(found)


def _of_tool(aim: Aim, tool: Tool) -> set[Spot]:
    found = {Spot(aim.mode_id, Dimension.TOOL, tool.name)}
    arguments = (
        [tool.arguments[aim.argument]] if aim.argument in tool.arguments else list(tool.arguments.values())
    )
    for one in arguments:
        found.add(Spot(aim.mode_id, Dimension.ARGUMENT, one.type))
        if "enum" not in one.schema:
            found |= {
                Spot(aim.mode_id, Dimension.SLOT, f"{one.type}:{name}") for name in CLASSES.get(one.type, ())
            }
    return found


def filled(tasks: Iterable[Task], wanted: frozenset[Spot]) -> frozenset[Spot]:
    """Those of the wanted cells that hold a task."""
    return frozenset(spot for one in tasks for spot in spots(one)) & wanted


def grid(
    asked: Iterable[str], empty: Iterable[str]
) -> dict[tuple[str, str], tuple[int, int, tuple[str, ...]]]:
    """(mode, dimension) -> (cells asked, cells filled, values of the empty ones), from a manifest's lists."""
    lacking = set(empty)
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for one in sorted(asked):
        mode, dimension, _ = one.split("/", 2)
        found[mode, dimension].append(one)
    return {
        key: (
            len(cells),
            sum(one not in lacking for one in cells),
            tuple(one.split("/", 2)[2] for one in cells if one in lacking),
        )
        for key, cells in found.items()
    }


def balance(
    tasks: Sequence[Task], most: int, share: float
) -> tuple[tuple[Task, ...], tuple[tuple[Task, Objection], ...]]:
    """At most `most` tasks with no expected answer over `share` of them; and what was left out, with the reason."""
    ordered = _rounds(tasks)
    chosen = ordered[:most]
    full = f"the bank has {most} tasks of {len(ordered)}, one a mode and round"
    left = [(one, Objection(Reason.OVER_LIMIT, full)) for one in ordered[most:]]
    while True:
        counts = Counter(one.expected for one in chosen)
        over = [
            answer
            for answer, count in counts.items()
            if len(counts) * share >= 1 and count > share * len(chosen)
        ]
        if not over:
            return tuple(chosen), tuple(left)
        others = len(chosen) - counts[over[0]]
        keep = max(1, int(share * others / (1 - share))) if share < 1 else counts[over[0]]
        if keep >= counts[over[0]]:
            return tuple(chosen), tuple(left)
        has = f"{over[0][:60]} is expected of {keep} tasks of {len(chosen)}, which is its share"
        kept: list[Task] = []
        seen = 0
        for one in chosen:
            if one.expected == over[0]:
                seen += 1
                if seen > keep:
                    left.append((one, Objection(Reason.OVER_SHARE, has)))
                    continue
            kept.append(one)
        chosen = kept


def _rounds(tasks: Sequence[Task]) -> list[Task]:
    """One task a mode and round; what people wrote before what was made up."""
    by_mode: dict[str, list[Task]] = defaultdict(list)
    for one in sorted(tasks, key=lambda task: (bool(task.generator), task.task_id)):
        by_mode[one.mode_id or ""].append(one)
    longest = max(map(len, by_mode.values()), default=0)
    modes = sorted(by_mode)
    return [by_mode[mode][turn] for turn in range(longest) for mode in modes if turn < len(by_mode[mode])]
