"""What a suite can show at all, said before the first item is asked.

A suite with fewer items than the contract asks for, or too few to find the gain that must not be missed, cannot tell,
whoever is tested; asking it would cost time and budget for nothing.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from rsi.gate.contract import Contract, Guard
from rsi.gate.suites import OWN, Suite
from rsi.gate.terms import Correction, Hygiene, Power
from rsi.records import Clause, Judgement
from rsi.report.words import percent, plural
from rsi.statistics.power import items_needed, mde, noninferior_power, power
from rsi.statistics.rare import items_for


def ready(contract: Contract, suites: Mapping[str, Suite], alpha: float) -> tuple[Clause, ...]:
    """A clause for each suite that is too small, and for the power of each where the contract states it.

    Args:
        suites: suite name -> suite, as the contract pins them.
        alpha: what the question may spend.
    """
    short = [clause for clause in _short(contract, suites) if clause is not None]
    if contract.power is None or short:
        return tuple(short)
    found = [_target(contract.power, units(suites[contract.target.suite]), alpha)]
    tests = len(contract.guards) * (2 if contract.anchor else 1)
    shared = tests if contract.correction is Correction.HOLM else 1
    return (
        *found,
        *(_guard(contract.power, one, units(suites[one.suite]), shared) for one in contract.guards),
    )


def nothing(suites: Mapping[str, Suite]) -> dict[str, Suite]:
    """The same suites without their items: what is asked where asking would show nothing."""
    return {name: replace(suite, items=()) for name, suite in suites.items()}


def units(suite: Suite) -> int:
    """Clusters: what counts as one when items stand or fall together."""
    return len({item.cluster for item in suite.items})


def _short(contract: Contract, suites: Mapping[str, Suite]) -> list[Clause | None]:
    target = contract.target
    suite = suites[target.suite]
    labels = Counter(item.expected for item in suite.items) if suite.about.hop == "route" else Counter[str]()
    fewest = min(labels.items(), key=lambda one: (one[1], one[0]), default=None)
    hard = sum(item.hard and item.source == OWN for item in suite.items)
    return [
        _enough("target_size", suite.name, len(suite.items), target.min_items, "item"),
        _enough(
            "target_labels", f"{suite.name}, label {fewest[0]}", fewest[1], target.min_label_items, "item"
        )
        if fewest
        else None,
        _enough("target_hard", suite.name, hard, target.min_hard_items, "hard item"),
        *(
            _enough(
                f"guard_{one.suite.split('/')[0]}_size",
                one.suite,
                len(suites[one.suite].items),
                one.min_items,
                "item",
            )
            for one in contract.guards
        ),
        *(
            _enough(
                f"zero_tolerance_{one.suite.split('/')[0]}_size",
                one.suite,
                units(suites[one.suite]),
                items_for(one.rate),
                "independent item",
            )
            for one in contract.zero_tolerance
        ),
        *(_spoken(contract.hygiene, suites) if contract.hygiene else []),
    ]


def _spoken(bar: Hygiene, suites: Mapping[str, Suite]) -> list[Clause | None]:
    return [
        _enough(f"hygiene_{name.split('/')[0]}_size", name, units(one), bar.min_items, "independent item")
        for name, one in suites.items()
        if one.about.hop == "answer"
    ]


def _enough(name: str, where: str, found: int, least: int, what: str) -> Clause | None:
    if found >= least:
        return None
    return Clause(
        name=name,
        judgement=Judgement.CANNOT_TELL,
        text=f"{where} has {plural(found, what)}, at least {least} needed; nothing was asked",
        numbers={"n": found, "bar": least},
    )


def _target(wanted: Power, n: int, alpha: float) -> Clause:
    """Whether the gain that must not be missed would be found."""
    found = power(n, wanted.discordance, wanted.effect, alpha)
    least, needed = (
        mde(n, wanted.discordance, alpha, wanted.power),
        items_needed(wanted.discordance, wanted.effect, alpha, wanted.power),
    )
    numbers = {"n": n, "power": found, "bar": wanted.power, "effect": wanted.effect, "alpha": alpha}
    numbers |= {"mde": least} if least is not None else {}
    numbers |= {"needed": needed} if needed is not None else {}
    smallest = f"gains from {percent(least)} on are found" if least is not None else "no gain is found"
    text = (
        f"{plural(n, 'item')} that stand alone, {percent(wanted.discordance)} of them expected to differ, alpha "
        f"{alpha:.2g}: {smallest} {percent(wanted.power)} of the time, {percent(wanted.effect)} wanted"
    )
    enough = found >= wanted.power
    if not enough:
        text += f"; about {needed:,} items needed" if needed else "; no suite is large enough"
        text += "; nothing was asked"
    judgement = Judgement.PASS if enough else Judgement.CANNOT_TELL
    return Clause(name="target_power", judgement=judgement, text=text, numbers=numbers)


def _guard(wanted: Power, guard: Guard, n: int, shared: int) -> Clause:
    """Whether a candidate as good as the champion would be cleared, at the strictest level that Holm may want."""
    found = noninferior_power(n, wanted.guard_discordance, guard.margin, guard.alpha / shared)
    enough = found >= wanted.power
    text = (
        f"{plural(n, 'item')} that stand alone: an equal candidate is cleared of a loss of "
        f"{percent(guard.margin)} in {percent(found)} of nights, {percent(wanted.power)} wanted"
    )
    return Clause(
        name=f"guard_{guard.suite.split('/')[0]}_power",
        judgement=Judgement.PASS if enough else Judgement.CANNOT_TELL,
        text=text + ("" if enough else "; nothing was asked"),
        numbers={
            "n": n,
            "power": found,
            "bar": wanted.power,
            "margin": guard.margin,
            "alpha": guard.alpha / shared,
        },
    )
