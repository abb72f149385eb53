"""A verdict as artifacts: its card, and the counts of its scorecard as a table."""

from rsi.gate.contract import read
from rsi.gate.gate import open_scorecard
from rsi.gate.scorecard import summary
from rsi.registry import approval
from rsi.report.evidence import Count, SuiteTable
from rsi.report.words import percent, points
from rsi.settings import Home


def card(home: Home, verdict: str) -> str:
    """The Markdown card of a verdict; outside text in it is inert."""
    return (home.verdicts / verdict / "card.md").read_text(encoding="utf-8")


def brief(home: Home, verdict: str) -> str:
    """What an answer needs on one screen; the card of a verdict that is older than briefs."""
    path = home.verdicts / verdict / "brief.md"
    return path.read_text(encoding="utf-8") if path.exists() else card(home, verdict)


def show_card(home: Home, verdict: str) -> None:
    """The card as an artifact."""
    from prefect.artifacts import create_markdown_artifact

    create_markdown_artifact(card(home, verdict), key="card", description=f"verdict {verdict[:12]}")


def show_scorecard(home: Home, verdict: str) -> None:
    """Counts by suite, label, source and hardness as an artifact; no item and no answer is in it."""
    from prefect.artifacts import create_table_artifact

    rows = [row for table in tables(home, verdict) for row in _rows(table)]
    create_table_artifact(rows, key="scorecard", description=f"verdict {verdict[:12]}")


def tables(home: Home, verdict: str) -> tuple[SuiteTable, ...]:
    """The counts behind a verdict, suite by suite.

    Raises:
        IntegrityError: verdict or scorecard are missing or not what their names say.
    """
    found = approval.verdict(home, verdict)
    return summary(open_scorecard(home, found), read(found.contract))


def _rows(table: SuiteTable) -> list[dict[str, str]]:
    parts = [("all", (table.total,)), ("label", table.by_label), ("source", table.by_source)]
    parts.append(("hardness", table.by_hardness))
    return [_row(table.suite, group, one) for group, counts in parts for one in counts]


def _row(suite: str, group: str, one: Count) -> dict[str, str]:
    before, after = one.shares()
    return {
        "suite": suite,
        "group": group if group == "all" else f"{group} {one.name}",
        "items": str(one.n),
        "champion": percent(before),
        "candidate": percent(after),
        "points": points(after - before),
    }
