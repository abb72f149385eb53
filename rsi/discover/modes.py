"""Failure modes: signs of all traces, grouped, counted, given an interval, a status and a rank.

rate = traces that show the sign / traces that had the chance, with its 95% Wilson interval.

priority = severity x weight, where
- severity = share of the mode's traces that failed (an unknown outcome counts one half): errors that runs
  recover from weigh less than those that end them;
- weight = traces that show it under the champion or an unknown version, plus half of those under other
  versions; a tenth of that where the mode is fixed.

Status, for the champion: *fixed* where it had at least five chances, its rate is at most half of that of some
other version, and the upper end of its interval lies below the lower end of that one's; *regressed* where it
was fixed the night before and is not now; *new* in the night that sees it first; else *ongoing*. The same rows
give the same modes, in whatever order they come.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import orjson

from rsi.discover.actions import deciding_tools
from rsi.discover.facts import TraceFacts, read_facts
from rsi.discover.signals import Chance, Sign, signals
from rsi.discover.titles import title
from rsi.ids import digest
from rsi.records import FailureMode, Modes, ModeStatus
from rsi.settings import Deployment
from rsi.statistics.intervals import wilson

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

ENOUGH = 5
"""Chances under the champion from which a mode can count as fixed."""
EXAMPLES = 5
_LESS = 0.5
_ELSEWHERE = 0.5
_FIXED = 0.1
_UNSURE = {"fail": 2, "unknown": 1, "pass": 0}
"""Severity in halves, so that sums do not depend on their order."""

_CLEAR = "delete from failure_modes where night = ?"
_STORE = "insert into failure_modes by name select * from mode_rows"


@dataclass
class _Tally:
    """One mode, counting."""

    by_version: Counter[str] = field(default_factory=Counter)
    severity_halves: int = 0
    examples: list[tuple[bool, int, str]] = field(default_factory=list)

    def add(self, facts: TraceFacts) -> None:
        self.by_version[facts.version] += 1
        self.severity_halves += _UNSURE[facts.outcome]
        self.examples.append((facts.outcome != "fail", -(facts.start_ns or 0), facts.trace_uid))
        if len(self.examples) > 20 * EXAMPLES:
            self.examples = sorted(self.examples)[:EXAMPLES]


class _Count:
    """All modes, counting."""

    def __init__(self) -> None:
        self.traces = self.failures = 0
        self.tallies: dict[Sign, _Tally] = {}
        self.chances: dict[Chance, Counter[str]] = {}

    def add(self, facts: TraceFacts, deciding: frozenset[str]) -> None:
        found = signals(facts, deciding)
        self.traces += 1
        self.failures += bool(found.signs)
        for sign in found.signs:
            self.tallies.setdefault(sign, _Tally()).add(facts)
        for chance in found.chances:
            self.chances.setdefault(chance, Counter())[facts.version] += 1


def discover(
    connection: "DuckDBPyConnection",
    deployment: Deployment,
    night: str,
    until_ordinal: int,
    previous: Modes | None,
    champion: str,
) -> Modes:
    """The modes in the traces of the deployment's origins up to a batch, most important first.

    `connection` reads the store; `champion` is the digest of the version in service.
    """
    return modes_of(
        read_facts(connection, deployment.traces.origins, until_ordinal), night, previous, champion
    )


def modes_of(traces: Iterable[TraceFacts], night: str, previous: Modes | None, champion: str) -> Modes:
    """The modes of some traces."""
    count, with_expectations = _Count(), list[TraceFacts]()
    for facts in traces:
        if facts.expected is not None:
            with_expectations.append(facts)
        else:
            count.add(facts, frozenset())
    deciding = deciding_tools(with_expectations)
    for facts in with_expectations:
        count.add(facts, deciding)
    before = {mode.mode_id: mode for mode in previous.modes} if previous else {}
    modes = [
        _mode(sign, tally, count.chances[sign.chance], night, before, champion)
        for sign, tally in count.tallies.items()
    ]
    modes.sort(key=lambda mode: (-mode.priority, -mode.count, mode.signature))
    ranked = tuple(mode.model_copy(update={"rank": rank}) for rank, mode in enumerate(modes, 1))
    return Modes(night=night, traces=count.traces, failures=count.failures, modes=ranked)


def store_modes(connection: "DuckDBPyConnection", modes: Modes) -> None:
    """Write a night's modes into table `failure_modes`, in place of what it wrote before."""
    import pyarrow as pa

    connection.execute(_CLEAR, [modes.night])
    if not modes.modes:
        return
    rows = [
        {
            **mode.model_dump(mode="json", exclude={"blame", "wont_fix"}),
            "night": modes.night,
            "by_version": orjson.dumps(mode.by_version, option=orjson.OPT_SORT_KEYS).decode(),
        }
        for mode in modes.modes
    ]
    connection.register("mode_rows", pa.Table.from_pylist(rows))
    connection.execute(_STORE)
    connection.unregister("mode_rows")


def mode_id(signature: str) -> str:
    """`m-` and 10 hex digits."""
    return f"m-{digest(signature)[:10]}"


def _mode(
    sign: Sign,
    tally: _Tally,
    chances: Counter[str],
    night: str,
    before: Mapping[str, FailureMode],
    champion: str,
) -> FailureMode:
    seen, possible = tally.by_version.total(), chances.total()
    interval = wilson(seen, possible)
    name = mode_id(sign.signature)
    known = before.get(name)
    by_version = {version: (tally.by_version[version], chances[version]) for version in sorted(chances)}
    status = _status(by_version, known, champion)
    others = sum(hits for version, hits in tally.by_version.items() if version not in (champion, "unknown"))
    weight = (seen - others) + _ELSEWHERE * others
    severity = tally.severity_halves / (2 * seen)
    return FailureMode(
        mode_id=name,
        signature=sign.signature,
        kind=sign.kind.value,
        title=title(sign),
        count=seen,
        opportunities=possible,
        rate=seen / possible,
        low=interval.low,
        high=interval.high,
        rank=0,
        priority=round(severity * weight * (_FIXED if status is ModeStatus.FIXED else 1.0), 6),
        examples=tuple(trace_uid for _, _, trace_uid in sorted(tally.examples)[:EXAMPLES]),
        first_seen=known.first_seen if known else night,
        status=status,
        by_version=by_version,
    )


def _status(
    by_version: Mapping[str, tuple[int, int]], known: FailureMode | None, champion: str
) -> ModeStatus:
    now, chances = by_version.get(champion, (0, 0))
    # Version by version: traces of a time without a router would dilute what a router did wrong.
    earlier = [pair for version, pair in by_version.items() if version != champion]
    if chances >= ENOUGH and any(
        now * possible <= _LESS * hits * chances and wilson(now, chances).high < wilson(hits, possible).low
        for hits, possible in earlier
    ):
        return ModeStatus.FIXED
    if known is None:
        return ModeStatus.NEW
    return ModeStatus.REGRESSED if known.status is ModeStatus.FIXED else ModeStatus.ONGOING
