"""Pass, fail or cannot tell, clause by clause, from a scorecard under a contract.

Where evidence is missing (an error, an unusable item) every clause is judged twice: with the missing
answers against the candidate and for it. Only a judgement that both share stands; else the clause cannot
tell (`rsi.gate.hygiene` looks at the answers that are there, and fails nobody where one is missing). The
whole fails if a clause fails, else cannot tell if a clause cannot, else passes. An empty answer and one in
a wrong format are wrong answers, and counted apart.

The guards need no correction for their number: all of them have to pass, so a candidate that is too bad on
one passes with probability at most that guard's alpha (intersection-union test). A contract that wants each
"not worse" to be quotable alone asks for Holm's correction over guards, against champion and anchor.
"""

from collections import Counter
from collections.abc import Callable, Sequence

from rsi.errors import IntegrityError
from rsi.gate.clauses import (
    Finding,
    Tail,
    accuracy,
    every_level,
    gain,
    never,
    noninferiority,
    range_of,
    rounded,
)
from rsi.gate.contract import Contract, Guard, Target, ZeroTolerance
from rsi.gate.hygiene import hygiene
from rsi.gate.levels import by_level, levels_of
from rsi.gate.noise import floor
from rsi.gate.order import finding, planned
from rsi.gate.scorecard import MISSING, Assume, Scorecard
from rsi.gate.suites import OWN
from rsi.gate.terms import Correction
from rsi.records import Clause, Item, ItemResult, Judgement, OutcomeKind, Verdict
from rsi.report.words import p_value, plural
from rsi.statistics.multiplicity import holm

Results = Sequence[ItemResult]


def judge(
    contract: Contract,
    scorecard: Scorecard,
    night: str,
    role: str | None,
    alpha: float | None = None,
    before: Sequence[Clause] = (),
    itself: Results = (),
    target: Sequence[Item] = (),
) -> Verdict:
    """The verdict on a candidate.

    Args:
        night: the night that asks.
        role: the role whose adapter changed; None when only the harness did.
        alpha: what the test of the gain may spend, by default the target's own level.
        before: what was known before anything was asked; where one of these does not hold, nothing else is judged.
        itself: the champion's answers beside its second ones, where the contract asks for them.
        target: its items, where they are asked in order and perhaps not all, or held to a bar level by level.

    Raises:
        IntegrityError: the scorecard was made under another contract or from other suites.
    """
    asked = {one.suite: one.pin for one in scorecard.asked}
    if scorecard.contract_digest != contract.digest or asked != contract.pins:
        raise IntegrityError(
            f"scorecard {scorecard.digest[:12]} was not made under contract {contract.name} "
            f"{contract.digest[:12]}; evaluate again"
        )
    clauses = list(before)
    if whole(before) is Judgement.PASS or not before:
        clauses += _measured(contract, scorecard, alpha or contract.target.alpha, itself, target)
    return Verdict(
        night=night,
        champion=scorecard.champion,
        candidate=scorecard.candidate,
        role=role,
        contract=contract.name,
        contract_digest=contract.digest,
        suites=asked,
        scorecard=scorecard.digest,
        judgement=whole(clauses),
        clauses=tuple(clauses),
        rule=contract.approval,
    )


def _measured(
    contract: Contract, scorecard: Scorecard, alpha: float, itself: Results, items: Sequence[Item]
) -> list[Clause]:
    results = scorecard.of(contract.target.suite)
    target = contract.target.model_copy(update={"alpha": alpha})
    clauses = _target(target, results, labelled=scorecard.asked[0].hop == "route")
    clauses.insert(1, _settled("target_gain", results, _gain(contract, target, results, len(items))))
    if (bar := contract.levels) is not None:
        parts = by_level(results, levels_of(items))
        clauses.append(_settled("target_levels", results, lambda assume: every_level(parts, bar, assume)))
    if (noise := contract.noise) is not None:
        clauses.append(
            _settled(
                "target_noise", (*results, *itself), lambda assume: floor(results, itself, noise, assume)
            )
        )
    guards = [clause for guard in contract.guards for clause in _guard(guard, scorecard)]
    if contract.correction is Correction.HOLM:
        guards = _corrected(guards)
    zero = [_never(one, scorecard.of(one.suite)) for one in contract.zero_tolerance]
    manners = hygiene(contract.hygiene, scorecard) if contract.hygiene else []
    return [*clauses, *guards, *zero, *manners, _completeness(scorecard)]


def _gain(contract: Contract, target: Target, results: Results, items: int) -> Callable[[Assume], Finding]:
    """What tells a gain: one test at the end, or the rule for items asked in order."""
    if contract.order is not None:
        plan = planned(contract.order, items or len(results), target.alpha)
        return lambda assume: finding(results, plan, assume)
    tail = Tail.EXACT if contract.budget else Tail.MID
    return lambda assume: gain(results, target, assume, tail)


def _corrected(clauses: Sequence[Clause]) -> list[Clause]:
    """Guards with their p-values after Holm, over all of them, against champion and anchor alike."""
    family = [one for one in clauses if one.name.endswith(("_noninferior", "_anchor"))]
    ps = holm([one.numbers.get("p", 1.0) for one in family])
    adjusted = {one.name: p for one, p in zip(family, ps, strict=True)}
    return [
        _held_to(one, adjusted[one.name], len(family)) if one.name in adjusted else one for one in clauses
    ]


def _held_to(clause: Clause, p: float, tests: int) -> Clause:
    shown = clause.judgement is not Judgement.PASS or p < clause.numbers["alpha"]
    said = f"; p {p_value(p)} after Holm over {plural(tests, 'test')}"
    return Clause(
        name=clause.name,
        judgement=clause.judgement if shown else Judgement.CANNOT_TELL,
        text=clause.text + said,
        numbers=clause.numbers | rounded({"p_holm": p}),
    )


def whole(clauses: Sequence[Clause]) -> Judgement:
    """The judgement of all clauses together; of none, cannot tell."""
    said = {clause.judgement for clause in clauses}
    if Judgement.FAIL in said:
        return Judgement.FAIL
    return Judgement.PASS if said == {Judgement.PASS} else Judgement.CANNOT_TELL


def _target(target: Target, results: Results, labelled: bool) -> list[Clause]:
    hard = [result for result in results if result.hard and result.source == OWN]
    labels = _settled(
        "target_labels",
        results,
        lambda assume: accuracy(_labels(results), target.min_label_accuracy, target.min_label_items, assume),
    )
    difficult = _settled(
        "target_hard",
        hard,
        lambda assume: accuracy({"own hard": hard}, target.min_hard_accuracy, target.min_hard_items, assume),
    )
    return [
        _size("target_size", results, target.min_items),
        _settled(
            "target_accuracy",
            results,
            lambda assume: accuracy({"all": results}, target.min_accuracy, target.min_items, assume, results),
        ),
        *([labels] if labelled else []),
        *([difficult] if target.min_hard_items else []),
    ]


def _labels(results: Results) -> dict[str, list[ItemResult]]:
    found: dict[str, list[ItemResult]] = {}
    for result in sorted(results, key=lambda result: result.expected):
        found.setdefault(result.expected, []).append(result)
    return found


def _guard(guard: Guard, scorecard: Scorecard) -> list[Clause]:
    name = f"guard_{guard.suite.split('/')[0]}"
    results, anchored = scorecard.of(guard.suite), scorecard.anchor_of(guard.suite)
    clauses = [
        _size(f"{name}_size", results, guard.min_items),
        _settled(f"{name}_range", results, lambda assume: range_of(results, guard, assume)),
        _settled(f"{name}_noninferior", results, lambda assume: noninferiority(results, guard, assume)),
    ]
    if scorecard.anchor is not None:
        clauses.append(
            _settled(f"{name}_anchor", anchored, lambda assume: noninferiority(anchored, guard, assume))
        )
    return clauses


def _never(bar: ZeroTolerance, results: Results) -> Clause:
    name = f"zero_tolerance_{bar.suite.split('/')[0]}_failures"
    return _settled(name, results, lambda assume: never(results, bar, assume))


def _settled(name: str, results: Results, look: Callable[[Assume], Finding]) -> Clause:
    """What holds whatever the missing answers would have been; numbers count them against the candidate."""
    against = look(Assume.AGAINST)
    missing = sum(_is_missing(result) for result in results)
    judgement, text = against.judgement, against.text
    if missing:
        if look(Assume.FOR).judgement is not judgement:
            judgement = Judgement.CANNOT_TELL
        text += f"; {plural(missing, 'item')} without evidence, counted against the candidate"
    return Clause(name=name, judgement=judgement, text=text, numbers=rounded(against.numbers))


def _size(name: str, results: Results, least: int) -> Clause:
    answered = sum(not _is_missing(result) for result in results)
    return Clause(
        name=name,
        judgement=Judgement.PASS if answered >= least else Judgement.CANNOT_TELL,
        text=f"{plural(answered, 'item')} answered by both versions, at least {least} needed",
        numbers=rounded({"n": answered, "bar": least, "clusters": len({r.cluster for r in results})}),
    )


def _completeness(scorecard: Scorecard) -> Clause:
    """Counts of every way an answer ended; cannot tell when an item is absent or an answer is missing."""
    results = (*scorecard.results, *scorecard.anchor_results)
    absent = sum(
        abs(asked.items - len(scorecard.of(asked.suite)))
        + len(scorecard.of(asked.suite))
        - len({result.item_id for result in scorecard.of(asked.suite)})
        for asked in scorecard.asked
    )
    numbers: dict[str, float] = {"items": sum(asked.items for asked in scorecard.asked), "absent": absent}
    for version in ("champion", "candidate"):
        ended = Counter(getattr(result, version).kind for result in results)
        numbers |= {f"{kind.value}_{version}": ended[kind] for kind in OutcomeKind}
    missing = sum(int(numbers[f"{kind.value}_{v}"]) for kind in MISSING for v in ("champion", "candidate"))
    odd = [
        f"{int(numbers[f'{kind.value}_{version}'])} {kind.value.replace('_', ' ')} ({version})"
        for kind in OutcomeKind
        for version in ("champion", "candidate")
        if kind is not OutcomeKind.SCORED and numbers[f"{kind.value}_{version}"]
    ]
    text = f"{plural(int(numbers['items']), 'item')} asked of both versions"
    text += f", {absent} absent or doubled" if absent else ""
    text += f"; {', '.join(odd)}" if odd else "; every answer could be scored"
    causes = _causes(results)
    text += f"; errors: {', '.join(causes)}" if causes else ""
    judgement = Judgement.CANNOT_TELL if absent or missing else Judgement.PASS
    return Clause(name="completeness", judgement=judgement, text=text, numbers=rounded(numbers))


def _causes(results: Results) -> list[str]:
    """Kinds of errors with their counts; never the message, which may quote an item."""
    kinds = Counter(
        outcome.detail.split(":", 1)[0]
        for result in results
        for outcome in (result.champion, result.candidate)
        if outcome.kind is OutcomeKind.ERROR
    )
    return [f"{kind} {count}" for kind, count in sorted(kinds.items())]


def _is_missing(result: ItemResult) -> bool:
    return result.champion.kind in MISSING or result.candidate.kind in MISSING
