"""The HTML report: one file, no scripts, nothing fetched from elsewhere, light and dark."""

from collections.abc import Iterable, Sequence

from rsi.records import Clause, Judgement
from rsi.report.charts import grouped_bars, interval_plot, line_chart
from rsi.report.evidence import Evidence, Part
from rsi.report.style import STYLE
from rsi.report.telling import (
    GAP,
    JUDGE,
    Course,
    Table,
    agreement_line,
    bank_lines,
    baseline_line,
    clause_title,
    courses,
    dev_line,
    evidence_rows,
    gap_line,
    groups_table,
    headline,
    interval_rows,
    label_names,
    labels_table,
    levels_table,
    meaning,
    modes_table,
    outcomes_table,
    price_line,
    run_lines,
    suite_name,
    suites_table,
    tickets_table,
    took_table,
)
from rsi.report.words import inert_html, percent, points, short

BADGE = {Judgement.PASS: "pass", Judgement.FAIL: "fail", Judgement.CANNOT_TELL: "doubt"}
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def page(evidence: Evidence) -> str:
    """The report of a verdict; outside text is escaped, and a policy forbids scripts and fetches anyway."""
    verdict = evidence.verdict
    body = [
        _head(evidence),
        _tiles(evidence),
        _section("What changed", _list(evidence.changes)),
        _modes(evidence),
        _tickets(evidence),
        _labels(evidence),
        _levels(evidence),
        _intervals(evidence),
        _section("Clauses of the contract", _clauses(verdict.clauses)),
        _section("Suites in numbers", _table(suites_table(evidence))),
        _groups(evidence),
        _took(evidence),
        _training(evidence),
        _digests(evidence),
    ]
    title = f"Gate {verdict.night}: {verdict.judgement.value}"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_in(title)}</title><style>{STYLE}</style></head>\n<body><main>\n"
        + "\n".join(part for part in body if part)
        + "\n</main></body></html>\n"
    )


def _head(evidence: Evidence) -> str:
    verdict = evidence.verdict
    changed = f"adapter of role {verdict.role}" if verdict.role else "harness only"
    return (
        f'<header><div class="kicker">{_badge(verdict.judgement)}<span>Gate report</span>'
        f"<span>night {_in(verdict.night)}</span><span>{_in(changed)}</span>"
        f"<span>contract {_in(verdict.contract)}</span></div>"
        f'<h1>{_in(headline(evidence))}</h1><p class="lead">{_in(meaning(verdict))}</p>'
        + (f'<p class="lead">{_gap(evidence)}</p>' if evidence.gap and evidence.gap.beyond else "")
        + "</header>"
    )


def _gap(evidence: Evidence) -> str:
    return f"{GAP}: {_in(gap_line(evidence.gap))}." if evidence.gap else ""


def _tiles(evidence: Evidence) -> str:
    target = evidence.target
    before, after = target.total.shares()
    low, high = target.interval
    tiles = [
        _tile("Target accuracy", _shift(before, after), f"{target.total.n} items"),
        _tile("Gain, points", points(target.difference), f"95%: {points(low)} to {points(high)}"),
    ]
    if target.by_label:
        weak = min(target.by_label, key=lambda one: one.shares()[1])
        name = label_names(evidence).get(weak.name, weak.name)
        tiles.append(_tile("Weakest label", percent(weak.shares()[1]), f"{name}, {weak.n} items"))
    for one in evidence.tables[1:]:
        bar = "none may be wrong" if one.part is Part.ZERO_TOLERANCE else f"margin {points(-(one.margin or 0))}"
        shift = _shift(*one.total.shares())
        tiles.append(_tile(f"{one.part.capitalize()}: {suite_name(one.suite)}", shift, f"{one.total.n} items, {bar}"))
    return f'<div class="tiles">{"".join(tiles)}</div>'


def _shift(before: float, after: float) -> str:
    return f"<small>{percent(before)} →</small> {percent(after)}"


def _tile(what: str, big: str, more: str) -> str:
    """`big` is markup made here; the rest is escaped."""
    return (
        f'<div class="tile"><div class="what">{_in(what)}</div><div class="big">{big}</div>'
        f'<div class="more">{_in(more)}</div></div>'
    )


def _labels(evidence: Evidence) -> str:
    target = evidence.target
    if not target.by_label:
        return ""
    bar = next((c.numbers.get("bar") for c in evidence.verdict.clauses if c.name == "target_labels"), None)
    marks = evidence.baseline.by_label if evidence.baseline else None
    chart = grouped_bars(
        target.by_label, label_names(evidence), "Accuracy by label, before and after", bar, marks
    )
    keys = [("before", "champion"), ("after", "candidate")]
    keys += [("rule", f"bar for each label, {percent(bar)}")] if bar is not None else []
    keys += [("baseline", evidence.baseline.name)] if evidence.baseline else []
    said = f'<p class="note">{_in(baseline_line(evidence))}</p>' if evidence.baseline else ""
    return _section("Right answers by label", _figure(chart, keys) + _table(labels_table(evidence)) + said)


def _levels(evidence: Evidence) -> str:
    return _section("Right answers by level", _table(levels_table(evidence))) if evidence.target.by_level else ""


def _intervals(evidence: Evidence) -> str:
    keys = [("mean", "95% interval of the difference")]
    if len(evidence.tables) > 1:
        keys += [("bound", "one-sided bound that decides"), ("margin", "loss that is too much")]
    chart = interval_plot(interval_rows(evidence), "Differences between candidate and champion")
    return _section("How sure the difference is", _figure(chart, keys))


def _clauses(clauses: Sequence[Clause]) -> str:
    rows = "".join(
        f'<tr><td class="who">{_in(clause_title(one.name))}</td><td>{_badge(one.judgement)}</td>'
        f"<td>{_in(one.text)}</td></tr>"
        for one in clauses
    )
    return (
        '<div class="scroll"><table><thead><tr><th>Clause</th><th>Judgement</th>'
        f"<th>Measured, and needed</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _groups(evidence: Evidence) -> str:
    target = evidence.target
    return _section(
        "Where the target's items come from, and how answers ended",
        _table(groups_table((*target.by_source, *target.by_hardness)))
        + _table(outcomes_table(evidence.tables))
        + (f'<p class="note">Dev side: {_in(dev_line(evidence.dev))}.</p>' if evidence.dev else "")
        + (f'<p class="note">{_gap(evidence)}</p>' if evidence.gap and not evidence.gap.beyond else "")
        + (f'<p class="note">{JUDGE}: {_in(agreement_line(found))}.</p>' if (found := evidence.agreement) else "")
        + '<p class="note">Empty answers and answers in a wrong format count as wrong. Errors and invalid '
        "items are missing evidence: with one of them the gate cannot tell.</p>",
    )


def _took(evidence: Evidence) -> str:
    found = took_table(evidence)
    if not found.rows:
        return ""
    said = (
        '<p class="note">Time of the engine, which asks both versions in turns; an answer that both give from the same '
        f"adapter to the same prompt is asked once and counts for each. {_in(price_line(evidence.prices))}</p>"
    )
    return _section("Cost and latency", _table(found) + said)


def _training(evidence: Evidence) -> str:
    figures = "".join(_course(evidence, course) for course in courses(evidence))
    lines = (*run_lines(evidence), *bank_lines(evidence))
    if not figures and not lines:
        return ""
    return _section("Training", figures + (_list(lines) if lines else ""))


def _course(evidence: Evidence, course: Course) -> str:
    """What one number did over the steps; "" where the run has not measured it."""
    series = [
        (row["step"], row[course.key]) for row in evidence.metrics if {"step", course.key} <= row.keys()
    ]
    chart = line_chart(series, "step", course.axis, course.title, course.top)
    return _figure(chart, [("raw", f"{course.title}, each step"), ("mean", "running mean")]) if chart else ""


def _modes(evidence: Evidence) -> str:
    if not evidence.expected_fixed:
        return ""
    return _section("Failure modes expected fixed", _table(modes_table(evidence)))


def _tickets(evidence: Evidence) -> str:
    if not evidence.tickets:
        return ""
    said = (
        '<p class="note">Failures of the harness, the environment or the tasks. None of them becomes a training '
        "task; <code>rsi modes tickets</code> names the traces.</p>"
    )
    return _section("Tickets", said + _table(tickets_table(evidence)))


def _digests(evidence: Evidence) -> str:
    rows = "".join(
        f"<dt>{_in(name)}</dt><dd><code>{_in(value)}</code></dd>" for name, value in evidence_rows(evidence)
    )
    first = short(evidence.verdict.digest)[:8]
    return (
        '<footer><h2>Evidence</h2><p class="note">Whoever approves types the first eight digits of the '
        f"evidence digest: <code>{_in(first)}</code>. Answers to held-out items are not shown here.</p>"
        f"<dl>{rows}</dl></footer>"
    )


def _section(title: str, body: str) -> str:
    return f"<section><h2>{_in(title)}</h2>{body}</section>"


def _figure(chart: str, keys: Iterable[tuple[str, str]]) -> str:
    legend = "".join(f'<span><i class="{kind}"></i>{_in(words)}</span>' for kind, words in keys)
    return f'<figure><figcaption>{legend}</figcaption><div class="plot">{chart}</div></figure>'


def _table(table: Table) -> str:
    kinds = ["" if at < table.numbers else ' class="n"' for at in range(len(table.head))]
    head = "".join(f"<th{kind}>{_in(cell)}</th>" for kind, cell in zip(kinds, table.head, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td{k}>{_in(cell)}</td>" for k, cell in zip(kinds, row, strict=True)) + "</tr>"
        for row in table.rows
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _list(lines: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{_in(line)}</li>' for line in lines)}</ul>"


def _badge(judgement: Judgement) -> str:
    return f'<span class="badge {BADGE[judgement]}">{judgement.value}</span>'


def _in(text: str) -> str:
    return inert_html(text)
