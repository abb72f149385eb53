"""Which failure mode comes first.

priority = frequency x severity x recency x learnability x standing, where

- frequency = traces that show it, per thousand traces looked at; of a kind that says that something went wrong and
  not what (`rsi.discover.signs.WEAK`) those only that no other kind explains;
- severity = share of them that failed (an unknown outcome counts one half): errors that runs recover from weigh
  less than those that end them;
- recency = mean weight of them: 1 in the newest night, half as much for every seven nights before it, and half of
  that under a version other than the one in service or an unknown one;
- learnability = (mixed + 1) / (repeated + 2): of the groups of traces that were asked the same of one version
  (task, else request) and show the mode, the share in which some passed and some failed, since a training step
  learns from nothing else. Where no request came twice it is the prior, one half (Laplace's rule of succession);
- standing = 1; a tenth where it is fixed; 0 where a person will not have it fixed.
"""

from collections.abc import Sequence

from rsi.discover.facts import UNKNOWN
from rsi.mode_parts import Cell, Factors, Reach
from rsi.records import ModeStatus

FORMULA = "frequency x severity x recency x learnability x standing"
_HALF_LIFE = 7
"""Nights."""
_ELSEWHERE = 0.5
_FIXED = 0.1
_DIGITS = 6


def factors(
    *,
    traces: int,
    count: int,
    weighed: int,
    severity_halves: int,
    history: Sequence[Cell],
    nights: Sequence[Reach],
    champion: str,
    repeated: int,
    mixed: int,
    status: ModeStatus,
    wont_fix: bool,
) -> Factors:
    """The factors of one mode that `count` of `traces` traces show, `weighed` of them by frequency; to six digits."""
    return Factors(
        frequency=round(1000 * weighed / traces, _DIGITS),
        severity=round(severity_halves / (2 * count), _DIGITS),
        recency=round(_recency(history, nights, champion), _DIGITS),
        learnability=round((mixed + 1) / (repeated + 2), _DIGITS),
        repeated=repeated,
        mixed=mixed,
        standing=0.0 if wont_fix else _FIXED if status is ModeStatus.FIXED else 1.0,
    )


def priority(of: Factors) -> float:
    """Their product, rounded to six digits."""
    return round(of.frequency * of.severity * of.recency * of.learnability * of.standing, _DIGITS)


def _recency(history: Sequence[Cell], nights: Sequence[Reach], champion: str) -> float:
    ages = {one.night: age for age, one in enumerate(reversed(nights))}
    total = sum(one.hits for one in history)
    weights = (
        one.hits
        * 2.0 ** (-ages[one.night] / _HALF_LIFE)
        * (1.0 if one.version in (champion, UNKNOWN) else _ELSEWHERE)
        for one in history
    )
    return sum(weights) / total if total else 0.0
