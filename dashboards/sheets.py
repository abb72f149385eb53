"""The tiles and tables of the pages, from what the snapshot answered."""

from collections.abc import Iterable, Sequence
from datetime import datetime

import pandas as pd

from dashboards.pieces import (
    Column,
    Tile,
    axis,
    badge,
    bar,
    code,
    scale,
    section,
    table,
    tiles,
    version,
    when,
)
from dashboards.questions import Answers, Headline, Health, Options, share
from rsi.report.words import inert_html, percent, plural

_NO_JUDGED = (
    "No judged trace is left by these filters. Widen them, or judge some with <code>rsi traces label</code>."
)
_TONES = {"new": "doubt", "regressed": "fail", "fixed": "pass"}


def as_of(offered: Options, made: datetime) -> str:
    """What the snapshot holds and when it was made."""
    period = "no times"
    if offered.first and offered.last:
        days = [f"{moment:%-d %b %Y}" for moment in (offered.first, offered.last)]
        period = " to ".join(dict.fromkeys(days))
    undated = offered.traces - offered.dated
    return (
        f"{plural(offered.traces, 'trace')}, {period}"
        + (f"<br>{undated:,} without a time" if undated else "")
        + f"<br>snapshot of {made:%-d %b %Y, %H:%M} UTC"
    )


def headline(found: Answers, health: Health) -> str:
    """The numbers that stand first."""
    n = found.headline
    modes, waiting = found.modes, health.totals["waiting"]
    refused = percent(n.calls_failed / n.calls) if n.calls else "–"
    return tiles(
        [
            _failed(n),
            Tile("Traces", f"{n.traces:,}", f"{n.traces - n.judged:,} not judged"),
            Tile(
                "Conversations hit",
                f"{n.conversations_failed:,}",
                f"of {n.conversations:,} had a failing trace",
            ),
            Tile("Tool calls refused", refused, f"{n.calls_failed:,} of {plural(n.calls, 'call')}"),
            Tile("Open failure modes", *_open(modes)),
            Tile(
                "Records in quarantine",
                f"{waiting:,}",
                f"of {health.totals['read']:,} read",
                "doubt" if waiting else "",
            ),
        ]
    )


def over_time(found: Answers) -> str:
    """The heading of the charts, with what they leave out."""
    drawn = int(found.over_time[["failed", "passed", "unknown"]].to_numpy().sum())
    undated = found.headline.traces - drawn
    return section("Over time", f"Without {plural(undated, 'trace')} that have no time." if undated else "")


def versions(found: Answers) -> str:
    """Each version with its share of failures, oldest first."""
    cells = ([code(version(one.version))] for one in found.by_version.itertuples())
    return _shares(found.by_version, [Column("version")], cells, _NO_JUDGED)


def rules(found: Answers) -> str:
    """What decided that traces failed."""
    end = scale(one.high for one in found.by_rule.itertuples() if one.score)
    columns = [Column("decided by"), Column("failed", "number"), Column(axis("share", end), "wide")]
    rows = [
        [
            f'{inert_html(one.score or "the run broke")}<br><span class="soft">{inert_html(one.rule)}</span>',
            f"{one.failed:,} of {one.judged:,}",
            bar(one.low, one.rate, one.high, end)
            if one.score
            else '<span class="soft">a run that breaks has failed</span>',
        ]
        for one in found.by_rule.itertuples()
    ]
    return table(columns, rows, _NO_JUDGED)


def tools(found: Answers) -> str:
    """Each tool with its refusals, and how the traces that called it ended."""
    columns = [Column("tool"), Column("calls", "number"), Column("refused", "number")]
    cells = (
        [code(one.tool), f"{one.calls:,}", f"{one.errors / one.calls:.1%}"]
        for one in found.by_tool.itertuples()
    )
    return _shares(found.by_tool, columns, cells, "The chosen traces called no tool.")


def modes(found: Answers) -> str:
    """The failure modes of the last night, most important first."""
    end = scale(found.modes["high"])
    names = [
        Column("#", "number"),
        Column("what goes wrong"),
        Column("status"),
        Column("first seen", "short"),
    ]
    counts = [Column("tasks made", "number"), Column("seen", "number")]
    columns = [*names, *counts, Column(axis("share of its chances", end), "wide")]
    rows = [
        [
            f"{one.rank}",
            f"{inert_html(one.title)}<br>{code(one.mode_id)}",
            badge(one.status, _TONES.get(one.status, "")),
            inert_html(one.first_seen),
            f"{one.tasks:,}" if one.tasks else "–",
            f"{one.count:,} of {one.opportunities:,}",
            bar(one.low, one.rate, one.high, end),
        ]
        for one in found.modes.itertuples()
    ]
    return table(columns, rows, "No night has looked for failure modes yet. <code>rsi discover</code> does.")


def breakdown(found: Answers) -> str:
    """Versions, rules, tools and modes, each under its heading."""
    note = (
        "Shares are of the judged traces that called the tool; the twelve tools with the most failing ones."
    )
    return (
        f'<div class="sheets"><div>{section("By version")}{versions(found)}</div>'
        f"<div>{section('By rule and score')}{rules(found)}</div></div>"
        f"{section('By tool', note)}{tools(found)}{section('Failure modes', _night(found.modes))}{modes(found)}"
    )


def intake(health: Health) -> str:
    """What became of the input: totals, refusals, and what was recorded more than once."""
    look = "<code>rsi quarantine list</code> shows each; after a reader is mended, <code>rsi quarantine retry</code>."
    return (
        f"{_input_tiles(health)}{section('Quarantine', look)}{reasons(health)}"
        f"{section('Recorded more than once')}{duplicates(health)}"
    )


def _night(modes: pd.DataFrame) -> str:
    return (
        ""
        if modes.empty
        else f"As night {inert_html(modes['night'].iloc[0])} found them, over all its traces."
    )


def _input_tiles(health: Health) -> str:
    n = health.totals
    last = f"last {when(health.last_ingest)}" if health.last_ingest else "none yet"
    share_loaded = f"{percent(n['loaded'] / n['read'])} of those read" if n["read"] else ""
    waiting = f"{n['waiting']:,} still in quarantine"
    shown = [
        Tile("Files", f"{n['files']:,}", last),
        Tile("Records read", f"{n['read']:,}", f"{n['redacted']:,} values redacted"),
        Tile("Loaded", f"{n['loaded']:,}", share_loaded),
        Tile("Known before", f"{n['duplicates']:,}", "counted once"),
        Tile("Held out", f"{n['heldout']:,}", "only the gate sees them"),
        Tile("Refused", f"{n['quarantined']:,}", waiting, "doubt" if n["waiting"] else ""),
    ]
    accounted = n["loaded"] + n["duplicates"] + n["heldout"] + n["quarantined"]
    return tiles(shown) + _sum(n["read"], accounted)


def reasons(health: Health) -> str:
    """Why records lie in quarantine."""
    most = int(health.reasons["refusals"].max()) if len(health.reasons) else 1
    columns = [
        Column("reason"),
        Column("records", "number"),
        Column(""),
        Column("files", "number"),
        Column("for instance"),
    ]
    rows = [
        [
            code(one.reason),
            f"{one.refusals:,}",
            f'<span class="count"><b style="width:{100 * one.refusals / most:.1f}%"></b></span>',
            f"{one.files:,}",
            f'<span class="soft">{inert_html(one.example)}</span>',
        ]
        for one in health.reasons.itertuples()
    ]
    return table(columns, rows, "Nothing is in quarantine: every record that was read could be loaded.")


def duplicates(health: Health) -> str:
    """Calls that several libraries recorded."""
    names = [Column("found by"), Column("span"), Column("recorded by"), Column("counted from")]
    columns = [*names, Column("spans", "number"), Column("tokens not counted twice", "number")]
    rows = [
        [
            badge(one.rule),
            code(one.name),
            inert_html(one.instrumentation or "not said"),
            inert_html(one.kept or "not said"),
            f"{one.spans:,}",
            f"{one.tokens:,}",
        ]
        for one in health.duplicates.itertuples()
    ]
    return table(columns, rows, "No call of a model was recorded twice.")


def _failed(n: Headline) -> Tile:
    if not n.judged:
        return Tile("Failed", "–", "no trace was judged")
    low, rate, high = share(n.failed, n.judged)
    more = f"{n.failed:,} of {n.judged:,} judged<br>95% {percent(low)} to {percent(high)}"
    return Tile("Failed", percent(rate), more, "fail" if n.failed else "")


def _open(modes: pd.DataFrame) -> tuple[str, str]:
    if modes.empty:
        return "–", "no night has looked"
    counts = modes["status"].value_counts()
    said = ", ".join(
        f"{counts[status]} {status}" for status in ("new", "regressed", "fixed") if status in counts
    )
    return f"{len(modes) - int(counts.get('fixed', 0))}", said or "none new, none fixed"


def _sum(read: int, accounted: int) -> str:
    if read == accounted:
        return '<p class="note">Every record is accounted for: read = loaded + known before + held out + refused.</p>'
    return (
        f'<p class="note bad">{read:,} records read, {accounted:,} accounted for: look at the files below, and '
        "ingest them again.</p>"
    )


def _shares(
    frame: pd.DataFrame, columns: Sequence[Column], cells: Iterable[Sequence[str]], nothing: str
) -> str:
    end = scale(frame.loc[frame["judged"] > 0, "high"])
    rows = (
        [*first, f"{one.failed:,} of {one.judged:,}", bar(one.low, one.rate, one.high, end)]
        for first, one in zip(cells, frame.itertuples(), strict=True)
    )
    more = [Column("traces failed", "number"), Column(axis("share", end), "wide")]
    return table([*columns, *more], rows, nothing)
