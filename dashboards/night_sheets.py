"""The tiles, the list and the card of the page on nights."""

import html

import pandas as pd

from dashboards.cells import TONES, Row, clauses_table, count, facts_line, moment, number, real, short, text
from dashboards.loop_questions import Loop, Night, suites_of
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
)
from rsi.report.words import duration, inert_html, percent, plural, points

_MODES = {"new": "doubt", "regressed": "fail", "fixed": "pass"}
_STAGES = ("discover", "expand", "update", "gate")
NIGHT_WIDTHS = {
    "night": 106, "role": 58, "modes": 84, "bank": 56, "steps": 58, "gate": 92, "gain, points": 180, "decision": 136,
    "took": 84, "how it ended": 240,
}  # fmt: skip
"""Pixels of the columns of the list of nights."""


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
            "role": text(one.role) or ("–" if not text(one.candidate) else "harness"),
            "modes": f"{one.modes:,}" + (f", {one.new_modes} new" if one.new_modes else ""),
            "bank": number(one.tasks),
            "steps": number(one.steps),
            "gate": text(one.judgement) or "–",
            "gain, points": gained(one.gain, one.gain_low, one.gain_high),
            "decision": decision(one),
            "took": duration(one.seconds) if pd.notna(one.seconds) else "not ended",
            "how it ended": text(one.reason) or "it runs, or was killed; run it again to go on",
        }
        for one in nights.itertuples()
    ]
    return tame(pd.DataFrame(rows, columns=list(NIGHT_WIDTHS)))


def gained(gain: float, low: float, high: float) -> str:
    """A gain with its interval, in points."""
    return f"{points(gain)} ({points(low)} to {points(high)})" if pd.notna(gain) else "–"


def decision(one: object) -> str:
    """What a person said, or that nobody has."""
    said, approver = text(getattr(one, "decision", None)), text(getattr(one, "approver", None))
    if said:
        return f"{'approved' if said == 'approve' else 'rejected'} by {approver}"
    return "waits" if pd.notna(getattr(one, "asked_at", None)) else "–"


def night_card(told: Night, linked: bool) -> str:
    """One night in full: what it read, how long each stage took, its clauses and modes."""
    row = told.row
    judgement, said = text(row["judgement"]), text(row["decision"])
    marks = badge(judgement, TONES.get(judgement, "")) if judgement else badge("no verdict")
    if said:
        marks += badge(f"{'approved' if said == 'approve' else 'rejected'} by {text(row['approver'])}",
                       "pass" if said == "approve" else "fail")  # fmt: skip
    candidate = text(row["candidate"])
    ended = f"{moment(row['ended_at'])} UTC" if row["ended_at"] is not None else "it has not ended"
    link = go("lineage.py", "its version", version=candidate) if candidate and linked else ""
    trained = f"{count(row['steps'], 'step')} of {inert_html(text(row['algorithm']))}"
    change = f"{percent(real(row['before']))} → {percent(real(row['after']))}"
    counts = f"of {count(row['items'], 'item')}, {row['won']} won, {row['lost']} lost"
    facts = {
        "read": f"{count(row['new_traces'], 'new trace')}, {count(row['new_failures'], 'failure')}",
        "bank": f"{count(row['tasks'], 'task')} {short(row['bank'])}" if row["bank"] else "none",
        "changed": inert_html(text(row["role"])) or ("the harness" if candidate else "nothing"),
        "trained": trained if row["steps"] is not None else "nothing",
        "candidate": short(candidate) if candidate else "none",
        "against": short(row["champion"]),
        "contract": inert_html(text(row["contract"])) or "not asked",
        "target": f"{change} {counts}" if row["gain"] is not None else "not measured",
    }
    return (
        f'<article class="trace"><div class="top"><h3 class="title">Night {inert_html(text(row["night"]))}</h3>'
        f'{marks}{link}<span class="when">{moment(row["began_at"])} to {ended}</span></div>'
        f'<p class="why">{inert_html(text(row["reason"]) or "not ended yet")}</p>'
        f"{facts_line(facts)}{_times(row)}"
        f"{clauses_table(told.clauses)}{_modes(told.modes)}</article>"
    )


def report_frame(report: str | None) -> str:
    """The gate's report in a frame of its own, in which nothing runs and nothing is fetched."""
    if report is None:
        return ""
    return f'<iframe class="report" sandbox title="Gate report" srcdoc="{html.escape(report, quote=True)}"></iframe>'


def _times(row: Row) -> str:
    """The stages side by side, each as wide as it took."""
    spent = {name: real(row[f"{name}_s"]) for name in _STAGES if row[f"{name}_s"] is not None}
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
