"""What an answer takes before and after, in words: its length, its time, and where they are known tokens and money."""

from collections.abc import Mapping
from pathlib import Path
from statistics import fmean

import orjson

from rsi.gate.scorecard import Asked, Scorecard
from rsi.ids import canonical
from rsi.prices import Prices
from rsi.report.evidence import Arms, Took
from rsi.report.telling import change, suite_name
from rsi.report.words import usd
from rsi.settings import Home

FILE = "took.json"
"""In the folder of a verdict."""
ARMS = ("champion", "candidate")
A_LOT = 1000
"""Answers whose cost is told; that of one is too small to read."""


def spent(scorecard: Scorecard, prices: Prices) -> str:
    """Suite by suite, routes last; a route is one choice among labels, whatever version makes it."""
    asked = sorted(scorecard.asked, key=lambda one: one.hop == "route")
    return "; ".join(_suite(scorecard, one, prices) for one in asked if scorecard.of(one.suite))


def keep(folder: Path, took: Mapping[str, Arms]) -> None:
    """Write what answers took beside a verdict."""
    told = {
        suite: {arm: one.model_dump() for arm, one in zip(ARMS, arms, strict=True)} for suite, arms in took.items()
    }
    (folder / FILE).write_bytes(canonical(told))


def took(home: Home, verdict: str) -> dict[str, Arms]:
    """What the answers behind a verdict took, suite by suite; empty where nobody kept it."""
    path = home.verdicts / verdict / FILE
    if not path.exists():
        return {}
    champion, candidate = ARMS
    found = orjson.loads(path.read_bytes())
    return {
        suite: (Took.model_validate(arms[champion]), Took.model_validate(arms[candidate]))
        for suite, arms in found.items()
    }


def _suite(scorecard: Scorecard, asked: Asked, prices: Prices) -> str:
    arms = scorecard.took.get(asked.suite)
    told = ["one choice, as before" if asked.hop == "route" else _length(scorecard, asked.suite)]
    if arms and all(one.answers for one in arms):
        told += [said for said in (_tokens(*arms), _time(*arms), _money(*arms, prices)) if said]
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


def _money(before: Took, after: Took, prices: Prices) -> str:
    old, new = before.usd(prices), after.usd(prices)
    if old is None or new is None:
        return ""
    old, new = old / before.answers * A_LOT, new / after.answers * A_LOT
    return f"{usd(old)} → {usd(new)} for {A_LOT:,} answers{_more(old, new)}"


def _more(before: float, after: float) -> str:
    return f" ({change(before, after)})" if before else ""
