"""Whether answers in words drift in what no verifier looks at: their length, refusals, repetition, language.

A candidate may win by writing more, or lose its manners where its answers are right all the same. Looked at are the
answers that the contract's suites ask for anyway: the candidate's beside the champion's on the same items, and on
guards beside the anchor's, so that small drifts do not add up over nights.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from rsi.errors import ContractError
from rsi.gate.clauses import NOTHING, Finding, loss_test
from rsi.gate.contract import Contract
from rsi.gate.scorecard import MISSING, Scorecard, tallied
from rsi.gate.suites import Suite
from rsi.gate.terms import Hygiene
from rsi.records import Clause, ItemResult, Judgement
from rsi.report.words import percent, plural, points
from rsi.statistics.bootstrap import bootstrap_ratio
from rsi.tasks.language import UNKNOWN, language
from rsi.tasks.manner import looped, refuses

ANSWER = "answer"
"""The hop whose answers are words."""
WORST_FIRST = (Judgement.FAIL, Judgement.CANNOT_TELL, Judgement.PASS)


class Said(NamedTuple):
    """Two answers to one item."""

    cluster: str
    before: str
    after: str


Pairs = Sequence[Said]


def check(contract: Contract, suites: Mapping[str, Suite]) -> None:
    """Refuse a bar for manners that no suite shows.

    Raises:
        ContractError: as said.
    """
    if contract.hygiene is not None and all(suites[one].about.hop != ANSWER for one in contract.pins):
        raise ContractError(
            f"contract {contract.name} has a bar for how answers are given ([hygiene]), but none of its suites is "
            "answered in words; take the table out, or add such a suite as a guard"
        )


def hygiene(bar: Hygiene, scorecard: Scorecard) -> list[Clause]:
    """A clause for each manner, against the champion and, where there is another one, the anchor."""
    suites = [one.suite for one in scorecard.asked if one.hop == ANSWER]
    sides = {"champion": _pairs(one for suite in suites for one in scorecard.of(suite))}
    if scorecard.anchor != scorecard.champion:
        anchored = _pairs(one for suite in suites for one in scorecard.anchor_of(suite))
        # None where no guard is answered in words: the target is not asked of the anchor.
        sides |= {"anchor": anchored} if anchored else {}
    return [_clause(name, {who: look(pairs, bar) for who, pairs in sides.items()}) for name, look in LOOKS.items()]


def _pairs(results: Iterator[ItemResult]) -> Pairs:
    """Answers that both versions gave; of the others the clause on completeness speaks."""
    return [
        Said(one.cluster, one.champion_answer, one.candidate_answer)
        for one in results
        if one.champion.kind not in MISSING and one.candidate.kind not in MISSING
    ]


def _clause(name: str, found: Mapping[str, Finding]) -> Clause:
    judgement = next(end for end in WORST_FIRST if end in {one.judgement for one in found.values()})
    numbers = {
        key if who == "champion" else f"{key}_{who}": float(f"{value:.6g}")
        for who, one in found.items()
        for key, value in one.numbers.items()
    }
    text = "; ".join(f"against the {who} {one.text}" for who, one in found.items())
    return Clause(name=f"hygiene_{name}", judgement=judgement, text=text, numbers=numbers)


def _length(pairs: Pairs, bar: Hygiene) -> Finding:
    """Whether answers are on average no more than so many times as long, or so many times shorter."""
    if not pairs:
        return NOTHING
    clusters: dict[str, tuple[int, int]] = {}
    for one in pairs:
        before, after = clusters.get(one.cluster, (0, 0))
        clusters[one.cluster] = (before + _long(one.before), after + _long(one.after))
    old, new = ([pair[at] for pair in clusters.values()] for at in (0, 1))
    means = {"n": len(pairs), "before": sum(old) / len(pairs), "after": sum(new) / len(pairs), "bar": bar.longer}
    shown = f"{means['before']:.3g} → {means['after']:.3g} characters on average"
    if len(clusters) < 2:
        return Finding(Judgement.CANNOT_TELL, f"{shown}: all items are in one cluster", means)
    seen = sum(new) / sum(old)
    low, high = bootstrap_ratio(new, old, 1 - 2 * bar.alpha)
    if not 1 / bar.longer <= seen <= bar.longer:
        judgement = _unless_few(Judgement.FAIL, len(pairs), bar)
    elif 1 / bar.longer <= low and high <= bar.longer:
        judgement = _unless_few(Judgement.PASS, len(pairs), bar)
    else:
        judgement = Judgement.CANNOT_TELL
    text = (
        f"{shown}, {seen:.2f} times as long ({low:.2f} to {high:.2f}), between {1 / bar.longer:.2f} and "
        f"{bar.longer:.2f} needed"
    )
    return Finding(judgement, text, means | {"ratio": seen, "lower": low, "upper": high})


def _long(answer: str) -> int:
    """Characters; nothing said is one, so that there is a factor to it."""
    return max(len(answer.strip()), 1)


def _more(what: str, has: Callable[[Said], tuple[bool, bool]]) -> Callable[[Pairs, Hygiene], Finding]:
    """Whether no more answers have a manner that they should not have; `has` tells of before and after."""

    def look(pairs: Pairs, bar: Hygiene) -> Finding:
        if not pairs:
            return NOTHING
        told = [(one.cluster, *has(one)) for one in pairs]
        seen = tallied([(cluster, not before, not after) for cluster, before, after in told])
        test = loss_test(seen, bar.margin, bar.alpha)
        before, after = (1 - share for share in seen.total.shares())
        numbers = {"n": len(told), "before": before, "after": after, "margin": bar.margin, "alpha": bar.alpha}
        shown = f"{percent(before)} → {percent(after)} of {plural(len(told), 'answer')} {what}"
        if test is None:
            return Finding(Judgement.CANNOT_TELL, f"{shown}: all items are in one cluster", numbers)
        numbers |= {"upper": -test.lower, "p": test.p}
        if test.shown:
            judgement = _unless_few(Judgement.PASS, len(told), bar)
        elif after - before >= bar.margin:
            judgement = _unless_few(Judgement.FAIL, len(told), bar)
        else:
            judgement = Judgement.CANNOT_TELL
        text = f"{shown}, at most {points(-test.lower)} points, below {points(bar.margin)} needed"
        return Finding(judgement, text, numbers)

    return look


def _unless_few(judgement: Judgement, n: int, bar: Hygiene) -> Judgement:
    return judgement if n >= bar.min_items else Judgement.CANNOT_TELL


def _other_language(one: Said) -> tuple[bool, bool]:
    """Before is the measure; an answer whose language nobody can tell is in no other."""
    told = {language(one.before), language(one.after)} - {UNKNOWN}
    return False, len(told) > 1


LOOKS: Mapping[str, Callable[[Pairs, Hygiene], Finding]] = {
    "length": _length,
    "refusals": _more("refuse", lambda one: (refuses(one.before), refuses(one.after))),
    "repetition": _more("repeat themselves", lambda one: (looped(one.before.split()), looped(one.after.split()))),
    "language": _more("come in another language", _other_language),
}
"""The last part of each clause's name -> what it looks at."""
