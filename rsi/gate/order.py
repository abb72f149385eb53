"""Asking the target's items in an order fixed beforehand, and no more of them than the answer needs.

The order follows from the question's seed, so that nobody chooses it. Guards are asked only of a candidate whose gain
is shown. What decides is `rsi.statistics.sequential`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random

from rsi.errors import ContractError
from rsi.gate.clauses import NOTHING, Finding
from rsi.gate.contract import Contract
from rsi.gate.ready import units
from rsi.gate.scorecard import Assume, Scorecard, pair
from rsi.gate.suites import Suite
from rsi.gate.terms import Order
from rsi.records import Item, ItemResult, Judgement
from rsi.report.evidence import Arms, Took
from rsi.report.words import percent, plural, points
from rsi.statistics.sequential import Look, Plan, Stop, look

SAID = {
    Stop.GAIN: (Judgement.PASS, "a gain is shown"),
    Stop.FUTILE: (Judgement.FAIL, "stopped: the gain that must not be missed is not there"),
    Stop.NO_GAIN: (Judgement.CANNOT_TELL, "all items were asked, and this could be chance"),
    Stop.GOING: (Judgement.CANNOT_TELL, "more items would have to be asked"),
}


def check(contract: Contract, suites: Mapping[str, Suite]) -> None:
    """Refuse an order over items that stand or fall together.

    Raises:
        ContractError: the target has clusters.
    """
    target = suites[contract.target.suite]
    if contract.order is not None and units(target) < len(target.items):
        raise ContractError(
            f"contract {contract.name} asks suite {target.name} in order, item by item, but its items stand in "
            f"{units(target)} clusters; take [order] out, or give each item a cluster of its own"
        )


def ask(
    contract: Contract,
    suites: Mapping[str, Suite],
    seed: int,
    alpha: float,
    put: Callable[[Mapping[str, Suite]], Scorecard],
) -> Scorecard:
    """Results of as many items of the target as are needed, and of the guards where the gain is shown.

    A contract without an order has all items asked as they stand.

    Args:
        seed: of the question.
        alpha: what the question may spend.
        put: asks both versions about some items of each suite.
    """
    target, order = suites[contract.target.suite], contract.order
    if order is None or not target.items:
        return put(suites)
    items = shuffled(target, seed)
    none = {name: replace(suite, items=()) for name, suite in suites.items()}
    plan = planned(order, len(items), alpha)
    cards: list[Scorecard] = []
    for start in range(0, len(items), order.look_every):
        part = replace(target, items=tuple(items[start : start + order.look_every]))
        cards.append(put({**none, target.name: part}))
        seen = look(steps([one for card in cards for one in card.of(target.name)]), plan)
        enough = seen.asked >= contract.target.min_items or seen.stop is Stop.FUTILE
        if seen.stop is not Stop.GOING and enough:
            break
    if seen.stop is Stop.GAIN:
        cards.append(put({**suites, target.name: none[target.name]}))
    return _together(cards)


def shuffled(suite: Suite, seed: int) -> list[Item]:
    """The items in the order of a question."""
    return Random(seed).sample(suite.items, len(suite.items))


def planned(order: Order, items: int, alpha: float) -> Plan:
    """The rule, as it was fixed before the first item."""
    return Plan(items, alpha, order.effect, order.beta)


def steps(results: Sequence[ItemResult], assume: Assume = Assume.AGAINST) -> list[int]:
    """1 for each item that the candidate alone got right, -1 for the champion alone, 0 for the rest."""
    return [int(after) - int(before) for before, after in (pair(one, assume) for one in results)]


def finding(results: Sequence[ItemResult], plan: Plan, assume: Assume) -> Finding:
    """What the target's results, in the order asked, say of a gain."""
    if not results:
        return NOTHING
    seen = look(steps(results, assume), plan)
    judgement, why = SAID[seen.stop]
    if seen.stop is Stop.NO_GAIN and seen.wins <= seen.losses:
        judgement, why = Judgement.FAIL, "no gain was seen"
    text = (
        f"{plural(seen.asked, 'item')} of {plan.items} asked in order: {seen.wins} won, {seen.losses} lost, "
        f"{points((seen.wins - seen.losses) / seen.asked)} points; {why} (alpha {plan.alpha:.2g}, a gain of "
        f"{percent(plan.effect)} is missed this way at most {percent(plan.beta)} of the time)"
    )
    return Finding(judgement, text, _numbers(seen, plan))


def _numbers(seen: Look, plan: Plan) -> dict[str, float]:
    return {
        "n": seen.asked,
        "planned": plan.items,
        "b": seen.wins,
        "c": seen.losses,
        "difference": (seen.wins - seen.losses) / seen.asked,
        "capital": seen.capital,
        "doubt": seen.doubt,
        "alpha": plan.alpha,
        "effect": plan.effect,
        "beta": plan.beta,
    }


def _together(cards: Sequence[Scorecard]) -> Scorecard:
    """One scorecard of several, each of other items."""
    counts = [[card.asked[at].items for card in cards] for at in range(len(cards[0].asked))]
    asked = [one.model_copy(update={"items": sum(n)}) for one, n in zip(cards[0].asked, counts, strict=True)]
    return cards[0].model_copy(
        update={
            "asked": tuple(asked),
            "results": tuple(one for card in cards for one in card.results),
            "anchor_results": tuple(one for card in cards for one in card.anchor_results),
            "took": {name: _took([card.took[name] for card in cards]) for name in cards[0].took},
        }
    )


def _took(parts: Sequence[Arms]) -> Arms:
    return Took.together([one for one, _ in parts]), Took.together([one for _, one in parts])
