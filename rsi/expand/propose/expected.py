"""Tasks from expected actions: at the step where a run made a wrong call, the one that its task expected.

Wrong is a call of a tool that the run's own task expects with other arguments: of the calls that no expected action
equals, the first that can be paired with an expected action not done. An expected action that was never tried has a
step only where everything was said at the start: in a run with one request and no call.
"""

from collections.abc import Iterator

from rsi.expand.aims import of_call
from rsi.expand.material import Material, Want
from rsi.expand.propose.step import differing, put, step
from rsi.expand.runs import Run
from rsi.records import Task
from rsi.verifiers.calls import Call

SOURCE = "expected_action"
KEPT = 1
"""Tasks a passing run makes, to keep what works."""


def expected_actions(material: Material, want: Want) -> Iterator[Task]:
    """Tasks of the runs that say what was expected."""
    tools = {one.tool for one in material.aims if one.tool}
    for run in material.runs:
        if not run.expected:
            continue
        if run.outcome == "pass":
            yield from _kept(material, run, tools)
            continue
        found = _wrong(material, run) or _missing(material, run)
        if found is not None:
            yield found


def _wrong(material: Material, run: Run) -> Task | None:
    left = list(run.expected or ())
    calls = []
    for at, place, call in run.calls:
        if call in left:
            left.remove(call)
        else:
            calls.append((at, place, call))
    for at, place, call in calls:
        wanted = [one for one in left if one.name == call.name]
        if wanted:
            right = min(wanted, key=lambda one: (len(differing(one, call)), left.index(one)))
            mode = of_call(material.aims, call.name, differing(right, call))
            if mode is None:
                continue
            return step(material, run, at, put(run.turns[at], place, right), mode, [run.trace_uid], SOURCE)
    return None


def _missing(material: Material, run: Run) -> Task | None:
    asked = [at for at, turn in enumerate(run.turns) if turn.role == "user"]
    if len(asked) != 1 or run.calls or not run.expected:
        return None
    mode = of_call(material.aims, run.expected[0].name, ())
    return step(material, run, asked[0] + 1, run.expected, mode, [run.trace_uid], SOURCE) if mode else None


def _kept(material: Material, run: Run, tools: set[str]) -> Iterator[Task]:
    """The calls of the modes' tools that a passing run made as expected."""
    found = [one for one in run.calls if one[2].name in tools and _is_expected(run, one[2])]
    for at, _, _ in found[:KEPT]:
        made = step(material, run, at, run.turns[at].calls, None, [run.trace_uid], SOURCE)
        if made is not None:
            yield made


def _is_expected(run: Run, call: Call) -> bool:
    return call in (run.expected or ())
