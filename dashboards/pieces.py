"""Pieces of a page as HTML: heads, tiles, tables with bars, badges. Every text from traces is escaped here.

marimo's own tables make links and even pictures of addresses in a cell, so that a trace could call home from the
browser of whoever reads it: frames for them go through `tame`.
"""

import html
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import pandas as pd

from rsi.report.words import inert_html, percent, short, tidy
from rsi.settings import Home

WIDTHS = {
    "when": 140,
    "decided by": 120,
    "value": 66,
    "agent": 104,
    "version": 118,
    "asked": 310,
    "answered": 310,
}
"""Pixels of the columns of the list of failing traces."""

FILE_WIDTHS = {
    "file": 330,
    "ingested": 140,
    "read": 76,
    "loaded": 76,
    "known before": 110,
    "held out": 80,
    "refused": 76,
    "in quarantine": 110,
    "why": 220,
}
"""Pixels of the columns of the list of files."""

_FILE = 46
"""Characters of a file's address that a list shows."""

PANEL = {"background": "var(--card)", "border": "1px solid var(--line)", "border-radius": "10px"}
"""The look of a box of controls."""

_SCALES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
_ADDRESS = re.compile(r"(?<=:)(?=//|image/)")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_JOINER = "\u2060"
"""Takes no room, and is no part of an address."""


class Tile(NamedTuple):
    """One number with its name and what it is made of."""

    what: str
    big: str
    more: str
    tone: str = ""
    """fail, doubt, pass or nothing."""


class Column(NamedTuple):
    """A column of `table`."""

    name: str
    kind: str = "text"
    """text, short, number or wide."""


def head(title: str, lead: str, aside: str = "") -> str:
    """The top of a page."""
    words = f'<div><h1>{title}</h1><p class="lead">{lead}</p></div>'
    return f'<header class="head">{words}<div class="aside">{aside}</div></header>'


def go(page: str, name: str, **query: str) -> str:
    """A link to another page, where the server has it."""
    here = "&amp;".join(f"{key}={inert_html(value)}" for key, value in {"file": page, **query}.items())
    return f'<a class="go" href="?{here}">{name}</a>'


def section(title: str, note: str = "") -> str:
    """A heading with what one should know to read what follows."""
    return (
        f'<div class="section"><h2>{title}</h2>' + (f'<p class="note">{note}</p>' if note else "") + "</div>"
    )


def tiles(shown: Iterable[Tile]) -> str:
    """Numbers side by side."""
    each = (
        f'<div class="tile {one.tone}"><div class="what">{one.what}</div><div class="big">{one.big}</div>'
        f'<div class="more">{one.more}</div></div>'
        for one in shown
    )
    return f'<div class="tiles">{"".join(each)}</div>'


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]], nothing: str) -> str:
    """A table of ready cells, or the sentence that stands where there are none."""
    body = "".join(
        "<tr>"
        + "".join(f'<td class="{c.kind}">{cell}</td>' for c, cell in zip(columns, row, strict=True))
        + "</tr>"
        for row in rows
    )
    if not body:
        return empty(nothing)
    names = "".join(f'<th class="{c.kind}">{c.name}</th>' for c in columns)
    return f'<div class="sheet"><table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table></div>'


def scale(highs: Iterable[float]) -> float:
    """The end of the axis that bars of some shares have in common; every axis begins at 0."""
    most = max(highs, default=0.0)
    return next(end for end in _SCALES if end >= min(most, 1.0))


def axis(name: str, end: float) -> str:
    """Head of a column of bars: its name and both ends of its axis."""
    return f'{name}<span class="axis"><i>0</i><i>{end:.0%}</i></span>'


def bar(low: float, rate: float, high: float, end: float) -> str:
    """A share as a bar, its interval as a whisker, and the number."""
    if rate != rate:
        return '<span class="soft">none judged</span>'
    at = {"--rate": rate, "--low": low, "--wide": min(high, end) - low}
    style = ";".join(f"{name}:{100 * value / end:.2f}%" for name, value in at.items())
    title = f"{percent(rate)}, 95% interval {percent(low)} to {percent(high)}"
    return (
        f'<span class="share" title="{title}"><span class="track" style="{style}"><b></b><s></s></span>'
        f"<em>{percent(rate)}</em></span>"
    )


def badge(text: str, tone: str = "") -> str:
    """A word in a coloured field; the word is escaped."""
    return f'<span class="badge {tone}">{inert_html(text)}</span>'


def code(text: str) -> str:
    """Outside text in type of one width."""
    return f"<code>{inert_html(text)}</code>"


def empty(sentence: str) -> str:
    """What stands where there is nothing: why, and what to do."""
    return f'<div class="empty">{sentence}</div>'


def block(text: str) -> str:
    """Outside text with its line breaks, without control and direction marks."""
    kept = "".join(c for c in text if c in "\n\t" or unicodedata.category(c)[0] != "C")
    return html.escape(kept, quote=True)


def version(digest: str) -> str:
    """A version as people say it."""
    return short(digest) if digest else "unknown"


def when(moment: datetime | None) -> str:
    """A time to the minute, UTC."""
    return f"{moment:%-d %b %Y, %H:%M}" if moment else "no time"


def choices(found: Mapping[str, int]) -> dict[str, str]:
    """Names for a list to choose from -> what they stand for."""
    named: dict[str, str] = {}
    for value, count in found.items():
        name = f"{short(value) if _DIGEST.fullmatch(value) else tidy(value)[:40] or 'unknown'} · {count:,}"
        named[name if name not in named else f"{name} ({len(named)})"] = value
    return named


def no_snapshot(home: Home) -> str:
    """What a page says before anything was ingested."""
    return empty(
        f"There is no snapshot in {code(str(home.root))} yet. Load traces with <code>rsi ingest FILES</code>, "
        "which makes one, or name another folder with <code>RSI_HOME</code>; then load this page again."
    )


def no_traces() -> str:
    """What a page says where the store holds no trace."""
    return empty(
        "There are no traces here yet. <code>rsi ingest FILES</code> loads some; what could not be loaded stands "
        "under ingest health, with the reason."
    )


def caption(text: str, **keys: str) -> str:
    """What a chart shows, and its colours by name."""
    legend = "".join(f'<span><i class="{tone}"></i>{name}</span>' for tone, name in keys.items())
    return f'<p class="caption">{text}{legend}</p>'


def listed(failing: pd.DataFrame) -> pd.DataFrame:
    """Failing traces as a list shows them."""
    moments = failing["when"].dt.strftime("%Y-%m-%d %H:%M").fillna("no time")
    named = failing["version"].fillna("").map(version)
    values = ["" if value != value else f"{value:g}" for value in failing["value"]]
    return tame(failing.assign(when=moments, value=values, version=named))


def files(frame: pd.DataFrame) -> pd.DataFrame:
    """Files as a list shows them: the end of an address tells more than its beginning."""
    ends = [one if len(one) <= _FILE else f"…{one[-_FILE:]}" for one in frame["file"]]
    return tame(
        frame.assign(file=ends, ingested=frame["ingested"].dt.strftime("%Y-%m-%d %H:%M").fillna("not read"))
    )


def tame(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame whose texts marimo's table shows as texts: on one line, without addresses that it would follow."""
    texts = frame.select_dtypes(include=["object", "str"]).columns
    return frame.assign(**{name: [_tamed(value) for value in frame[name]] for name in texts})


def _tamed(value: object) -> str:
    return _ADDRESS.sub(_JOINER, tidy(value)) if isinstance(value, str) else ""
