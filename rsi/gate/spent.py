"""What an answer takes before and after, in words: its length, its tokens where the engine tells them, and its time."""

from statistics import fmean

from rsi.gate.scorecard import Asked, Scorecard
from rsi.report.evidence import Took
from rsi.report.telling import change, suite_name


def spent(scorecard: Scorecard) -> str:
    """Suite by suite, routes last; a route is one choice among labels, whatever version makes it."""
    asked = sorted(scorecard.asked, key=lambda one: one.hop == "route")
    return "; ".join(_suite(scorecard, one) for one in asked if scorecard.of(one.suite))


def _suite(scorecard: Scorecard, asked: Asked) -> str:
    arms = scorecard.took.get(asked.suite)
    told = ["one choice, as before" if asked.hop == "route" else _length(scorecard, asked.suite)]
    if arms and all(one.answers for one in arms):
        told += [said for said in (_tokens(*arms), _time(*arms)) if said]
    return f"{suite_name(asked.suite)}: {', '.join(told)}"


def _length(scorecard: Scorecard, suite: str) -> str:
    results = scorecard.of(suite)
    before, after = (
        fmean(len(text) for text in texts)
        for texts in ([one.champion_answer for one in results], [one.candidate_answer for one in results])
    )
    return f"{before:.0f} → {after:.0f} characters an answer{_more(before, after)}"


def _tokens(before: Took, after: Took) -> str:
    if before.written is None or after.written is None:
        return ""
    old, new = before.written / before.answers, after.written / after.answers
    return f"{old:.1f} → {new:.1f} tokens{_more(old, new)}"


def _time(before: Took, after: Took) -> str:
    old, new = before.seconds / before.answers, after.seconds / after.answers
    return f"{old:.2g} → {new:.2g} s{_more(old, new)}"


def _more(before: float, after: float) -> str:
    return f" ({change(before, after)})" if before else ""
