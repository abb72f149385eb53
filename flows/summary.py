"""What the demo measured: the tables it prints and ``demo.json``."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import orjson

from flows.evidence import tables
from flows.replay import Replay
from flows.traffic import Request
from rsi.commands.say import line, table
from rsi.discover.facts import UNKNOWN
from rsi.records import FailureMode, Modes, Verdict
from rsi.report.evidence import Count, SuiteTable
from rsi.report.words import p_value, percent, points
from rsi.settings import Home
from rsi.store.files import write_whole

Json = dict[str, object]


@dataclass(frozen=True)
class Measured:
    """Everything, before and after."""

    requests: Sequence[Request]
    """What was sent through the gateway, both times."""
    before: Replay
    after: Replay
    verdict: Verdict
    suites: Sequence[SuiteTable]
    """Target first, then the guards."""
    modes_before: Modes
    modes_after: Modes
    seconds: Mapping[str, float]
    """Stage -> seconds."""
    words: Mapping[str, str]
    """Role -> the word the router says for it."""


def suites(home: Home, verdict: Verdict) -> tuple[SuiteTable, ...]:
    """The counts behind a verdict."""
    return tables(home, verdict.digest)


def write(home: Home, measured: Measured) -> None:
    """Write ``demo.json``."""
    write_whole(home.root / "demo.json", orjson.dumps(as_json(measured), option=orjson.OPT_INDENT_2))


def as_json(measured: Measured) -> Json:
    """The figures."""
    target, guards = measured.suites[0], measured.suites[1:]
    gain, hard = _numbers(measured.verdict, "target_gain"), _numbers(measured.verdict, "target_hard")
    return {
        "requests": len(measured.requests),
        "traffic": {
            "before": measured.before.accuracy(measured.requests),
            "after": measured.after.accuracy(measured.requests),
            "by_label": {one.name: _shares(one) for one in traffic_counts(measured)},
        },
        "gate": {
            **_shares(target.total),
            "suite": target.suite,
            "by_label": {one.name: _shares(one) for one in target.by_label},
            "by_source": {one.name: _shares(one) for one in target.by_source},
            "hard_own": {
                "items": int(hard.get("n_own_hard", 0)),
                "before": hard.get("before_own_hard"),
                "after": hard.get("after_own_hard"),
            },
        },
        "guards": {guard.suite: {**_shares(guard.total), "margin": guard.margin} for guard in guards},
        "p_value": gain.get("p"),
        "interval": [gain.get("low"), gain.get("high")],
        "verdict": measured.verdict.judgement.value,
        "modes": {
            "before": _statuses(measured.modes_before),
            "after": _statuses(measured.modes_after),
        },
        "seconds": dict(measured.seconds),
        "digests": {
            "version_before": measured.verdict.champion,
            "version_after": measured.verdict.candidate,
            "verdict": measured.verdict.digest,
            "scorecard": measured.verdict.scorecard,
        },
    }


def show(measured: Measured) -> None:
    """Print the tables."""
    line("\nBefore and after, measured in this run")
    table(
        ["", "", "requests", "before", "after", "points"],
        [
            *_rows(
                f"same {len(measured.requests)} requests through the gateway",
                traffic_counts(measured),
                measured,
            ),
            *_rows("held-out suite of the gate", measured.suites[0].by_label, measured),
            *[
                row
                for guard in measured.suites[1:]
                for row in _rows(f"guard {guard.suite}", (), measured, guard.total)
            ],
        ],
    )
    gain = _numbers(measured.verdict, "target_gain")
    line(
        f"\ngate: {measured.verdict.judgement.value}; gain {points(gain['difference'])} points, 95% interval "
        f"{points(gain['low'])} to {points(gain['high'])}, p {p_value(gain['p'])}"
    )
    line("\nFailure modes, with what became of them under the promoted version")
    rows = [_mode(one, measured) for one in sorted(measured.modes_after.modes, key=_told_first(measured))]
    table(["mode", "past traces", "before", "after", "was", "is"], rows)
    line("\nSeconds")
    table(["stage", "s"], [[stage, round(spent, 1)] for stage, spent in measured.seconds.items()])


def _mode(mode: FailureMode, measured: Measured) -> list[object]:
    """A mode in traces of no known version, under the version before, and under the promoted one."""
    was = next((one.status.value for one in measured.modes_before.modes if one.mode_id == mode.mode_id), "–")
    under = [mode.by_version.get(one, (0, 0)) for one in (measured.before.version, measured.after.version)]
    past = mode.by_version.get(UNKNOWN, (0, 0))[0]
    return [mode.title, past, *(f"{hits} of {chances}" for hits, chances in under), was, mode.status.value]


def _told_first(measured: Measured) -> Callable[[FailureMode], tuple[int, int, str]]:
    """What the router before did wrong most often, then what it never did."""
    version = measured.before.version
    return lambda mode: (-mode.by_version.get(version, (0, 0))[0], -mode.count, mode.signature)


def traffic_counts(measured: Measured) -> list[Count]:
    """Right answers on the replayed requests, by label."""
    before, after = measured.before.right(measured.requests), measured.after.right(measured.requests)
    return [Count(label, total, right, after[label][0]) for label, (right, total) in before.items()]


def _rows(
    what: str, counts: Sequence[Count], measured: Measured, total: Count | None = None
) -> list[list[object]]:
    total = total or Count("all", *(sum(one[at] for one in counts) for at in (1, 2, 3)))  # type: ignore[misc]
    named = [(f"{one.name} {measured.words.get(one.name, '')}", one) for one in counts]
    return [
        [what if at == 0 else "", name, *_cells(one)]
        for at, (name, one) in enumerate([*named, ("all", total)])
    ]


def _cells(one: Count) -> list[object]:
    before, after = one.shares()
    return [one.n, percent(before), percent(after), points(after - before)]


def _shares(one: Count) -> Json:
    before, after = one.shares()
    return {"items": one.n, "before": before, "after": after}


def _numbers(verdict: Verdict, clause: str) -> Mapping[str, float]:
    return next((one.numbers for one in verdict.clauses if one.name == clause), {})


def _statuses(modes: Modes) -> dict[str, int]:
    return dict(sorted(Counter(one.status.value for one in modes.modes).items()))
