"""Whether answers in words drift in what no verifier looks at: their length, refusals, repetition, language.

A candidate may win by writing more, or lose its manners where its answers are right all the same. Looked at are the
answers that the contract's suites ask for anyway, suite by suite: the candidate's beside the champion's on the same
items, and on guards beside the anchor's, so that small drifts do not add up over nights. Each has to hold by itself.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from rsi.errors import ContractError
from rsi.gate.clauses import NOTHING, WORST_FIRST, Finding, loss_test, rounded
from rsi.gate.contract import Contract
from rsi.gate.scorecard import MISSING, Scorecard, tallied
from rsi.gate.suites import Suite
from rsi.gate.terms import Hygiene
from rsi.records import Clause, ItemResult, Judgement, Outcome
from rsi.report.words import percent, plural, points
from rsi.statistics.bootstrap import bootstrap_ratio
from rsi.tasks.language import UNKNOWN, language
from rsi.tasks.manner import refuses, repeats

ANSWER = "answer"
"""The hop whose answers are words."""


class Said(NamedTuple):
    """Two answers to one item."""

    cluster: str
    before: str
    after: str


Pairs = Sequence[Said]


class Side(NamedTuple):
    """One suite's answers beside those of one version before."""

    name: str
    """``easy against the champion``."""
    key: str
    """Behind the names of its numbers."""
    pairs: Pairs
    whole: bool
    """Whether no answer is missing."""

    @property
    def units(self) -> int:
        """Items that stand alone."""
        return len({one.cluster for one in self.pairs})


def check(contract: Contract, suites: Mapping[str, Suite]) -> None:
    """Refuse a bar for manners that no suite can show.

    Raises:
        ContractError: as said.
    """
    bar, target = contract.hygiene, contract.target
    if bar is None:
        return
    if all(suites[one].about.hop != ANSWER for one in contract.pins):
        raise ContractError(
            f"contract {contract.name} has a bar for how answers are given ([hygiene]), but none of its suites is "
            "answered in words; take the table out, or add such a suite as a guard"
        )
    if contract.order and suites[target.suite].about.hop == ANSWER and target.min_items < bar.min_items:
        raise ContractError(
            f"contract {contract.name} may stop asking {target.suite} after {target.min_items} items ([order]), and "
            f"[hygiene] wants {bar.min_items}: raise target.min_items, or take one of the tables out"
        )


def hygiene(bar: Hygiene, scorecard: Scorecard) -> list[Clause]:
    """A clause for each manner, over all suites in words, against the champion and, on guards, another anchor."""
    sides = list(_sides(scorecard))
    return [_clause(name, bar, [(side, look(side.pairs, bar)) for side in sides]) for name, look in LOOKS.items()]


def _sides(scorecard: Scorecard) -> Iterator[Side]:
    target, anchor = scorecard.asked[0].suite, scorecard.anchor
    for suite in (one.suite for one in scorecard.asked if one.hop == ANSWER):
        name = suite.split("/")[0]
        yield _side(f"{name} against the champion", f"_{name}", scorecard.of(suite))
        if anchor not in (None, scorecard.champion) and suite != target:
            yield _side(f"{name} against the anchor", f"_{name}_anchor", scorecard.anchor_of(suite))


def _side(name: str, key: str, results: Sequence[ItemResult]) -> Side:
    there = [
        Said(one.cluster, one.champion_answer, one.candidate_answer)
        for one in results
        if _there(one.champion, one.champion_answer) and _there(one.candidate, one.candidate_answer)
    ]
    return Side(name, key, there, len(there) == len(results))


def _there(outcome: Outcome, answer: str) -> bool:
    """Whether there is an answer to look at, though perhaps none that could be judged."""
    return outcome.kind not in MISSING or bool(answer)


def _clause(name: str, bar: Hygiene, found: Sequence[tuple[Side, Finding]]) -> Clause:
    held = [(side, _held(finding, side, bar)) for side, finding in found]
    numbers = {f"{key}{side.key}": value for side, one in held for key, value in one.numbers.items()}
    return Clause(
        name=f"hygiene_{name}",
        judgement=next(end for end in WORST_FIRST if end in {one.judgement for _, one in held}),
        text="; ".join(f"{side.name}: {one.text}" for side, one in held),
        numbers=rounded(numbers),
    )


def _held(found: Finding, side: Side, bar: Hygiene) -> Finding:
    """What stands of a finding on so many items, whatever the missing answers would have been."""
    if not side.pairs:
        return found
    numbers = found.numbers | {"clusters": side.units, "min_items": bar.min_items}
    if side.units < bar.min_items:
        text = f"{found.text}; {plural(side.units, 'independent item')}, at least {bar.min_items} needed"
        return Finding(Judgement.CANNOT_TELL, text, numbers)
    if found.judgement is Judgement.FAIL and not side.whole:
        text = f"{found.text}; with the answers that are missing it might be otherwise"
        return Finding(Judgement.CANNOT_TELL, text, numbers)
    return found._replace(numbers=numbers)


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
        judgement = Judgement.FAIL
    elif 1 / bar.longer <= low and high <= bar.longer:
        judgement = Judgement.PASS
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
            judgement = Judgement.PASS
        elif after - before >= bar.margin:
            judgement = Judgement.FAIL
        else:
            judgement = Judgement.CANNOT_TELL
        text = f"{shown}, at most {points(-test.lower)} points, below {points(bar.margin)} needed"
        return Finding(judgement, text, numbers)

    return look


def _other_language(one: Said) -> tuple[bool, bool]:
    """Before is the measure; an answer whose language nobody can tell is in no other."""
    told = {language(one.before), language(one.after)} - {UNKNOWN}
    return False, len(told) > 1


LOOKS: Mapping[str, Callable[[Pairs, Hygiene], Finding]] = {
    "length": _length,
    "refusals": _more("refuse", lambda one: (refuses(one.before), refuses(one.after))),
    "repetition": _more("repeat themselves", lambda one: (repeats(one.before), repeats(one.after))),
    "language": _more("come in another language", _other_language),
}
"""The last part of each clause's name -> what it looks at."""
