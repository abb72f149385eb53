"""What an answer takes before and after, as far as a scorecard tells: its length, which cost and time go with."""

from statistics import fmean

from rsi.gate.scorecard import Scorecard
from rsi.report.telling import suite_name


def spent(scorecard: Scorecard) -> str:
    """In words; a route is one choice among labels, whatever version makes it."""
    said = [_suite(scorecard, one.suite) for one in scorecard.asked if one.hop != "route" and scorecard.of(one.suite)]
    routes = [suite_name(one.suite) for one in scorecard.asked if one.hop == "route"]
    return "; ".join([*said, *([f"{', '.join(routes)}: one choice, as before"] if routes else [])])


def _suite(scorecard: Scorecard, suite: str) -> str:
    results = scorecard.of(suite)
    before, after = (
        fmean(len(text) for text in texts)
        for texts in ([one.champion_answer for one in results], [one.candidate_answer for one in results])
    )
    change = f" ({100 * (after - before) / before:+.0f}%)".replace("-", "−") if before else ""
    return f"{suite_name(suite)}: {before:.0f} → {after:.0f} characters an answer{change}"
