"""The Markdown card: what changed, the verdict and its numbers, for Prefect's pages and for a terminal."""

from rsi.records import Judgement
from rsi.report.evidence import Evidence
from rsi.report.telling import (
    GAP,
    JUDGE,
    Table,
    agreement_line,
    bank_lines,
    baseline_line,
    clause_title,
    dev_line,
    evidence_rows,
    gap_line,
    groups_table,
    headline,
    labels_table,
    levels_table,
    meaning,
    modes_table,
    outcomes_table,
    price_line,
    suites_table,
    tickets_table,
    took_table,
)
from rsi.report.words import inert_markdown, short

SIGN = {Judgement.PASS: "✅", Judgement.FAIL: "❌", Judgement.CANNOT_TELL: "❔"}


def card(evidence: Evidence) -> str:
    """The card of a verdict; text from outside is escaped, so that none of it acts as markup."""
    verdict, target = evidence.verdict, evidence.target
    changed = f"role {verdict.role}" if verdict.role else "harness only"
    parts = [
        f"# {SIGN[verdict.judgement]} Gate: {verdict.judgement.value}",
        f"**{inline(headline(evidence))}** {inline(meaning(verdict))}",
        f"Night {inline(verdict.night)}, {inline(changed)}, candidate `{_code(short(verdict.candidate))}` against "
        f"champion `{_code(short(verdict.champion))}`, contract {inline(verdict.contract)}.",
        "## What changed",
        _list(evidence.changes),
        "## Suites",
        table(suites_table(evidence)),
        "## Clauses",
        table(_clauses(evidence)),
    ]
    if target.by_label:
        parts += ["## By label", table(labels_table(evidence))]
    if target.by_level:
        parts += ["## By level", table(levels_table(evidence))]
    parts += ["## By source and hardness", table(groups_table((*target.by_source, *target.by_hardness)))]
    if evidence.baseline:
        parts.append(inline(baseline_line(evidence)))
    if evidence.dev:
        parts.append(f"Dev side: {inline(dev_line(evidence.dev))}.")
    if evidence.gap:
        sign = f"{SIGN[Judgement.CANNOT_TELL]} " if evidence.gap.beyond else ""
        parts.append(f"{sign}{GAP}: {inline(gap_line(evidence.gap))}.")
    if evidence.agreement:
        parts.append(f"{JUDGE}: {inline(agreement_line(evidence.agreement))}.")
    parts += ["## How answers ended", table(outcomes_table(evidence.tables))]
    if took_table(evidence).rows:
        parts += ["## Cost and latency", table(took_table(evidence))]
        parts += [inline(line) for line in (price_line(evidence.prices),) if line]
    if evidence.expected_fixed:
        parts += ["## Failure modes expected fixed", table(modes_table(evidence))]
    if evidence.tickets:
        parts += ["## Tickets: failures that no training takes away", table(tickets_table(evidence))]
    if evidence.bank:
        parts += ["## Bank", _list(bank_lines(evidence))]
    rows = [f"- {inline(name)}: `{_code(value)}`" for name, value in evidence_rows(evidence)]
    parts += ["## Evidence", "\n".join(rows)]
    return "\n\n".join(parts) + "\n"


def _clauses(evidence: Evidence) -> Table:
    rows = (
        (clause_title(one.name), f"{SIGN[one.judgement]} {one.judgement.value}", one.text)
        for one in evidence.verdict.clauses
    )
    return Table(("Clause", "Judgement", "Measured, and needed"), tuple(rows), numbers=3)


def table(shown: Table) -> str:
    """A table in Markdown, every cell inert."""
    rule = ["---" if at < shown.numbers else "---:" for at in range(len(shown.head))]
    rows = [shown.head, *shown.rows]
    lines = ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows]
    lines.insert(1, "| " + " | ".join(rule) + " |")
    return "\n".join(lines)


def _list(lines: tuple[str, ...]) -> str:
    return "\n".join(f"- {inline(line)}" for line in lines) or "- nothing recorded"


def _cell(text: str) -> str:
    sign = next((sign for sign in SIGN.values() if text.startswith(sign)), "")
    return sign + (" " if sign else "") + inline(text.removeprefix(sign).strip())


def inline(text: str) -> str:
    """Outside text in a line of Markdown, inert."""
    return inert_markdown(text)


def _code(text: str) -> str:
    return "".join(c for c in text if c.isalnum() or c in " /._-")
