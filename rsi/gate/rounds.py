"""The two rounds of a question: both versions answer, and then the champion once more, against itself.

What was replied is kept round by round until the verdict lies there, so that a gate that was killed asks the rest only.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from rsi.gate import kept, noise, order
from rsi.gate.contest import Contest, Means
from rsi.gate.contract import Contract
from rsi.gate.evaluate import evaluate
from rsi.gate.scorecard import Scorecard
from rsi.gate.suites import Suite
from rsi.questions import Registration
from rsi.records import ItemResult
from rsi.settings import Home


class Round(StrEnum):
    """Which of the two; replies of one are none of the other."""

    FIRST = "first"
    AGAIN = "again"


@dataclass(frozen=True)
class Rounds:
    """What both rounds found."""

    scorecard: Scorecard
    itself: tuple[ItemResult, ...]
    """The champion's first answers beside its second ones; none where the contract does not ask for them."""


def ask(
    home: Home,
    contract: Contract,
    suites: Mapping[str, Suite],
    contest: Contest,
    means: Means,
    registration: Registration,
    alpha: float,
) -> Rounds:
    """Put a question; `alpha` is what it may spend.

    Raises:
        ContractError: the engine lacks what a version needs.
        TransientError: the engine answered nothing at all.
    """

    def put(who: Contest, part: Round) -> Callable[[Mapping[str, Suite]], Scorecard]:
        file = kept.place(home, registration.digest, part)
        return lambda some: evaluate(contract, some, who, means, file)

    seed = registration.seed
    scorecard = order.ask(contract, suites, seed, alpha, put(contest, Round.FIRST))
    first = scorecard.of(contract.target.suite)
    return Rounds(scorecard, noise.measure(contract, suites, first, seed, put(contest.itself(), Round.AGAIN)))


def forget(home: Home, registration: Registration) -> None:
    """Let go of the replies to a question that is answered."""
    for part in Round:
        kept.place(home, registration.digest, part).unlink(missing_ok=True)
