"""The brief: what somebody needs in order to answer a request, on one screen, in Markdown.

It stands above the form in Prefect, in a window about 450 pixels wide that cuts wider tables off. Losses come first
among what changed; the card and the HTML report have the rest.
"""

from collections.abc import Sequence

from rsi.questions import Certificate
from rsi.records import Clause, Judgement
from rsi.report.card import SIGN, inline, table
from rsi.report.evidence import Count, Evidence, Part, SuiteTable
from rsi.report.telling import (
    GAP,
    JUDGE,
    Table,
    agreement_line,
    clause_title,
    dev_line,
    gap_line,
    label_names,
    suite_name,
)
from rsi.report.words import percent, plural, points, short

MOST_LOSSES, MOST_MODES, MOST_EXAMPLES = 4, 4, 3
"""Lines that a screen has room for."""
DOUBT = SIGN[Judgement.CANNOT_TELL]
WORST_FIRST = (Judgement.FAIL, Judgement.CANNOT_TELL, Judgement.PASS)


def brief(evidence: Evidence, certificate: Certificate) -> str:
    """The brief of a verdict; text from outside is escaped, so that none of it acts as markup."""
    verdict = evidence.verdict
    parts = [
        f"### {SIGN[verdict.judgement]} {inline(_gain(evidence.target))}",
        _losses(evidence),
        *(f"{DOUBT} **{GAP}:** {inline(gap_line(one))}" for one in (evidence.gap,) if one and one.beyond),
        _list([*_guards(evidence), *_manners(evidence.verdict.clauses)]),
        *_examples(evidence),
        _list(_about(evidence, certificate)),
        f"Night {inline(verdict.night)}, {inline(f'role {verdict.role}' if verdict.role else 'harness only')}: "
        f"candidate `{short(verdict.candidate)}` against champion `{short(verdict.champion)}`, "
        f"contract {inline(verdict.contract)}, verdict `{short(verdict.digest)}`.",
    ]
    return "\n\n".join(parts) + "\n"


def _gain(target: SuiteTable) -> str:
    before, after = target.total.shares()
    low, high = target.interval
    return (
        f"{suite_name(target.suite).capitalize()}: {percent(before)} → {percent(after)}, "
        f"{points(target.difference)} points (95%: {points(low)} to {points(high)}) on "
        f"{plural(target.total.n, 'held-out item')}"
    )


def _losses(evidence: Evidence) -> str:
    """Groups that got worse, the worst first; a line that says so where none did."""
    names = label_names(evidence)
    groups = [
        *((names.get(one.name, one.name), one) for one in evidence.target.by_label),
        *((one.total.name, one.total) for one in evidence.target.by_level),
        *((f"{one.name} items", one) for one in (() if evidence.target.by_level else evidence.target.by_hardness)),
        *((f"{suite_name(one.suite)} ({one.part})", one.total) for one in evidence.tables[1:]),
    ]
    worse = sorted(((_change(one), name, one) for name, one in groups if _change(one) < 0), key=lambda it: it[:2])
    if not worse:
        return f"**Worse than before:** none of {plural(len(groups), 'group')}"
    rows = [
        (name, str(one.n), " → ".join(map(percent, one.shares())), points(by))
        for by, name, one in worse[:MOST_LOSSES]
    ]
    if len(worse) > MOST_LOSSES:
        rows.append((f"and {len(worse) - MOST_LOSSES} more, in the report", "", "", ""))
    return table(Table(("Worse than before", "Items", "Before → after", "Points"), tuple(rows)))


def _change(one: Count) -> float:
    before, after = one.shares()
    return after - before


def _examples(evidence: Evidence) -> list[str]:
    """From traces set aside for looking, never from what the gate asks; a list, since cells would not wrap."""
    if not evidence.examples:
        return []
    names = label_names(evidence)
    lines = []
    for one in evidence.examples[:MOST_EXAMPLES]:
        right, before, after = (names.get(role, role) for role in (one.expected, one.before, one.after))
        lines.append(f"- {inline(f'“{one.request}”: right {right}, champion {before}, candidate {after}')}")
    return ["\n".join(["Examples from dev:", "", *lines])]


def _guards(evidence: Evidence) -> list[tuple[str, str]]:
    """Guards, and suites in which nothing may be wrong."""
    rows = []
    for one in evidence.tables[1:]:
        zero, name = one.part is Part.ZERO_TOLERANCE, suite_name(one.suite)
        said = _clauses(evidence.verdict.clauses, f"{'zero_tolerance' if zero else 'guard'}_{name}")
        judged = _worst(said, "not asked")
        if zero:
            wrong = f", {one.total.n - one.total.after} of {plural(one.total.n, 'item')} wrong" if one.total.n else ""
            rows.append((f"Zero tolerance {name}", f"{judged}{wrong}"))
            continue
        bound = next((c.numbers["lower"] for c in said if "lower" in c.numbers), None)
        least = f", at least {points(bound)}" if bound is not None else ""
        margin = points(-(one.margin or 0.0))
        rows.append((f"Guard {name}", f"{judged}, {points(one.difference)} points{least}, margin {margin}"))
    return rows


def _manners(clauses: Sequence[Clause]) -> list[tuple[str, str]]:
    """One row: that all is as it was, or what is not."""
    said = _clauses(clauses, "hygiene")
    if not said:
        return []
    odd = {
        end: [clause_title(one.name).partition(": ")[2] for one in said if one.judgement is end]
        for end in (Judgement.FAIL, Judgement.CANNOT_TELL)
    }
    rows = [f"{SIGN[end]} {end.value}: {', '.join(names)}" for end, names in odd.items() if names]
    return [("Hygiene", "; ".join(rows) or _worst(said, ""))]


def _worst(said: Sequence[Clause], nothing: str) -> str:
    ends = {one.judgement for one in said}
    return next((f"{SIGN[end]} {end.value}" for end in WORST_FIRST if end in ends), nothing)


def _list(rows: Sequence[tuple[str, str]]) -> str:
    return "\n".join(f"- **{inline(name)}:** {inline(said)}" for name, said in rows)


def _clauses(clauses: Sequence[Clause], prefix: str) -> list[Clause]:
    return [one for one in clauses if one.name.startswith(f"{prefix}_")]


def _about(evidence: Evidence, certificate: Certificate) -> list[tuple[str, str]]:
    """What led here and what it cost: long texts, which cells of a table would not wrap."""
    rows = [("What changed", "; ".join(evidence.changes)), *_bank(evidence)]
    if evidence.expected_fixed:
        rows.append(("Modes expected fixed", _modes(evidence)))
    rows += [("Dev side", dev_line(one)) for one in (evidence.dev,) if one]
    rows += [(GAP, gap_line(one)) for one in (evidence.gap,) if one and not one.beyond]
    rows += [(JUDGE, agreement_line(one)) for one in (evidence.agreement,) if one]
    rows += [("What an answer takes", one) for one in (evidence.spent,) if one]
    return [*rows, ("Budget left", _left(certificate))]


def _bank(evidence: Evidence) -> list[tuple[str, str]]:
    if evidence.bank is None:
        return []
    titles = {one.mode_id: one.title for one in evidence.modes.modes} if evidence.modes else {}
    most = sorted(evidence.bank.by_mode.items(), key=lambda it: (-it[1], it[0]))
    by_mode = ", ".join(f"{titles.get(mode, mode)} {count}" for mode, count in most[:MOST_MODES])
    rest = f", {len(most) - MOST_MODES} more modes" if len(most) > MOST_MODES else ""
    return [("Bank", f"{plural(evidence.bank.tasks, 'task')}: {by_mode}{rest}")]


def _modes(evidence: Evidence) -> str:
    said = [f"{one.title} ({percent(one.rate)} of {one.opportunities})" for one, _ in evidence.expected_fixed]
    rest = f" and {len(said) - MOST_MODES} more" if len(said) > MOST_MODES else ""
    return "; ".join(said[:MOST_MODES]) + rest


def _left(certificate: Certificate) -> str:
    if certificate.left is None:
        return "the contract sets no budget over nights"
    parts = [f"alpha {certificate.left:.3g} after {certificate.alpha:.2g} for this one"]
    if certificate.questions_left is not None:
        parts.append(plural(certificate.questions_left, "question"))
    if certificate.accepts_left is not None:
        parts.append(f"{certificate.accepts_left} more may pass on these items")
    return ", ".join(parts)
