"""Card and page of a verdict that rests on live failures: the version in service against the one before it."""

from rsi.questions import Arm, Look
from rsi.records import Verdict
from rsi.report.page import POLICY
from rsi.report.style import STYLE
from rsi.report.words import inert_html, inert_markdown, percent, plural, points, short

HEAD = ("Version", "Conversations", "Counted", "Failed", "Rate")


def headline(look: Look) -> str:
    """The rise in one sentence."""
    return (
        f"In service {percent(look.now.rate)} of conversations failed, {percent(look.before.rate)} with the version "
        f"before: {points(look.now.rate - look.before.rate)} points, 95% interval {points(look.low)} to "
        f"{points(look.high)}."
    )


def card(verdict: Verdict, look: Look) -> str:
    """The card in Markdown."""
    rows = "\n".join(f"| {' | '.join(inert_markdown(cell) for cell in row)} |" for row in _rows(look))
    parts = [
        "# ↩ Watch: go back to the version before?",
        f"**{inert_markdown(headline(look))}** {inert_markdown(_ask(look))}",
        f"| {' | '.join(HEAD)} |\n| --- | ---: | ---: | ---: | ---: |\n{rows}",
        "## Clauses",
        "\n".join(f"- {inert_markdown(f'{one.judgement.value}: {one.text}')}" for one in verdict.clauses),
        "## Evidence",
        "\n".join(f"- {inert_markdown(name)}: `{value}`" for name, value in _evidence(verdict)),
    ]
    return "\n\n".join(parts) + "\n"


def page(verdict: Verdict, look: Look) -> str:
    """The same as one HTML file that fetches nothing."""
    head, *rows = (_cells(kind, row) for kind, row in (("th", HEAD), *(("td", row) for row in _rows(look))))
    clauses = "".join(f"<li>{inert_html(one.text)}</li>" for one in verdict.clauses)
    evidence = "".join(
        f"<dt>{inert_html(name)}</dt><dd><code>{inert_html(value)}</code></dd>"
        for name, value in _evidence(verdict)
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Watch {inert_html(verdict.night)}</title><style>{STYLE}</style></head>\n<body><main>\n"
        f'<header><div class="kicker"><span>Watch</span><span>night {inert_html(verdict.night)}</span>'
        f"<span>contract {inert_html(verdict.contract)}</span></div><h1>{inert_html(headline(look))}</h1>"
        f'<p class="lead">{inert_html(_ask(look))}</p></header>\n'
        f'<div class="scroll"><table><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table></div>\n'
        f"<section><h2>Clauses</h2><ul>{clauses}</ul></section>\n"
        f"<footer><h2>Evidence</h2><dl>{evidence}</dl></footer>\n</main></body></html>\n"
    )


def _cells(kind: str, row: tuple[str, ...]) -> str:
    """A row of a table, whose cells after the first hold numbers."""
    first, *rest = (inert_html(cell) for cell in row)
    return f"<tr><{kind}>{first}</{kind}>{''.join(f'<{kind} class=n>{cell}</{kind}>' for cell in rest)}</tr>"


def _ask(look: Look) -> str:
    return (
        f"An approval puts version {short(look.before.version)} back into service in place of "
        f"{short(look.now.version)}; a rejection keeps that one, and it is watched no more."
    )


def _rows(look: Look) -> list[tuple[str, ...]]:
    return [_row("in service", look.now), _row("before", look.before)]


def _row(name: str, arm: Arm) -> tuple[str, ...]:
    counts = (arm.conversations, arm.counted, arm.failed)
    return (f"{short(arm.version)} ({name})", *(f"{count:,}" for count in counts), percent(arm.rate))


def _evidence(verdict: Verdict) -> list[tuple[str, str]]:
    return [
        ("Verdict (evidence digest)", verdict.digest),
        ("In service", verdict.champion),
        ("Before", verdict.candidate),
        ("Contract", f"{verdict.contract} {verdict.contract_digest}"),
        ("Counts", verdict.scorecard),
    ]


def told(look: Look) -> str:
    """The clause in words: what was measured, and what was needed."""
    return (
        f"{look.now.failed} of {plural(look.now.counted, 'conversation')} failed since the promotion, "
        f"{look.before.failed} of {look.before.counted:,} before it; p {look.p:.2g}, at most {look.alpha:.2g} in look "
        f"{look.look} of {look.looks}; a rise of {points(look.rise)} points counts"
    )
