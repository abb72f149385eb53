"""Tasks from passing siblings: where a failed run first called otherwise than a passing run of the same task.

Up to that call both did the same, so that what the passing one did next is right for the failed one as well. Calls that
only look something up may differ without harm: those of tools that no mode names are passed over.

`rsi.discover.localise` is not asked: it answers another question. Its step is the agent's first wrong message, mostly
words that propose the wrong action or refuse the right one, where a call would be as wrong; a task needs the turn at
which a call stands, and the call that was right there. On the recorded airline runs of tau-bench, 5 of the 19 failed
ones with a passing sibling have such a call: in 3 it stands right behind the proposal that `localise` names, in 2 three
or four steps later. In the other 14 `localise` names a step too, and nothing says which call should have stood there.
"""

from collections.abc import Iterator

from rsi.expand.aims import of_call
from rsi.expand.material import Material, Want
from rsi.expand.propose.step import differing, put, step
from rsi.expand.runs import Run
from rsi.records import Task

SOURCE = "sibling"


def siblings(material: Material, want: Want) -> Iterator[Task]:
    """One task a failed run that has a passing sibling, at their first differing call."""
    by_task: dict[str, list[Run]] = {}
    for run in material.runs:
        if run.task_id is not None:
            by_task.setdefault(run.task_id, []).append(run)
    for _, runs in sorted(by_task.items()):
        passed = [one for one in runs if one.outcome == "pass"]
        for failed in (one for one in runs if one.outcome == "fail"):
            made = next((one for other in passed if (one := _first(material, failed, other))), None)
            if made is not None:
                yield made


def _first(material: Material, failed: Run, passed: Run) -> Task | None:
    tools = {one.tool for one in material.aims if one.tool}
    mine = [one for one in failed.calls if one[2].name in tools]
    theirs = [one for one in passed.calls if one[2].name in tools]
    for (at, place, call), (_, _, right) in zip(mine, theirs, strict=False):
        if call == right:
            continue
        mode = of_call(material.aims, right.name, differing(right, call) if call.name == right.name else ())
        if mode is None:
            return None
        traces = [failed.trace_uid, passed.trace_uid]
        return step(material, failed, at, put(failed.turns[at], place, right), mode, traces, SOURCE)
    return None
