"""What all traces of a night show together: which tools decide, what is slow, and the other runs of a task.

A value is an outlier of its group (runs of an agent, calls of a tool) where its modified z-score on the logarithm
is above 3.5: 0.6745 (ln x - median) / MAD > 3.5, after Iglewicz and Hoaglin (1993), with the MAD taken as at least
0.15, so that nothing below about twice the median counts; groups under 20 values have no outliers.
"""

import math
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from rsi.discover.actions import action_of, compare, deciding_tools, done_calls, expected_actions
from rsi.discover.facts import CallFact, TraceFacts

_SCORE = 3.5 / 0.6745
_SPREAD = 0.15
_ENOUGH = 20
_KEPT = 3
"""Passed runs of a task that are kept to compare failed ones with."""


@dataclass(frozen=True, slots=True)
class Siblings:
    """The runs of one task."""

    passed: int = 0
    failed: int = 0
    references: tuple[tuple[CallFact, ...], ...] = ()
    """Calls of runs that passed, not those that were refused; by trace id."""
    conforming: tuple[tuple[CallFact, ...], ...] = ()
    """Calls of failed runs that did all that was expected."""
    contradicted: bool = False
    """A run passed with other actions than expected."""


@dataclass(frozen=True)
class Window:
    """What one trace is compared with; an empty one compares with nothing."""

    deciding: frozenset[str] = frozenset()
    tasks: Mapping[str, Siblings] = field(default_factory=dict)
    slow: Mapping[str, float] = field(default_factory=dict)
    """Agent -> seconds above which a run is an outlier."""
    costly: Mapping[str, float] = field(default_factory=dict)
    """Agent -> US dollars."""
    slow_tools: Mapping[str, float] = field(default_factory=dict)
    """Tool -> seconds."""

    def siblings(self, facts: TraceFacts) -> Siblings:
        """The runs of the trace's task, itself among them."""
        return self.tasks.get(facts.task or "", _ALONE)


_ALONE = Siblings()


def agent_of(facts: TraceFacts) -> str:
    """Whose runs are alike."""
    return facts.agent or facts.route or facts.model or "run"


def observe(traces: Iterable[TraceFacts]) -> Window:
    """One pass over the facts of a night; texts are dropped as they come."""
    expecting: list[TraceFacts] = []
    tasks: dict[str, _Task] = {}
    seconds, costs, tools = _Groups(), _Groups(), _Groups()
    for facts in traces:
        seconds.note(agent_of(facts), facts.seconds)
        costs.note(agent_of(facts), facts.cost_usd)
        for span in facts.spans:
            tools.note(span.name, span.seconds)
        if facts.expected is not None:
            expecting.append(replace(facts, turns=(), offered=None, spans=(), stopped=(), scores=()))
        if facts.task is not None:
            tasks.setdefault(facts.task, _Task()).add(facts)
    deciding = deciding_tools(expecting)
    for facts in sorted(expecting, key=lambda one: one.trace_uid):
        if facts.task is not None:
            tasks[facts.task].judge(facts, deciding)
    return Window(
        deciding=deciding,
        tasks={name: task.siblings() for name, task in tasks.items()},
        slow=seconds.limits(),
        costly=costs.limits(),
        slow_tools=tools.limits(),
    )


@dataclass
class _Task:
    passed: int = 0
    failed: int = 0
    references: dict[str, tuple[CallFact, ...]] = field(default_factory=dict)
    conforming: list[tuple[CallFact, ...]] = field(default_factory=list)
    contradicted: bool = False

    def add(self, facts: TraceFacts) -> None:
        self.passed += facts.outcome == "pass"
        self.failed += facts.outcome == "fail"
        if facts.outcome == "pass":
            self.references[facts.trace_uid] = tuple(done_calls(facts))
            if len(self.references) > _KEPT:
                del self.references[max(self.references)]

    def judge(self, facts: TraceFacts, deciding: frozenset[str]) -> None:
        expected, done = expected_actions(facts), done_calls(facts)
        if expected is None:
            return
        agrees = not compare(expected, [action_of(call) for call in done], deciding).any
        if facts.outcome == "pass":
            self.contradicted |= not agrees
        elif facts.outcome == "fail" and agrees and len(self.conforming) < _KEPT:
            self.conforming.append(tuple(done))

    def siblings(self) -> Siblings:
        references = tuple(self.references[uid] for uid in sorted(self.references))
        return Siblings(self.passed, self.failed, references, tuple(self.conforming), self.contradicted)


class _Groups:
    """Logarithms of what is positive and finite, by group."""

    def __init__(self) -> None:
        self._values: dict[str, array[float]] = {}

    def note(self, name: str, value: float | None) -> None:
        if value is not None and value > 0 and math.isfinite(value):
            self._values.setdefault(name, array("d")).append(math.log(value))

    def limits(self) -> dict[str, float]:
        """Above which a value is an outlier, for the groups that are large enough."""
        limits = {}
        for name, values in self._values.items():
            if len(values) >= _ENOUGH:
                middle = _median(values)
                spread = _median([abs(value - middle) for value in values])
                limits[name] = math.exp(middle + _SCORE * max(spread, _SPREAD))
        return limits


def _median(values: Iterable[float]) -> float:
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
