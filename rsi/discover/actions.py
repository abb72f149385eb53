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

from rsi.discover.facts import CallFact, TraceFacts

_TOLERATED = 0.1
"""Share of passed runs that may contradict a tool: labels are not always right."""
_PAIRED = 300
"""Unequal actions of one tool that are looked at for pairs; no run that means something has more."""

Arguments = dict[str, object]


@dataclass(frozen=True, slots=True)
class Action:
    """A call, done or expected."""

    tool: str
    arguments: Arguments
    compared: frozenset[str] | None = None
    """Names of the arguments that count; null for all."""

    def differing(self, other: "Action") -> tuple[str, ...]:
        """The arguments in which two calls of one tool differ, in order of their names."""
        absent = object()
        names = self.arguments.keys() | other.arguments.keys()
        if self.compared is not None:
            names &= self.compared
        one, two = self.arguments, other.arguments
        return tuple(sorted(name for name in names if one.get(name, absent) != two.get(name, absent)))


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Where a run left its task's actions; numbers are places in the lists that were compared."""

    missing: tuple[int, ...] = ()
    """Expected actions that nothing was done for."""
    wrong: tuple[tuple[int, int, tuple[str, ...]], ...] = ()
    """(expected action, done action, arguments that differ)."""
    unexpected: tuple[int, ...] = ()
    """Done actions that nothing was expected for."""

    @property
    def any(self) -> bool:
        """Whether there is one."""
        return bool(self.missing or self.wrong or self.unexpected)


def expected_actions(facts: TraceFacts) -> list[Action] | None:
    """The agent's actions in order; null where the trace does not say what was expected."""
    said = loaded(facts.expected).get("actions")
    if not isinstance(said, list):
        return None
    found = []
    for one in said:
        if (
            not isinstance(one, dict)
            or not isinstance(one.get("name"), str)
            or one.get("requestor") == "user"
        ):
            continue
        given, names = one.get("arguments"), one.get("compare_args")
        compared = frozenset(str(name) for name in names) if isinstance(names, list) else None
        found.append(Action(one["name"], given if isinstance(given, dict) else {}, compared))
    return found


def expected_outputs(facts: TraceFacts) -> list[str]:
    """What the agent was to say, word for word."""
    said = loaded(facts.expected).get("outputs")
    return [str(one) for one in said if isinstance(one, str | int | float)] if isinstance(said, list) else []


def done_calls(facts: TraceFacts) -> list[CallFact]:
    """The agent's calls that were not refused, in order."""
    return [call for call in facts.calls if call.status != "error" and not call.by_user]


def action_of(call: CallFact) -> Action:
    """A call as an action."""
    return Action(call.name, loaded(call.arguments))


def deciding_tools(runs: Iterable[TraceFacts]) -> frozenset[str]:
    """The tools whose use decides; `runs` are those that say what was expected."""
    wanted: set[str] = set()
    used: Counter[str] = Counter()
    contradicted: Counter[str] = Counter()
    for run in runs:
        expected = Counter(one.tool for one in expected_actions(run) or ())
        wanted.update(expected)
        if run.outcome == "pass":
            done = Counter(call.name for call in done_calls(run))
            used.update(expected.keys() | done.keys())
            contradicted.update(
                name for name in expected.keys() | done.keys() if expected[name] != done[name]
            )
    return frozenset(name for name in wanted if contradicted[name] <= _TOLERATED * used[name])


def compare(expected: Sequence[Action], done: Sequence[Action], deciding: frozenset[str]) -> Mismatch:
    """Pair equal actions, then for each tool the most alike; what has no partner is missing or unexpected."""
    missing, wrong, unexpected = list[int](), list[tuple[int, int, tuple[str, ...]]](), list[int]()
    for tool in sorted(deciding):
        wanted = {at: one for at, one in enumerate(expected) if one.tool == tool}
        found = {at: one for at, one in enumerate(done) if one.tool == tool}
        if not wanted and not found:
            continue
        _equal(wanted, found)
        wrong += _pairs(wanted, found)
        missing += wanted
        unexpected += found
    return Mismatch(tuple(sorted(missing)), tuple(sorted(wrong)), tuple(sorted(unexpected)))


def _equal(wanted: dict[int, Action], found: dict[int, Action]) -> None:
    """Take equal pairs out of both, the earliest first."""
    places: dict[bytes, list[int]] = {}
    for at, one in found.items():
        places.setdefault(_text(one.arguments), []).append(at)
    for at, one in list(wanted.items()):
        same = places.get(_text(one.arguments))
        if same:
            del wanted[at], found[same.pop(0)]
        elif one.compared is not None:
            near = next((other for other in found if not one.differing(found[other])), None)
            if near is not None:
                places[_text(found[near].arguments)].remove(near)
                del wanted[at], found[near]


def _pairs(wanted: dict[int, Action], found: dict[int, Action]) -> list[tuple[int, int, tuple[str, ...]]]:
    """Take pairs out of both, most alike first, with the names of the arguments in which each differs.

    Two calls that share no argument are no pair, unless there is only one that they could share.
    """
    alike = []
    for i, one in list(wanted.items())[:_PAIRED]:
        for j, other in list(found.items())[:_PAIRED]:
            differing = one.differing(other)
            names = len(one.arguments.keys() | other.arguments.keys())
            if len(differing) < names or names <= 1:
                alike.append(
                    (len(differing) - names, _text(one.arguments), _text(other.arguments), i, j, differing)
                )
    pairs = []
    for _, _, _, i, j, differing in sorted(alike):
        if i in wanted and j in found:
            pairs.append((i, j, differing))
            del wanted[i], found[j]
    return pairs


def _text(arguments: Arguments) -> bytes:
    return orjson.dumps(arguments, option=orjson.OPT_SORT_KEYS)


def loaded(text: str | None) -> Arguments:
    """A JSON object; empty for null, for other JSON and for what is none."""
    try:
        value = orjson.loads(text) if text else {}
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}
