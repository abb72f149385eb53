"""The certificate of a verdict: its counts, its statistic, what it cost, and digests of all that it rests on."""

from collections.abc import Mapping

from rsi.gate.clauses import Tail
from rsi.gate.contest import Contest
from rsi.gate.contract import Contract
from rsi.gate.scorecard import Scorecard, paired
from rsi.gate.suites import Suite
from rsi.ids import digest
from rsi.questions import Allowance, Certificate, Registration
from rsi.records import Verdict
from rsi.statistics.betting import log_capital
from rsi.statistics.paired import mcnemar, sign_flip


def register(
    contract: Contract,
    suites: Mapping[str, Suite],
    contest: Contest,
) -> Registration:
    """What is fixed before the first item is asked."""
    target = suites[contract.target.suite]
    return Registration(
        contract=contract.name,
        contract_digest=contract.digest,
        target=target.digest,
        suites={name: suite.digest for name, suite in suites.items()},
        items=digest(sorted(item.item_id for item in target.items)),
        champion=contest.champion.digest,
        candidate=contest.candidate.digest,
        anchor=contest.anchor.digest if contest.anchor else None,
        fresh={name: suite.drawn for name, suite in suites.items() if suite.drawn is not None},
    )


def certify(
    contract: Contract,
    registration: Registration,
    allowance: Allowance,
    scorecard: Scorecard,
    verdict: Verdict,
) -> Certificate:
    """The certificate of a verdict; the same inputs give the same one, however often the question was begun."""
    seen = paired(scorecard.of(contract.target.suite))
    tail = Tail.EXACT if contract.budget else Tail.MID
    test = sign_flip(seen.sums) if seen.clustered else mcnemar(seen.wins, seen.losses)
    n, budget = seen.total.n, contract.budget
    capital = None if seen.clustered or not n else float(log_capital(seen.wins, seen.losses))
    spent = allowance.spent + (allowance.alpha if n else 0.0)
    passes = allowance.accepts + (verdict.judgement.value == "pass")
    counted = budget is not None and budget.accepts is not None
    return Certificate(
        verdict=verdict.digest,
        registration=registration.digest,
        judgement=verdict.judgement,
        contract=contract.name,
        contract_digest=contract.digest,
        suites=registration.suites,
        scorecard=scorecard.digest,
        champion=registration.champion,
        candidate=registration.candidate,
        anchor=registration.anchor,
        question=allowance.question,
        n=n,
        b=seen.wins,
        c=seen.losses,
        clusters=len(seen.sizes),
        test="capital, futility and last look, in order"
        if contract.order
        else f"{'sign flips of clusters' if seen.clustered else 'McNemar'}, {tail.value}",
        p=_short(tail.p(test)) if n and not contract.order else None,
        capital=_short(capital),
        alpha=_rounded(allowance.alpha),
        spent=_rounded(spent),
        left=_rounded(max(budget.alpha - spent, 0.0)) if budget else None,
        questions_left=budget.questions - allowance.question + (not n) if budget else None,
        accepts_left=budget.accepts - passes if counted and budget and budget.accepts else None,
        seed=registration.seed,
        fresh=registration.fresh,
    )


def _rounded(value: float) -> float:
    """Six significant figures: the same on every machine."""
    return float(f"{value:.6g}")


def _short(value: float | None) -> float | None:
    return None if value is None else _rounded(value)
