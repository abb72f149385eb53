"""The tiles, the list and the card of the page on versions."""

from collections.abc import Iterable

import pandas as pd

from dashboards.cells import Row, clauses_table, count, facts_line, moment, number, short, text
from dashboards.loop_questions import Lineage, Origin
from dashboards.pieces import Column, Tile, badge, code, empty, go, section, table, tame, tiles, version, when
from dashboards.questions import share
from rsi.report.words import inert_html, percent, plural

_STATES = {"in service": "pass", "passed": "doubt", "refused": "fail", "rejected": "fail"}
VERSION_WIDTHS = {
    "version": 120, "state": 120, "changed": 92, "night": 106, "tasks": 70, "steps": 62, "gate": 104,
    "approved by": 110, "came into service": 150, "traces": 76, "failed": 200,
}  # fmt: skip
"""Pixels of the columns of the list of versions."""


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
            Tile("In service", short(serving["version"]) if serving is not None else "–",
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
                "night": text(one.night) or "–",
                "tasks": number(one.tasks),
                "steps": number(one.steps),
                "gate": text(one.judgement) or "–",
                "approved by": text(one.approver) if one.decision == "approve" else "–",
                "came into service": when(one.served_at) if pd.notna(one.served_at) else "–",
                "traces": f"{one.traces:,}",
                "failed": f"{percent(rate)} ({percent(low)} to {percent(high)})" if one.traces else "–",
            }
        )
    return tame(pd.DataFrame(rows, columns=list(VERSION_WIDTHS)))


def changed(role: object, new_harness: bool, parent: object) -> str:
    """What a version changed in its parent."""
    if not text(parent):
        return "the first"
    return " + ".join(filter(None, (text(role), "harness" if new_harness else ""))) or "nothing"


def version_card(told: Origin, linked: bool) -> str:
    """One version: the way to it, what it was trained on, how it was judged."""
    row = told.row
    line = row["line"]
    names = [str(one) for one in line] if isinstance(line, Iterable) and not isinstance(line, str) else []
    way = " → ".join(
        f"<b>{short(one)}</b>" if one == row["version"] else short(one) for one in names
    ) or short(row["version"])
    state, night = text(row["state"]), text(row["night"])
    link = go("nights.py", f"night {inert_html(night)}", night=night) if night and linked else ""
    trained = f"{count(row['steps'], 'step')} of {inert_html(text(row['algorithm']))}"
    facts = {
        "way from the first": way,
        "changed": changed(row["role"], bool(row["new_harness"]), row["parent"]),
        "adapter": code(text(row["adapter"])) if row["adapter"] else "none",
        "trained": f"{trained} on {count(row['tasks'], 'task')}"
        if row["steps"] is not None
        else "not by a job of this home",
        "in service": _served(row),
    }
    return (
        f'<article class="trace"><div class="top"><h3 class="title">Version {short(row["version"])}</h3>'
        f'{badge(state, _STATES.get(state, ""))}{link}<span class="when">{moment(row["made_at"])} UTC</span></div>'
        f"{facts_line(facts)}{clauses_table(told.clauses)}{_sources(told, linked)}</article>"
    )


def _served(row: Row) -> str:
    if row["served_at"] is None:
        return "never"
    until = "now" if row["left_at"] is None else moment(row["left_at"])
    traces, failed = count(row["traces"], "trace"), count(row["failures"], "failure")
    return f"{moment(row['served_at'])} to {until}, {traces}, {failed}"


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
    name = text(uid)
    if not name:
        return '<span class="soft">none</span>'
    return go("failures.py", inert_html(name[:12]), trace=name) if linked else code(name[:12])


def no_versions() -> str:
    """What the page says before the first version."""
    return empty("There is no version here yet. <code>rsi init</code> puts the bare base into service.")
