"""What a run did against what its task expected, action by action.

Only actions that decide are compared. Expected lists name look-ups too, which a run may do or leave as it
likes; which tools change the world is learnt from the runs that passed: a tool decides if some task expects
it and (almost) no passed run used it more or less often than expected. On the 100 airline runs of tau-bench
that finds the six writing tools and none of the eight others. Calls that ended in an error changed nothing.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import orjson

from rsi.discover.facts import TraceFacts

_TOLERATED = 0.1
"""Share of passed runs that may contradict a tool: labels are not always right."""

Arguments = dict[str, object]


@dataclass(frozen=True)
class Mismatch:
    """Where a run left its task's actions, by tool, each once."""

    missing: frozenset[str]
    wrong: frozenset[tuple[str, str]]
    """(tool, argument that differs)."""
    unexpected: frozenset[str]


def expected_actions(facts: TraceFacts) -> list[tuple[str, Arguments]] | None:
    """(tool, arguments) in order; null where the trace does not say what was expected."""
    said = _object(facts.expected).get("actions") if facts.expected else None
    if not isinstance(said, list):
        return None
    return [
        (one["name"], one["arguments"] if isinstance(one.get("arguments"), dict) else {})
        for one in said
        if isinstance(one, dict) and isinstance(one.get("name"), str)
    ]


def done_actions(facts: TraceFacts) -> list[tuple[str, Arguments]]:
    """(tool, arguments) of the calls that were not refused, in order."""
    return [(call.name, _object(call.arguments)) for call in facts.calls if call.status != "error"]


def deciding_tools(runs: Iterable[TraceFacts]) -> frozenset[str]:
    """The tools whose use decides; `runs` are those that say what was expected."""
    wanted: set[str] = set()
    used: Counter[str] = Counter()
    contradicted: Counter[str] = Counter()
    for run in runs:
        expected = Counter(name for name, _ in expected_actions(run) or ())
        wanted.update(expected)
        if run.outcome == "pass":
            done = Counter(name for name, _ in done_actions(run))
            used.update(expected.keys() | done.keys())
            contradicted.update(
                name for name in expected.keys() | done.keys() if expected[name] != done[name]
            )
    return frozenset(name for name in wanted if contradicted[name] <= _TOLERATED * used[name])


def compare(
    expected: Sequence[tuple[str, Arguments]],
    done: Sequence[tuple[str, Arguments]],
    deciding: frozenset[str],
) -> Mismatch:
    """Pair equal actions, then for each tool the most alike; what has no partner is missing or unexpected."""
    missing, wrong, unexpected = set[str](), set[tuple[str, str]](), set[str]()
    for tool in sorted(deciding):
        wanted = [arguments for name, arguments in expected if name == tool]
        found = [arguments for name, arguments in done if name == tool]
        for one in list(wanted):
            if one in found:
                wanted.remove(one)
                found.remove(one)
        for differing in _pairs(wanted, found):
            wrong.update((tool, name) for name in differing)
        if wanted:
            missing.add(tool)
        if found:
            unexpected.add(tool)
    return Mismatch(frozenset(missing), frozenset(wrong), frozenset(unexpected))


def _pairs(wanted: list[Arguments], found: list[Arguments]) -> list[list[str]]:
    """Take pairs out of both lists, most alike first; the names of the arguments in which each pair differs.

    Two calls that share no argument are no pair, unless there is only one that they could share.
    """
    pairs = []
    while wanted and found:
        alike = [
            (len(_differing(one, other)) - len(one.keys() | other.keys()), _text(one), _text(other), i, j)
            for i, one in enumerate(wanted)
            for j, other in enumerate(found)
        ]
        shared, _, _, i, j = min(alike)
        if not shared and len(wanted[i].keys() | found[j].keys()) > 1:
            break
        pairs.append(_differing(wanted.pop(i), found.pop(j)))
    return pairs


def _differing(one: Arguments, other: Arguments) -> list[str]:
    absent = object()
    return sorted(
        name for name in one.keys() | other.keys() if one.get(name, absent) != other.get(name, absent)
    )


def _text(arguments: Arguments) -> bytes:
    return orjson.dumps(arguments, option=orjson.OPT_SORT_KEYS)


def _object(text: str | None) -> Arguments:
    """A JSON object that the readers wrote; empty for null."""
    value = orjson.loads(text) if text else {}
    return value if isinstance(value, dict) else {}
