"""The gate on made-up answers of versions whose true difference is known: errors, power, and items saved.

The answers are drawn; the decisions are those of `rsi.gate.verdict`, `rsi.gate.clauses`, `rsi.gate.terms` and
`rsi.statistics`. Two kinds of nights are told apart: versions that are equally good, where a pass is an error, and
a candidate that is better by so many points, where a refusal is one.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.stats import binom

from rsi.gate.clauses import Tail, gain, improved
from rsi.gate.contract import Contract
from rsi.gate.scorecard import Asked, Assume, Scorecard
from rsi.gate.suites import OWN
from rsi.gate.terms import Budget, Items
from rsi.gate.verdict import judge
from rsi.records import ItemResult, Judgement, Outcome, OutcomeKind
from rsi.statistics.intervals import Interval, wilson
from rsi.statistics.paired import mcnemar
from rsi.statistics.power import items_needed, mde, power
from rsi.statistics.sequential import Plan, Stop, ended

ITEMS, GUARD, CLUSTER = 240, 150, 5
"""Items of the target, of the guard, and of a cluster where there are clusters."""
DISCORDANCE = 0.2
EVERY = 32
"""Items between two looks."""
Draw = np.ndarray
"""Right or wrong by item."""


class Rate(NamedTuple):
    """How often something happened."""

    name: str
    hits: int
    of: int
    alpha: float | None
    """What it may be at most, where it is an error."""

    @property
    def interval(self) -> Interval:
        """95% interval of the rate."""
        return wilson(self.hits, self.of)

    @property
    def within(self) -> bool:
        """Whether so many hits would come up once in a thousand simulations at the rate that may be."""
        return self.alpha is None or float(binom.sf(self.hits - 1, self.of, self.alpha)) >= 0.001


@dataclass(frozen=True)
class Saving:
    """Asking in order against asking all, at one true gain."""

    points: float
    passed: float
    """Share of nights in which asking in order passes."""
    fixed: float
    """The same, asking all items first."""
    asked: float
    """Share of the items that were asked, on average."""


# --- the champion against itself ------------------------------------------------------------------------------


def independent(random: np.random.Generator) -> tuple[Draw, Draw]:
    """Every item is answered anew by each version, right as often as the item is easy."""
    easy = random.beta(2, 2, ITEMS)
    return random.random(ITEMS) < easy, random.random(ITEMS) < easy


def clustered(random: np.random.Generator) -> tuple[Draw, Draw]:
    """Items of one template: in seven clusters of ten a version gets all of it or nothing."""

    def version() -> Draw:
        whole = np.repeat(random.random(ITEMS // CLUSTER) < 0.7, CLUSTER)
        shared = np.repeat(random.random(ITEMS // CLUSTER) < 0.6, CLUSTER)
        return np.where(whole, shared, random.random(ITEMS) < 0.6)

    return version(), version()


def sampled(random: np.random.Generator) -> tuple[Draw, Draw]:
    """One model that samples: most items always end the same way, a third of them now so and now so."""
    open_ended = random.random(ITEMS) < 0.35
    settled = random.random(ITEMS) < 0.6
    return tuple(np.where(open_ended, random.random(ITEMS) < 0.6, settled) for _ in range(2))  # type: ignore[return-value]


WORLDS: dict[str, Callable[[np.random.Generator], tuple[Draw, Draw]]] = {
    "independent draws per item": independent,
    "clustered items": clustered,
    "sampled decoding": sampled,
}


def against_itself(gates: int, seed: int, alpha: float = 0.05) -> Iterator[Rate]:
    """For each world how often the gain is found, and how often the verdict passes, when nothing changed."""
    for world, draw in WORLDS.items():
        random = np.random.default_rng([seed, list(WORLDS).index(world)])
        contract = _contract(alpha)
        found = passed = 0
        for _ in range(gates):
            size = CLUSTER if draw is clustered else 1
            results = _results("target/v1", draw(random), size)
            # A verdict passes only with its gain: the rest is judged where there is one.
            if gain(results, contract.target, Assume.AGAINST).judgement is Judgement.PASS:
                found += 1
                before, after = draw(random)
                card = _card(contract, results, _results("guard/v1", (before[:GUARD], after[:GUARD]), size))
                passed += judge(contract, card, "simulated", None).judgement is Judgement.PASS
        yield Rate(f"{world}: gain shown", found, gates, alpha)
        yield Rate(f"{world}: promoted", passed, gates, alpha)


def _contract(alpha: float) -> Contract:
    """A contract that asks for a gain and no loss of eight points, and sets no other bar."""
    bars = {"min_accuracy": 0.0, "min_label_accuracy": 0.0, "min_hard_accuracy": 0.0, "min_hard_items": 1}
    return Contract.model_validate(
        {
            "schema_version": 1,
            "name": "simulated/v1",
            "target": {"suite": "target/v1", "digest": "1" * 64, "min_items": ITEMS, "alpha": alpha, **bars},
            "guards": [{"suite": "guard/v1", "digest": "2" * 64, "min_items": GUARD, "max_tokens": 1}],
        }
    )


_ENDS = tuple(Outcome(kind=OutcomeKind.SCORED, score=score) for score in (0.0, 1.0))


def _results(suite: str, draws: tuple[Draw, Draw], cluster: int) -> list[ItemResult]:
    return [
        ItemResult(
            item_id=str(at),
            suite=suite,
            cluster=str(at // cluster),
            expected="",
            source=OWN,
            hard=True,
            champion=_ENDS[int(before)],
            candidate=_ENDS[int(after)],
            champion_answer="",
            candidate_answer="",
        )
        for at, (before, after) in enumerate(zip(*draws, strict=True))
    ]


def _card(contract: Contract, *results: list[ItemResult]) -> Scorecard:
    asked = tuple(
        Asked(suite=name, pin=pin, hop="answer", items=len(part))
        for (name, pin), part in zip(contract.pins.items(), results, strict=True)
    )
    return Scorecard(
        contract_digest=contract.digest,
        champion="c",
        candidate="d",
        asked=asked,
        results=tuple(one for part in results for one in part),
    )


# --- many nights without a gain -------------------------------------------------------------------------------

NIGHTS = 200


def nights(runs: int, seed: int, alpha: float = 0.05) -> tuple[Rate, ...]:
    """How many runs of 200 nights promote anything at all, though no candidate is better."""
    fresh = Budget(items=Items.FRESH, alpha=alpha, questions=NIGHTS)
    few = Budget(items=Items.REUSED, alpha=alpha, questions=NIGHTS, accepts=3)
    return (
        Rate(f"fresh items, every score seen, {NIGHTS} nights", _run(runs, seed, fresh, True, alpha), runs, alpha),
        Rate(
            f"same items, only pass or not seen, {NIGHTS} nights",
            _run(runs, seed + 1, few, False, alpha),
            runs,
            alpha,
        ),
        Rate(
            f"no account: same items, alpha {alpha:g} a night, scores seen",
            _run(runs, seed + 2, None, True, alpha),
            runs,
            None,
        ),
    )


def _run(runs: int, seed: int, budget: Budget | None, scores: bool, alpha: float) -> int:
    """Runs with a false promotion, all runs side by side.

    Whoever makes candidates keeps the best one seen so far (by its score, or by what passed) and changes a part of
    its answers: a tenth, or all of them. On items never seen that is as good as before, always.
    """
    random = np.random.default_rng(seed)
    easy = random.beta(2, 2, (runs, ITEMS))
    champion = random.random((runs, ITEMS)) < easy
    best, record = champion.copy(), np.zeros(runs)
    passes = np.zeros(runs, int)
    for night in range(1, NIGHTS + 1):
        fresh = budget is not None and budget.items is Items.FRESH
        if fresh:
            easy = random.beta(2, 2, (runs, ITEMS))
            champion, best = (random.random((runs, ITEMS)) < easy for _ in range(2))
        changed = random.random((runs, ITEMS)) < np.where(random.random((runs, 1)) < 0.5, 0.1, 1.0)
        candidate = np.where(changed, random.random((runs, ITEMS)) < easy, best)
        wins, losses = (candidate & ~champion).sum(axis=1), (champion & ~candidate).sum(axis=1)
        level = budget.level(night) if budget else alpha
        tail = Tail.EXACT if budget else Tail.MID
        shown = np.array([_shown(int(b), int(c), level, tail) for b, c in zip(wins, losses, strict=True)])
        if budget and budget.accepts is not None:
            shown &= passes < budget.accepts
        passes += shown
        better = shown | ((wins - losses > record) if scores else False)
        record = np.where(shown, 0, np.where(better, wins - losses, record))
        best = np.where(better[:, None], candidate, best)
        champion = np.where(shown[:, None], candidate, champion)
    return int((passes > 0).sum())


@lru_cache(maxsize=100_000)
def _shown(wins: int, losses: int, alpha: float, tail: Tail = Tail.MID) -> bool:
    return wins > losses and improved(wins, losses, tail.p(mcnemar(wins, losses)), alpha)


# --- power and saving -----------------------------------------------------------------------------------------


class Power(NamedTuple):
    """What a suite of so many items finds."""

    items: int
    alpha: float
    at: tuple[float, ...]
    """Power at a true gain of 2, 4 and 8 points."""
    mde: float | None
    """Least gain that is found four times of five."""


POINTS = (0.02, 0.04, 0.08)


def powers(alpha: float = 0.05) -> tuple[Power, ...]:
    """By exact summation, for one night's alpha and for a thirtieth of it, where a fifth of the items differs."""
    return tuple(
        Power(
            items,
            level,
            tuple(power(items, DISCORDANCE, points, level) for points in POINTS),
            mde(items, DISCORDANCE, level),
        )
        for level in (alpha, alpha / 30)
        for items in (250, 500, 1000, 2000)
    )


def found(gates: int, seed: int, items: int = 1000) -> tuple[tuple[float, float, float], ...]:
    """(points, share of simulated nights in which the clause finds the gain, power as summed)."""
    random = np.random.default_rng(seed)
    told = []
    for points in POINTS:
        hits = 0
        for steps in _steps(random, points, gates, items):
            hits += _shown(int((steps == 1).sum()), int((steps == -1).sum()), 0.05)
        told.append((points, hits / gates, power(items, DISCORDANCE, points, 0.05)))
    return tuple(told)


def savings(gates: int, seed: int, plan: Plan) -> tuple[Saving, ...]:
    """Asking in order, looked at every `EVERY` items, beside asking all at the same alpha."""
    random = np.random.default_rng(seed)
    told = []
    for points in (0.0, *POINTS):
        passed = fixed = asked = 0
        for steps in _steps(random, points, gates, plan.items):
            last = ended(steps.tolist(), plan, EVERY)
            passed += last.stop is Stop.GAIN
            asked += last.asked
            fixed += _shown(int((steps == 1).sum()), int((steps == -1).sum()), plan.alpha)
        told.append(Saving(points, passed / gates, fixed / gates, asked / gates / plan.items))
    return tuple(told)


def _steps(random: np.random.Generator, points: float, gates: int, items: int) -> np.ndarray:
    """Wins, losses and ties of items of which `DISCORDANCE` differ, at a true gain."""
    odds = [(DISCORDANCE + points) / 2, (DISCORDANCE - points) / 2, 1 - DISCORDANCE]
    return np.asarray(random.choice([1, -1, 0], p=odds, size=(gates, items)))


# --- all of it ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Simulated:
    """Everything above, from one seed."""

    gates: int
    seed: int
    every: int
    """Items between two looks."""
    plan: Plan
    rates: tuple[Rate, ...]
    powers: tuple[Power, ...]
    found: tuple[tuple[float, float, float], ...]
    saved: tuple[Saving, ...]

    def plain(self) -> dict[str, object]:
        """As JSON has it."""
        return {
            "seed": self.seed,
            "errors": [
                {
                    **one._asdict(),
                    "rate": one.hits / one.of,
                    "interval": list(one.interval),
                    "within": one.within,
                }
                for one in self.rates
            ],
            "power": [one._asdict() for one in self.powers],
            "power_simulated": [
                {"points": points, "found": share, "summed": exact} for points, share, exact in self.found
            ],
            "in_order": [asdict(one) for one in self.saved],
            "plan": asdict(self.plan),
        }


def simulated(gates: int, runs: int, seed: int) -> Simulated:
    """Champions against themselves, nights without a gain, power, and what looking early saves.

    The plan is that of as many items as show a gain of four points four times of five.
    """
    needed = items_needed(DISCORDANCE, 0.04)
    if needed is None:
        raise AssertionError("no number of items shows a gain of four points")
    plan = Plan(needed, 0.05, 0.04, 0.1)
    return Simulated(
        gates,
        seed,
        EVERY,
        plan,
        rates=(*against_itself(gates, seed), *nights(runs, seed)),
        powers=powers(),
        found=found(gates, seed),
        saved=savings(gates, seed, plan),
    )
