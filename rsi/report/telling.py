"""What card and page say in the same words: headlines, titles and the rows of their tables, as plain text."""

from collections.abc import Sequence
from typing import NamedTuple

from rsi.prices import Prices
from rsi.records import Judgement, OutcomeKind, Verdict
from rsi.report.charts import IntervalRow
from rsi.report.evidence import Agreement, Count, DevScore, Evidence, Gap, LevelCount, SuiteTable, Took
from rsi.report.words import duration, percent, plural, points, short, usd
from rsi.statistics.intervals import wilson

MOST_TICKETS = 20
GAP = "Dev against gate"
"""What the comparison of both is called everywhere."""
JUDGE = "Judge"
"""What a line on the model that judges begins with."""
_GROUPS = {"own": "written for this project"}
_CLAUSES = {
    "size": "enough items",
    "power": "sharp enough",
    "noise": "above the noise floor",
    "gain": "gain",
    "accuracy": "accuracy",
    "labels": "every label",
    "hard": "hard requests of our own",
    "levels": "every level",
    "range": "a loss would show",
    "noninferior": "not worse",
    "anchor": "not worse than the anchor",
    "failures": "nothing wrong",
    "agreement": "agrees with people",
    "length": "as long as before",
    "refusals": "no more refusals",
    "repetition": "no more repetition",
    "language": "in the same language",
}


class Course(NamedTuple):
    """A number of a training run that is drawn over its steps."""

    key: str
    """Its name in ``metrics.jsonl``."""
    axis: str
    title: str
    top: float
    """How far the axis reaches at least."""


COURSES = (
    Course("reward", "mean reward", "Reward", 1.0),
    Course("entropy", "nats a token", "Entropy of the policy", 0.0),
    Course("k3", "nats a token", "Distance between actor and learner (k3)", 0.0),
    Course("rehearsal_kl", "nats a token", "Distance from what was said before (rehearsal)", 0.0),
)
LOSS = Course("loss", "nats a token", "Loss", 0.0)


class Table(NamedTuple):
    """A table in plain text; columns from `numbers` on hold numbers."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: int = 1


def suite_name(suite: str) -> str:
    """``easy`` for ``easy/v1``."""
    return suite.split("/")[0]


def clause_title(name: str) -> str:
    """``Guard easy: not worse`` for ``guard_easy_noninferior``."""
    subject, _, what = name.rpartition("_")
    if not subject or what not in _CLAUSES:
        return name.replace("_", " ").capitalize()
    return f"{subject.replace('_', ' ').capitalize()}: {_CLAUSES[what]}"


def meaning(verdict: Verdict) -> str:
    """What the judgement means, naming the clauses that decided it."""
    if verdict.judgement is Judgement.PASS:
        return "Every clause of the contract holds. A person may approve the candidate."
    names = [clause_title(one.name) for one in verdict.clauses if one.judgement is verdict.judgement]
    why = "Failed" if verdict.judgement is Judgement.FAIL else "The evidence does not suffice for"
    return f"{why}: {'; '.join(names)}. The champion stays."


def headline(evidence: Evidence) -> str:
    """The gain in one sentence."""
    table = evidence.target
    before, after = table.total.shares()
    return (
        f"{suite_name(table.suite).capitalize()}: {percent(before)} right before, {percent(after)} after, "
        f"on {plural(table.total.n, 'held-out request')}."
    )


def label_names(evidence: Evidence) -> dict[str, str]:
    """Role -> ``L2 code``, where the harness has a word for it."""
    return {role: f"{role} {word}" for role, word in evidence.labels.items()}


def suites_table(evidence: Evidence) -> Table:
    """One row a suite."""
    rows = []
    for table in evidence.tables:
        before, after = table.total.shares()
        low, high = table.interval
        rows.append(
            (
                f"{suite_name(table.suite)} ({table.part})",
                str(table.total.n),
                percent(before),
                percent(after),
                points(table.difference),
                f"{points(low)} to {points(high)}",
                str(table.wins),
                str(table.losses),
            )
        )
    head = ("Suite", "Items", "Before", "After", "Points", "95% interval", "Won", "Lost")
    return Table(head, tuple(rows))


def groups_table(counts: Sequence[Count], names: dict[str, str] | None = None) -> Table:
    """One row a group."""
    rows = []
    for one in counts:
        before, after = one.shares()
        name = (names or _GROUPS).get(one.name, one.name)
        rows.append((name, str(one.n), percent(before), percent(after), points(after - before)))
    return Table(("Group", "Items", "Before", "After", "Points"), tuple(rows))


def levels_table(evidence: Evidence) -> Table:
    """One row a level of the target, with the interval of its difference; no rows where it has none."""
    plain = groups_table([one.total for one in evidence.target.by_level])
    ends = [one.interval for one in evidence.target.by_level]
    rows = tuple((*row, f"{points(low)} to {points(high)}") for row, (low, high) in zip(plain.rows, ends, strict=True))
    return Table(("Level", *plain.head[1:], "95% interval"), rows)


def labels_table(evidence: Evidence) -> Table:
    """One row a label of the target, with the baseline beside it."""
    plain = groups_table(evidence.target.by_label, label_names(evidence))
    if evidence.baseline is None:
        return Table(("Label", *plain.head[1:]), plain.rows)
    by_label = evidence.baseline.by_label
    rows = tuple(
        (*row, percent(by_label[one.name]) if one.name in by_label else "–")
        for row, one in zip(plain.rows, evidence.target.by_label, strict=True)
    )
    return Table(("Label", *plain.head[1:], "Baseline"), rows)


def outcomes_table(tables: Sequence[SuiteTable]) -> Table:
    """How answers ended, one row a suite and version."""
    rows = [
        (f"{suite_name(table.suite)}, {version}", *(str(ends.get(kind, 0)) for kind in OutcomeKind))
        for table in tables
        for version, ends in table.outcomes.items()
    ]
    head = ("Answers", *(kind.value.replace("_", " ").capitalize() for kind in OutcomeKind))
    return Table(head, tuple(rows))


def modes_table(evidence: Evidence) -> Table:
    """Failure modes that the candidate was trained against."""
    rows = [
        (m.title, m.status.value, f"{m.count} of {m.opportunities}", percent(m.rate), str(tasks))
        for m, tasks in evidence.expected_fixed
    ]
    return Table(("Failure mode", "Status", "Seen", "Rate", "Tasks"), tuple(rows), numbers=2)


def tickets_table(evidence: Evidence) -> Table:
    """Failures that are somebody else's than the model's, the most frequent first."""
    most = evidence.tickets[:MOST_TICKETS]
    rows = [(one.title, one.blame.value, "; ".join(one.reasons) or "–", str(one.count)) for one in most]
    return Table(("What", "Whose", "Why", "Traces"), tuple(rows), numbers=3)


def dev_line(dev: DevScore) -> str:
    """What is told of the dev side, and how little that is."""
    of = "this candidate, a new best" if dev.risen else "a candidate before; this one is not better by a step"
    return (
        f"{percent(dev.best)} of {plural(dev.items, 'request')} right: {of} (told in steps of {percent(dev.step)}, and "
        "only a best; nothing of it weighs in the verdict)"
    )


def agreement_line(found: Agreement) -> str:
    """How far a judge says what people say, with the interval, and where it does not."""
    low, high = wilson(found.agreed, found.n)
    undecided = f", no verdict on {found.undecided}" if found.undecided else ""
    return (
        f"{found.by} agrees with people on {percent(found.share)} of {plural(found.n, 'marked answer')} (95%: "
        f"{percent(low)} to {percent(high)}): {found.said_right} of {found.right} right ones, {found.said_wrong} of "
        f"{found.wrong} wrong ones{undecided}"
    )


def gap_line(gap: Gap) -> str:
    """Whether dev and gate say the same of a candidate, and what it means where they do not."""
    at_gate = f"at the gate the candidate mends {gap.mended} of {plural(gap.failed, 'failure')} of the champion"
    if not gap.beyond:
        return f"{at_gate}, on dev no more than chance explains"
    return (
        f"{at_gate}, on dev far more than chance explains (95%): it knows dev by heart, was chosen by it, or dev asks "
        "other things than the gate; what counts is the gain at the gate"
    )


def took_table(evidence: Evidence) -> Table:
    """Time, tokens and money of both versions, in all; no rows where nobody measured, no money without a price."""
    arms = [(suite_name(one.suite), *one.took) for one in evidence.tables if one.took and one.took[0].answers]
    if len(arms) > 1:
        befores, afters = [one for _, one, _ in arms], [one for _, _, one in arms]
        arms.append(("together", Took.together(befores), Took.together(afters)))
    rows = [
        (name, what, say(old), say(new), change(old, new))
        for name, before, after in arms
        for what, say, old, new in (
            ("seconds", "{:,.1f}".format, before.seconds, after.seconds),
            ("tokens read", "{:,.0f}".format, before.read, after.read),
            ("tokens written", "{:,.0f}".format, before.written, after.written),
            ("US dollars", usd, before.usd(evidence.prices), after.usd(evidence.prices)),
        )
        if old is not None and new is not None
    ]
    return Table(("Suite", "Of all answers", "Champion", "Candidate", "Change"), tuple(rows), numbers=2)


def price_line(prices: Prices) -> str:
    """By which price the money is told; "" where none is known."""
    if not prices.known:
        return ""
    if prices.usd_an_hour is not None:
        return f"Money at {usd(prices.usd_an_hour)} an hour of the engine."
    read, written = prices.usd_a_million_read or 0.0, prices.usd_a_million_written or 0.0
    return f"Money at {usd(read)} a million tokens read and {usd(written)} a million written."


def change(before: float, after: float) -> str:
    """By how much it is more or less, as a share of what was; a dash where there was nothing."""
    return f"{100 * (after - before) / before:+.0f}%".replace("-", "−") if before else "–"


def courses(evidence: Evidence) -> tuple[Course, ...]:
    """What to draw of a run: the loss says something only where right answers were shown."""
    rewarded = any("reward" in row for row in evidence.metrics)
    return COURSES if rewarded else (LOSS, *COURSES)


def run_lines(evidence: Evidence) -> tuple[str, ...]:
    """What the run took and how its answers ended, in counts."""
    rows = evidence.metrics
    if not rows:
        return ()

    def total(key: str) -> int:
        return int(sum(row.get(key, 0.0) for row in rows))

    ends = {kind.value.replace("_", " "): total(f"outcome_{kind.value}") for kind in OutcomeKind}
    answers = ", ".join(f"{name} {count:,}" for name, count in ends.items() if count)
    spent = duration(sum(row.get("seconds", 0.0) for row in rows))
    return (
        f"{plural(len(rows), 'step')} in {spent}, {plural(total('sampled'), 'sampled token')}; "
        f"{plural(total('skipped'), 'group')} without signal"
        + (f", of which {total('failed_groups')} failed" if total("failed_groups") else "")
        + (f"; {plural(total('refilled'), 'group')} drawn in their place" if total("refilled") else ""),
        *((f"answers: {answers}",) if answers else ()),
    )


def bank_lines(evidence: Evidence) -> tuple[str, ...]:
    """What the candidate was trained on, and what was refused."""
    bank = evidence.bank
    if bank is None:
        return ()
    expected = ", ".join(f"{name} {count}" for name, count in sorted(bank.by_expected.items()))
    rejected = ", ".join(f"{reason} {count}" for reason, count in sorted(bank.rejected.items()))
    screens = ", ".join(f"{split} {short(print_)}" for split, print_ in sorted(bank.screens.items()))
    return (
        f"{plural(bank.tasks, 'task')} in bank {short(bank.digest)}: {expected or 'none'}",
        f"refused proposals: {rejected or 'none'}",
        f"screened against held-out fingerprints: {screens or 'none'}",
    )


def baseline_line(evidence: Evidence) -> str:
    """The honest comparison in one sentence; "" where there was none."""
    found = evidence.baseline
    if found is None:
        return ""
    _, after = evidence.target.total.shares()
    return (
        f"For honesty: {found.name}, trained on the same {plural(found.texts, 'text')}, gets "
        f"{percent(found.accuracy)} of the target suite right; the candidate {percent(after)}."
    )


def interval_rows(evidence: Evidence) -> list[IntervalRow]:
    """Differences of all suites and of the levels of each, with bound and margin where the contract has one."""
    bounds = {clause.name: clause.numbers.get("lower") for clause in evidence.verdict.clauses}
    rows = []
    for table in evidence.tables:
        name = suite_name(table.suite)
        low, high = table.interval
        bound = bounds.get(f"guard_{name}_noninferior") if table.margin is not None else None
        margin = -table.margin if table.margin is not None else None
        rows.append(IntervalRow(f"{name} ({table.part})", low, table.difference, high, bound, margin))
        rows += [_interval_row(one, evidence.verdict) for one in table.by_level]
    return rows


def _interval_row(level: LevelCount, verdict: Verdict) -> IntervalRow:
    """One level, with bound and margin where the contract holds it to one."""
    held = next((one.numbers for one in verdict.clauses if one.name == "target_levels"), dict[str, float]())
    (before, after), (low, high) = level.total.shares(), level.interval
    bound, margin = held.get(f"lower_{level.total.name.replace(' ', '_')}"), held.get("margin")
    return IntervalRow(level.total.name, low, after - before, high, bound, -margin if margin is not None else None)


def evidence_rows(evidence: Evidence) -> tuple[tuple[str, str], ...]:
    """Digests that name everything this rests on."""
    verdict = evidence.verdict
    return (
        ("Verdict (evidence digest)", verdict.digest),
        ("Candidate", verdict.candidate),
        ("Champion", verdict.champion),
        ("Contract", f"{verdict.contract} {verdict.contract_digest}"),
        *((f"Suite {suite}", pin) for suite, pin in sorted(verdict.suites.items())),
        ("Scorecard", verdict.scorecard),
        *((("Bank", evidence.bank.digest),) if evidence.bank else ()),
    )
