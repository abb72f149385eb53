"""Whether nights add up, as a table and a page: versions on the vault, in the order in which they served."""

from collections.abc import Sequence

from rsi.questions import Point
from rsi.report.charts import ShareMark, shares_in_order
from rsi.report.page import POLICY
from rsi.report.style import STYLE
from rsi.report.words import inert_html, percent, points, short
from rsi.settings import Home
from rsi.statistics.intervals import wilson
from rsi.store.files import write_whole

COLUMNS: Sequence[str] = (
    "version",
    "suite",
    "right",
    "share",
    "95% interval",
    "over the first",
    "its 95% interval",
)
"""Of `rows`."""
FILE = "vault.html"
LEAD = "Every version that was in service, on held-out items that no gate asks and no verdict rests on."
NOTE = (
    "Whiskers: 95% intervals of Wilson, each version alone. The gain over the first version is paired, item by item, "
    "with the interval of Tango."
)


def rows(audited: Sequence[Point]) -> list[list[str]]:
    """Rows of a table, one a point."""
    return [
        [short(one.version), one.suite, f"{one.right} of {one.items}", percent(one.right / max(one.items, 1))]
        + ["{} to {}".format(*map(percent, wilson(one.right, one.items)))]
        + (
            ["", ""]
            if (gain := one.gain) is None
            else [points(gain.difference), f"{points(gain.low)} to {points(gain.high)}"]
        )
        for one in audited
    ]


def sentence(audited: Sequence[Point]) -> str:
    """What the first and the last version say about one suite's vault."""
    first, last = audited[0], audited[-1]
    before, after = (percent(one.right / max(one.items, 1)) for one in (first, last))
    if last.gain is None:
        return f"{first.suite}: {before} of {first.items}; one version has served, so there is nothing to compare."
    if last.gain.low > 0:
        found = "the nights added up"
    elif last.gain.high < 0:
        found = "the nights took away"
    else:
        found = "whether the nights added up cannot be told"
    return (
        f"{first.suite}: {before} with the first version, {after} with the last, {points(last.gain.difference)} points "
        f"(95% interval {points(last.gain.low)} to {points(last.gain.high)}): {found}."
    )


def by_suite(audited: Sequence[Point]) -> dict[str, list[Point]]:
    """Points by suite, both in their order."""
    found: dict[str, list[Point]] = {}
    for one in audited:
        found.setdefault(one.suite, []).append(one)
    return found


def page(name: str, audited: Sequence[Point]) -> str:
    """One HTML file that fetches nothing; `name` is that of the deployment."""
    suites = by_suite(audited)
    said = "".join(f"<li>{inert_html(sentence(some))}</li>" for some in suites.values())
    head, body = _cells("th", COLUMNS), "".join(_cells("td", row) for row in rows(audited))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Vault of {inert_html(name)}</title><style>{STYLE}</style></head>\n<body><main>\n"
        f'<header><div class="kicker"><span>Vault</span><span>{inert_html(name)}</span></div>'
        f'<h1>Do the nights add up?</h1><p class="lead">{LEAD}</p></header>\n<ul>{said}</ul>\n'
        f"{''.join(map(_section, suites.values()))}<h2>In numbers</h2>"
        f'<div class="scroll"><table><thead>{head}</thead><tbody>{body}</tbody></table></div>\n'
        f'<p class="note">{NOTE}</p>\n</main></body></html>\n'
    )


def write(home: Home, name: str, audited: Sequence[Point]) -> str:
    """Put the page into the home; its path."""
    path = home.root / FILE
    write_whole(path, page(name, audited).encode())
    return str(path)


def _section(audited: Sequence[Point]) -> str:
    suite = audited[0].suite
    chart = shares_in_order(
        list(map(mark, audited)), f"Share right on the vault of {suite}, version by version"
    )
    return f'<h2>{inert_html(suite)}</h2><figure><div class="plot">{chart}</div></figure>\n'


def mark(one: Point) -> ShareMark:
    """A version with its interval, for `rsi.report.charts.shares_in_order`."""
    name, (low, high) = short(one.version)[:8], wilson(one.right, one.items)
    hint = f"{name}: {one.right} of {one.items}, 95% interval {percent(low)} to {percent(high)}"
    return ShareMark(name, low, one.right / max(one.items, 1), high, hint)


def _cells(kind: str, row: Sequence[str]) -> str:
    """A row of a table, whose cells after the second hold numbers."""
    return (
        "<tr>"
        + "".join(
            f"<{kind}{' class=n' if at > 1 else ''}>{inert_html(cell)}</{kind}>"
            for at, cell in enumerate(row)
        )
        + "</tr>"
    )
