"""The tiles, lists and cards of the pages on nights and versions."""

import html
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import SupportsFloat, TypeAlias

import pandas as pd

from dashboards.loop_questions import Lineage, Loop, Night, Origin, suites_of
from dashboards.pieces import (
    Column,
    Tile,
    axis,
    badge,
    bar,
    code,
    empty,
    go,
    scale,
    section,
    table,
    tame,
    tiles,
    version,
    when,
)
from dashboards.questions import share
from rsi.report.telling import clause_title
from rsi.report.words import duration, inert_html, percent, plural, points

Row: TypeAlias = Mapping[str, object]

TONES = {"pass": "pass", "fail": "fail", "cannot tell": "doubt"}
_MODES = {"new": "doubt", "regressed": "fail", "fixed": "pass"}
_STATES = {"in service": "pass", "passed": "doubt", "refused": "fail", "rejected": "fail"}
_STAGES = ("discover", "expand", "update", "gate")
NIGHT_WIDTHS = {
    "night": 106, "role": 58, "modes": 84, "bank": 56, "steps": 58, "gate": 92, "gain, points": 180, "decision": 136,
    "took": 84, "how it ended": 240,
}  # fmt: skip
"""Pixels of the columns of the list of nights."""
VERSION_WIDTHS = {
    "version": 120, "state": 120, "changed": 92, "night": 106, "tasks": 70, "steps": 62, "gate": 104,
    "approved by": 110, "came into service": 150, "traces": 76, "failed": 200,
}  # fmt: skip
"""Pixels of the columns of the list of versions."""


def nights_tiles(found: Loop) -> str:
    """The numbers that stand first on the page of nights."""
    nights, service = found.nights, found.service
    promoted = int((service["kind"] == "promotion").sum())
    back = int((service["kind"] == "rollback").sum())
    judged = nights["judgement"].dropna()
    not_passed = int((judged != "pass").sum())
    waiting = nights[nights["asked_at"].notna() & nights["decision"].isna()]
    spent = float(nights["seconds"].dropna().sum())
    running = int(nights["ended_at"].isna().sum())
    return tiles(
        [
            Tile("Nights", f"{len(nights):,}", f"{running} not ended" if running else f"{duration(spent)} together"),
            Tile("Into service", f"{promoted:,}", f"{plural(back, 'rollback')}"),
            Tile("Kept out by the gate", f"{not_passed:,}", f"of {plural(len(judged), 'verdict')}"),
            Tile("Without a candidate", f"{int((nights['candidate'].isna() & nights['ended_at'].notna()).sum()):,}",
                 "too little to train on, or stopped"),
            Tile("Wait for an answer", f"{len(waiting):,}",
                 "<code>rsi approve</code>" if len(waiting) else "nothing waits", "doubt" if len(waiting) else ""),
            _gained(found.quality),
        ]
    )  # fmt: skip


def _gained(quality: pd.DataFrame) -> Tile:
    """The version that serves against the first one, on the target that both were asked."""
    name = "Since the first version"
    targets = quality[quality["is_target"]]
    for suite in targets["suite"].drop_duplicates():
        rows = targets[targets["suite"] == suite].sort_values("place")
        now = rows[rows["state"] == "in service"]
        if len(now) and rows.iloc[0]["place"] == 0 and len(rows) > 1:
            first, last = rows.iloc[0], now.iloc[0]
            change = points(float(last["rate"] - first["rate"]))
            where = f"{inert_html(suite)}{' (vault)' if last['split'] == 'vault' else ''}"
            more = f"points on {where}<br>{percent(first['rate'])} to {percent(last['rate'])}"
            return Tile(name, change, more, "" if last["rate"] >= first["rate"] else "fail")
    return Tile(name, "–", "the version in service has not been measured")


def curve_note(quality: pd.DataFrame) -> str:
    """What the curve of quality is drawn from."""
    if (quality["split"] == "vault").any():
        return (
            "Share of the vault's items that each version in service got right, with its 95% interval. No verdict "
            "rests on these items."
        )
    return (
        "Share of the gate's items that each version in service got right, by the last verdict about it, with its 95% "
        "interval. Items that are asked again every night flatter whoever passed on them; "
        "<code>rsi gate audit</code> asks others."
    )


def curve_legend(quality: pd.DataFrame) -> str:
    """The suites of the curve with their colours, those that candidates had to be better on first."""
    names = []
    for at, suite in enumerate(suites_of(quality)):
        rows = quality[quality["suite"] == suite]
        guard = "" if rows["is_target"].any() else ", a guard"
        items = plural(int(rows["items"].max()), "item")
        names.append(f'<span><i class="series s{at}"></i>{inert_html(str(suite))}, {items}{guard}</span>')
    return f'<p class="caption">{"".join(names)}</p>'


def nights_list(nights: pd.DataFrame) -> pd.DataFrame:
    """Nights as a list shows them."""
    rows = [
        {
            "night": one.night,
            "role": _text(one.role) or ("–" if not _text(one.candidate) else "harness"),
            "modes": f"{one.modes:,}" + (f", {one.new_modes} new" if one.new_modes else ""),
            "bank": _number(one.tasks),
            "steps": _number(one.steps),
            "gate": _text(one.judgement) or "–",
            "gain, points": gained(one.gain, one.gain_low, one.gain_high),
            "decision": decision(one),
            "took": duration(one.seconds) if pd.notna(one.seconds) else "not ended",
            "how it ended": _text(one.reason) or "it runs, or was killed; run it again to go on",
        }
        for one in nights.itertuples()
    ]
    return tame(pd.DataFrame(rows, columns=list(NIGHT_WIDTHS)))


def gained(gain: float, low: float, high: float) -> str:
    """A gain with its interval, in points."""
    return f"{points(gain)} ({points(low)} to {points(high)})" if pd.notna(gain) else "–"


def decision(one: object) -> str:
    """What a person said, or that nobody has."""
    said, approver = _text(getattr(one, "decision", None)), _text(getattr(one, "approver", None))
    if said:
        return f"{'approved' if said == 'approve' else 'rejected'} by {approver}"
    return "waits" if pd.notna(getattr(one, "asked_at", None)) else "–"


def night_card(told: Night, linked: bool) -> str:
    """One night in full: what it read, how long each stage took, its clauses and modes."""
    row = told.row
    judgement, said = _text(row["judgement"]), _text(row["decision"])
    marks = badge(judgement, TONES.get(judgement, "")) if judgement else badge("no verdict")
    if said:
        marks += badge(f"{'approved' if said == 'approve' else 'rejected'} by {_text(row['approver'])}",
                       "pass" if said == "approve" else "fail")  # fmt: skip
    candidate = _text(row["candidate"])
    ended = f"{_when(row['ended_at'])} UTC" if row["ended_at"] is not None else "it has not ended"
    link = go("lineage.py", "its version", version=candidate) if candidate and linked else ""
    trained = f"{_count(row['steps'], 'step')} of {inert_html(_text(row['algorithm']))}"
    change = f"{percent(_float(row['before']))} → {percent(_float(row['after']))}"
    counts = f"of {_count(row['items'], 'item')}, {row['won']} won, {row['lost']} lost"
    facts = {
        "read": f"{_count(row['new_traces'], 'new trace')}, {_count(row['new_failures'], 'failure')}",
        "bank": f"{_count(row['tasks'], 'task')} {_short(row['bank'])}" if row["bank"] else "none",
        "changed": inert_html(_text(row["role"])) or ("the harness" if candidate else "nothing"),
        "trained": trained if row["steps"] is not None else "nothing",
        "candidate": _short(candidate) if candidate else "none",
        "against": _short(row["champion"]),
        "contract": inert_html(_text(row["contract"])) or "not asked",
        "target": f"{change} {counts}" if row["gain"] is not None else "not measured",
    }
    return (
        f'<article class="trace"><div class="top"><h3 class="title">Night {inert_html(_text(row["night"]))}</h3>'
        f'{marks}{link}<span class="when">{_when(row["began_at"])} to {ended}</span></div>'
        f'<p class="why">{inert_html(_text(row["reason"]) or "not ended yet")}</p>'
        f"{_facts(facts)}{_times(row)}"
        f"{_clauses(told.clauses)}{_modes(told.modes)}</article>"
    )


def report_frame(report: str | None) -> str:
    """The gate's report in a frame of its own, in which nothing runs and nothing is fetched."""
    if report is None:
        return ""
    return f'<iframe class="report" sandbox title="Gate report" srcdoc="{html.escape(report, quote=True)}"></iframe>'


def lineage_tiles(found: Lineage) -> str:
    """The numbers that stand first on the page of versions."""
    versions, service = found.versions, found.service
    now = versions[versions["state"] == "in service"]
    served = versions["served_at"].notna()
    serving = now.iloc[0] if len(now) else None
    since = service["came_at"].iloc[-1] if len(service) else None
    states = versions["state"].value_counts()
    out = int(states.get("refused", 0) + states.get("rejected", 0))
    return tiles(
        [
            Tile("In service", _short(serving["version"]) if serving is not None else "–",
                 f"since {when(since)}" if since is not None else "nothing yet"),
            Tile("Steps from the first", f"{serving['generation']}" if serving is not None else "–",
                 "each passed its gate"),
            Tile("Versions", f"{len(versions):,}", f"{int(served.sum())} came into service"),
            Tile("Refused", f"{out:,}", "by the gate or a person"),
            Tile("Rollbacks", f"{int((service['kind'] == 'rollback').sum()):,}", "to an earlier version"),
            _live(serving),
        ]
    )  # fmt: skip


def _live(serving: "pd.Series | None") -> Tile:
    name = "Fails in use"
    if serving is None or not serving["traces"]:
        return Tile(name, "–", "no trace names the version that serves")
    low, rate, high = share(int(serving["failures"]), int(serving["traces"]))
    return Tile(
        name,
        percent(rate),
        f"of {plural(int(serving['traces']), 'trace')}<br>95% {percent(low)} to {percent(high)}",
    )


def versions_list(versions: pd.DataFrame) -> pd.DataFrame:
    """Versions as a list shows them."""
    rows = []
    for one in versions.itertuples():
        low, rate, high = share(int(one.failures), int(one.traces))
        rows.append(
            {
                "version": version(one.version),
                "state": one.state,
                "changed": changed(one.role, bool(one.new_harness), one.parent),
                "night": _text(one.night) or "–",
                "tasks": _number(one.tasks),
                "steps": _number(one.steps),
                "gate": _text(one.judgement) or "–",
                "approved by": _text(one.approver) if one.decision == "approve" else "–",
                "came into service": when(one.served_at) if pd.notna(one.served_at) else "–",
                "traces": f"{one.traces:,}",
                "failed": f"{percent(rate)} ({percent(low)} to {percent(high)})" if one.traces else "–",
            }
        )
    return tame(pd.DataFrame(rows, columns=list(VERSION_WIDTHS)))


def changed(role: object, new_harness: bool, parent: object) -> str:
    """What a version changed in its parent."""
    if not _text(parent):
        return "the first"
    return " + ".join(filter(None, (_text(role), "harness" if new_harness else ""))) or "nothing"


def version_card(told: Origin, linked: bool) -> str:
    """One version: the way to it, what it was trained on, how it was judged."""
    row = told.row
    line = row["line"]
    names = [str(one) for one in line] if isinstance(line, Iterable) and not isinstance(line, str) else []
    way = " → ".join(
        f"<b>{_short(one)}</b>" if one == row["version"] else _short(one) for one in names
    ) or _short(row["version"])
    state, night = _text(row["state"]), _text(row["night"])
    link = go("nights.py", f"night {inert_html(night)}", night=night) if night and linked else ""
    trained = f"{_count(row['steps'], 'step')} of {inert_html(_text(row['algorithm']))}"
    facts = {
        "way from the first": way,
        "changed": changed(row["role"], bool(row["new_harness"]), row["parent"]),
        "adapter": code(_text(row["adapter"])) if row["adapter"] else "none",
        "trained": f"{trained} on {_count(row['tasks'], 'task')}"
        if row["steps"] is not None
        else "not by a job of this home",
        "in service": _served(row),
    }
    return (
        f'<article class="trace"><div class="top"><h3 class="title">Version {_short(row["version"])}</h3>'
        f'{badge(state, _STATES.get(state, ""))}{link}<span class="when">{_when(row["made_at"])} UTC</span></div>'
        f"{_facts(facts)}{_clauses(told.clauses)}{_sources(told, linked)}</article>"
    )


def _served(row: Row) -> str:
    if row["served_at"] is None:
        return "never"
    until = "now" if row["left_at"] is None else _when(row["left_at"])
    traces, failed = _count(row["traces"], "trace"), _count(row["failures"], "failure")
    return f"{_when(row['served_at'])} to {until}, {traces}, {failed}"


def _sources(told: Origin, linked: bool) -> str:
    if told.modes.empty and told.examples.empty:
        return ""
    most = int(told.modes["tasks"].max()) if len(told.modes) else 1
    modes = table(
        [Column("what its bank is about"), Column("made from"), Column("tasks", "number"), Column("")],
        [
            [inert_html(one.mode), inert_html(one.source), f"{one.tasks:,}",
             f'<span class="count"><b style="width:{100 * one.tasks / most:.1f}%"></b></span>']
            for one in told.modes.itertuples()
        ],
        "",
    )  # fmt: skip
    examples = table(
        [Column("asked"), Column("expected"), Column("made from"), Column("trace", "short")],
        [
            [
                inert_html(one.prompt),
                inert_html(one.expected),
                inert_html(one.source),
                _trace(one.trace_uid, linked),
            ]
            for one in told.examples.itertuples()
        ],
        "",
    )
    return f"{section('What it learnt from')}{modes}" + (
        f"{section('Some of its tasks')}{examples}" if len(told.examples) else ""
    )


def _trace(uid: object, linked: bool) -> str:
    name = _text(uid)
    if not name:
        return '<span class="soft">none</span>'
    return go("failures.py", inert_html(name[:12]), trace=name) if linked else code(name[:12])


def _facts(facts: Mapping[str, str]) -> str:
    each = "".join(f"<span>{name} <b>{value}</b></span>" for name, value in facts.items())
    return f'<div class="facts">{each}</div>'


def _times(row: Row) -> str:
    """The stages side by side, each as wide as it took."""
    spent = {name: _float(row[f"{name}_s"]) for name in _STAGES if row[f"{name}_s"] is not None}
    whole = sum(spent.values())
    if not whole:
        return ""
    bars = "".join(
        f'<i class="{name}" style="width:{100 * seconds / whole:.2f}%" title="{name} {duration(seconds)}"></i>'
        for name, seconds in spent.items()
    )
    names = "".join(
        f'<span><i class="{name}"></i>{name} {duration(seconds)}</span>' for name, seconds in spent.items()
    )
    return f'<div class="stages">{bars}</div><p class="caption">{names}</p>'


def _clauses(clauses: pd.DataFrame) -> str:
    if clauses.empty:
        return ""
    order = {"fail": 0, "cannot tell": 1, "pass": 2}
    rows = sorted(clauses.itertuples(), key=lambda one: order.get(one.clause_judgement, 0))
    body = table(
        [Column("clause"), Column("judgement"), Column("measured, and needed")],
        [
            [inert_html(clause_title(one.clause)), badge(one.clause_judgement, TONES.get(one.clause_judgement, "")),
             inert_html(one.clause_text)]
            for one in rows
        ],
        "",
    )  # fmt: skip
    return f"{section('What the gate said')}{body}"


def _modes(modes: pd.DataFrame) -> str:
    if modes.empty:
        return ""
    end = scale(modes["high"])
    rows = [
        [
            f"{one.rank}",
            f"{inert_html(one.title)}<br>{code(one.mode_id)}",
            badge(one.status, _MODES.get(one.status, "")),
            f"{one.tasks:,}" if one.tasks else "–",
            f"{one.count:,} of {one.opportunities:,}",
            bar(one.low, one.rate, one.high, end),
        ]
        for one in modes.itertuples()
    ]
    names = [
        Column("#", "number"),
        Column("what went wrong"),
        Column("status"),
        Column("tasks made", "number"),
    ]
    columns = [*names, Column("seen", "number"), Column(axis("share of its chances", end), "wide")]
    return f"{section('What it found')}{table(columns, rows, '')}"


def no_nights() -> str:
    """What the page says before the first night."""
    return empty("No night has begun here. <code>rsi nightly --dry-run</code> says what one would do.")


def no_versions() -> str:
    """What the page says before the first version."""
    return empty("There is no version here yet. <code>rsi init</code> puts the bare base into service.")


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _short(value: object) -> str:
    return code(version(_text(value)))


def _number(value: object) -> str:
    return f"{int(_float(value)):,}" if value is not None and pd.notna(value) else "–"


def _count(value: object, what: str) -> str:
    return plural(int(_float(value)), what)


def _float(value: object) -> float:
    return float(value) if isinstance(value, SupportsFloat) else 0.0


def _when(value: object) -> str:
    return when(value if isinstance(value, datetime) else None)
