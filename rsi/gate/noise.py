"""The champion against itself: what a comparison shows when nothing changed.

Sampled decoding, a server that batches, a judge: each makes a version differ from itself. The champion answers some of
the target's items once more; a gain that is no larger than what it gains over itself by chance is none.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from rsi.gate.clauses import NOTHING, Finding
from rsi.gate.contract import Contract
from rsi.gate.order import shuffled
from rsi.gate.scorecard import Assume, Scorecard, paired
from rsi.gate.suites import Suite
from rsi.gate.terms import Noise
from rsi.records import ItemResult, Judgement
from rsi.report.words import percent, points


def measure(
    contract: Contract,
    suites: Mapping[str, Suite],
    first: Sequence[ItemResult],
    seed: int,
    again: Callable[[Mapping[str, Suite]], Scorecard],
) -> tuple[ItemResult, ...]:
    """The champion's first answers beside its second ones, in the places of champion and candidate.

    None where the contract does not ask for them, or nothing was asked.

    Args:
        first: the target's results.
        seed: of the question; it says which items are asked again.
        again: asks the champion about some suites anew.
    """
    target, wanted = suites[contract.target.suite], contract.noise
    if wanted is None or not first:
        return ()
    taken = shuffled(target, seed)[: wanted.items]
    part = {name: replace(suite, items=()) for name, suite in suites.items()}
    part[target.name] = replace(target, items=tuple(taken))
    seen = {one.item_id: one for one in first}
    return tuple(
        one.model_copy(
            update={
                "candidate": one.champion,
                "candidate_answer": one.champion_answer,
                "champion": seen[one.item_id].champion,
                "champion_answer": seen[one.item_id].champion_answer,
            }
        )
        for one in again(part).of(target.name)
        if one.item_id in seen
    )


def floor(
    results: Sequence[ItemResult], itself: Sequence[ItemResult], wanted: Noise, assume: Assume
) -> Finding:
    """Whether the gain in `results` is larger than the champion's over itself could be, by its 95% interval."""
    if not results or not itself:
        return NOTHING
    gain, noise = paired(results, assume), paired(itself, assume)
    before, after = gain.total.shares()
    flips = noise.wins + noise.losses
    bound = max(abs(end) for end in noise.interval())
    numbers = {
        "n": noise.total.n,
        "flips": flips,
        "b": noise.wins,
        "c": noise.losses,
        "bound": bound,
        "difference": after - before,
        "bar": wanted.max_flips,
    }
    steady = flips <= wanted.max_flips * noise.total.n
    text = (
        f"the champion against itself: {flips} of {noise.total.n} results changed, at most "
        f"{percent(wanted.max_flips)} may; "
        f"by chance it gains up to {points(bound)}, the candidate {points(after - before)}"
    )
    passed = steady and after - before > bound
    return Finding(Judgement.PASS if passed else Judgement.CANNOT_TELL, text, numbers)
