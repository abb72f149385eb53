"""What one clause finds in some results, under one assumption about missing answers."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from rsi.gate.contract import Guard, Target, ZeroTolerance
from rsi.gate.scorecard import Assume, Paired, count, groups, hardness, paired
from rsi.gate.suites import OWN
from rsi.gate.terms import Levels
from rsi.records import ItemResult, Judgement
from rsi.report.evidence import Count
from rsi.report.words import p_value, percent, plural, points
from rsi.statistics.intervals import wilson
from rsi.statistics.noninferiority import NonInferiority, noninferior, noninferior_clustered
from rsi.statistics.paired import PairedTest, mcnemar, sign_flip
from rsi.statistics.power import mde
from rsi.statistics.rare import upper_bound

Results = Sequence[ItemResult]


class Finding(NamedTuple):
    """A judgement with its reason and its numbers."""

    judgement: Judgement
    text: str
    numbers: dict[str, float]


WORST_FIRST = (Judgement.FAIL, Judgement.CANNOT_TELL, Judgement.PASS)
NOTHING = Finding(Judgement.CANNOT_TELL, "no item was asked", {"n": 0})


def rounded(numbers: Mapping[str, float]) -> dict[str, float]:
    """Six significant figures: what a person needs, and the same on every machine."""
    return {name: float(f"{value:.6g}") for name, value in numbers.items()}


def _basics(seen: Paired) -> dict[str, float]:
    """The numbers that every paired clause carries."""
    before, after = seen.total.shares()
    low, high = seen.interval()
    return {
        "n": seen.total.n,
        "clusters": len(seen.sizes),
        "b": seen.wins,
        "c": seen.losses,
        "before": before,
        "after": after,
        "difference": after - before,
        "low": low,
        "high": high,
    }


class Tail(StrEnum):
    """Which p-value decides on a gain."""

    MID = "mid-p"
    """The level is kept about; the sharper one for a single night."""
    EXACT = "exact"
    """The level is never exceeded, as a budget over many nights promises."""

    def p(self, test: PairedTest) -> float:
        """The p-value of a test."""
        return test.exact if self is Tail.EXACT else test.mid_p


def gain(results: Results, target: Target, assume: Assume, tail: Tail = Tail.MID) -> Finding:
    """Whether the candidate is better, by McNemar's test or its cluster form.

    No gain on enough items fails; a gain that could be chance cannot tell.
    """
    if not results:
        return NOTHING
    alpha, seen = target.alpha, paired(results, assume)
    test: PairedTest = sign_flip(seen.sums) if seen.clustered else mcnemar(seen.wins, seen.losses)
    p = tail.p(test)
    numbers = _basics(seen) | {"p": p, "p_exact": test.exact, "alpha": alpha}
    discordance = (seen.wins + seen.losses) / seen.total.n
    smallest = mde(seen.total.n, discordance, alpha) if discordance else None
    if smallest is not None:
        numbers["mde"] = smallest
    if improved(seen.wins, seen.losses, p, alpha):
        judgement, why = Judgement.PASS, ""
    elif seen.wins <= seen.losses:
        judgement, why = _unless_few(Judgement.FAIL, seen, target.min_items), "; no gain was seen"
    else:
        judgement, why = Judgement.CANNOT_TELL, "; this could be chance"
    text = (
        f"{percent(numbers['before'])} → {percent(numbers['after'])}, {points(numbers['difference'])} points "
        f"(95% interval {points(numbers['low'])} to {points(numbers['high'])}); "
        f"{seen.wins} won, {seen.losses} lost; p {p_value(p)}, below {alpha:g} needed{why}"
    )
    return Finding(judgement, text, numbers)


def improved(wins: int, losses: int, p: float, alpha: float) -> bool:
    """Whether a gain is shown."""
    return p < alpha and wins > losses


def _unless_few(judgement: Judgement, seen: Paired, least: int) -> Judgement:
    """The judgement, where the suite has enough items to give one."""
    return judgement if seen.total.n >= least else Judgement.CANNOT_TELL


def accuracy(
    parts: Mapping[str, Results], bar: float, least: int, assume: Assume, detail: Results = ()
) -> Finding:
    """Whether the candidate reaches `bar` in every part that has `least` items; a smaller part cannot tell.

    Numbers carry n, before and after of each part, and of `detail` by source and hardness.
    """
    counts = [count(name, results, assume) for name, results in parts.items()]
    if not sum(one.n for one in counts):
        return NOTHING
    numbers: dict[str, float] = {"bar": bar}
    for one in counts:
        numbers |= _shares("" if one.name == "all" else f"_{one.name.replace(' ', '_')}", one)
    for one in _breakdown(detail, assume):
        numbers |= _shares(f"_{one.name.replace(' ', '_')}", one)
    if len(counts) == 1:
        numbers["low"], numbers["high"] = wilson(counts[0].after, counts[0].n)
    short = [one.name for one in counts if one.n < least]
    below = [one.name for one in counts if one.n >= least and one.after < bar * one.n - 1e-9]
    judgement = Judgement.FAIL if below else Judgement.CANNOT_TELL if short else Judgement.PASS
    names = ["" if one.name == "all" else f"{one.name} " for one in counts]
    shown = ", ".join(
        f"{name}{percent(one.shares()[1])} of {one.n}" for name, one in zip(names, counts, strict=True)
    )
    text = f"{shown}; at least {percent(bar)} needed"
    text += f"; too few items in {', '.join(short)} ({least} needed)" if short else ""
    return Finding(judgement, text, numbers)


def _breakdown(results: Results, assume: Assume) -> list[Count]:
    own = groups(results, lambda result: "own" if result.source == OWN else "public", assume)
    return [*own, *groups(results, hardness, assume)]


def _shares(suffix: str, one: Count) -> dict[str, float]:
    before, after = one.shares()
    return {f"n{suffix}": one.n, f"before{suffix}": before, f"after{suffix}": after}


def range_of(results: Results, guard: Guard, assume: Assume) -> Finding:
    """Whether the champion is neither too bad nor too good on the suite for a loss to show."""
    if not results:
        return NOTHING
    total = count("all", results, assume)
    share = total.before / total.n
    low, high = wilson(total.before, total.n)
    inside = guard.champion_low <= share <= guard.champion_high
    text = (
        f"champion {percent(share)} of {total.n}; between {percent(guard.champion_low)} and "
        f"{percent(guard.champion_high)} a loss would show"
    )
    numbers = {
        "n": total.n,
        "before": share,
        "low": low,
        "high": high,
        "champion_low": guard.champion_low,
        "champion_high": guard.champion_high,
    }
    return Finding(Judgement.PASS if inside else Judgement.CANNOT_TELL, text, numbers)


def every_level(parts: Mapping[str, Results], bar: Levels, assume: Assume) -> Finding:
    """Whether a loss of the margin or more is excluded on each level; one such loss fails, doubt on one cannot tell.

    Numbers carry n, before, after, the lower bound and p of each.
    """
    if not parts:
        return NOTHING
    numbers: dict[str, float] = {"margin": bar.margin, "alpha": bar.alpha}
    said, shown = set[Judgement](), []
    for name, results in parts.items():
        found = noninferiority(results, bar, assume)
        seen = {key: found.numbers[key] for key in ("n", "before", "after", "lower", "p") if key in found.numbers}
        numbers |= {f"{key}_{name.replace(' ', '_')}": value for key, value in seen.items()}
        said.add(_unless_few(found.judgement, paired(results, assume), bar.min_items))
        bound = f", at least {points(seen['lower'])}" if "lower" in seen else ""
        shown.append(f"{name} {percent(seen['before'])} → {percent(seen['after'])} of {len(results)}{bound}")
    judgement = next(one for one in WORST_FIRST if one in said)
    text = f"{'; '.join(shown)}; a loss of {percent(bar.margin)} must be excluded on each, with {bar.min_items} items"
    return Finding(judgement, text, numbers)


def noninferiority(results: Results, guard: Guard | Levels, assume: Assume) -> Finding:
    """Whether a loss of the margin or more is excluded. A loss that large fails; doubt cannot tell."""
    if not results:
        return NOTHING
    seen = paired(results, assume)
    test = loss_test(seen, guard.margin, guard.alpha)
    numbers = _basics(seen) | {"margin": guard.margin, "alpha": guard.alpha}
    if test is None:
        return Finding(Judgement.CANNOT_TELL, "all items are in one cluster", numbers)
    numbers |= {"p": test.p, "lower": test.lower}
    if test.shown:
        judgement, why = Judgement.PASS, "loss below the margin is shown"
    elif test.difference <= -guard.margin:
        judgement = _unless_few(Judgement.FAIL, seen, guard.min_items)
        why = "the loss seen reaches the margin"
    else:
        judgement, why = Judgement.CANNOT_TELL, "too few items to exclude a loss of the margin"
    text = (
        f"{percent(numbers['before'])} → {percent(numbers['after'])}, {points(test.difference)} points, "
        f"lower bound {points(test.lower)}, above {points(-guard.margin)} needed; "
        f"{seen.wins} won, {seen.losses} lost; p {p_value(test.p)}; {why}"
    )
    return Finding(judgement, text, numbers)


def loss_test(seen: Paired, margin: float, alpha: float) -> NonInferiority | None:
    """The test of a loss of the margin, by cluster where there are clusters; None where all is one."""
    if not seen.clustered:
        return noninferior(seen.wins, seen.losses, seen.total.n, margin, alpha)
    if len(seen.sizes) < 2:
        return None
    return noninferior_clustered(seen.sums, seen.sizes, margin, alpha)


def never(results: Results, bar: ZeroTolerance, assume: Assume) -> Finding:
    """Whether the candidate gets nothing wrong, on enough items for failures to be rarer than the rate.

    One failure fails. Items of a cluster count as one, for they fail together.
    """
    if not results:
        return NOTHING
    total, units = count("all", results, assume), len({one.cluster for one in results})
    failed, most = total.n - total.after, upper_bound(0, units)
    numbers = {
        "n": total.n,
        "clusters": units,
        "failed": failed,
        "failed_before": total.n - total.before,
        "upper": most,
        "bar": bar.rate,
    }
    if failed:
        text = f"{failed} of {plural(total.n, 'item')} wrong, none may be; the champion: {total.n - total.before}"
        return Finding(Judgement.FAIL, text, numbers)
    text = f"none of {plural(total.n, 'item')} wrong; failures are rarer than {percent(most)} (95%)"
    if most > bar.rate:
        return Finding(Judgement.CANNOT_TELL, f"{text}, {percent(bar.rate)} needed: too few items", numbers)
    return Finding(Judgement.PASS, f"{text}, {percent(bar.rate)} needed", numbers)
