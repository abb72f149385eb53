"""Verifiers: functions of (answer, expectation). Adding one is one file and one line.

A verifier is pure. *Scored* carries 1 for right and 0 for wrong; *wrong format* is an answer that cannot be
compared; *empty* is no answer; *invalid* is an expectation that nobody could meet, the suite's fault.
"""

from collections.abc import Callable

from rsi.errors import ContractError
from rsi.records import Outcome
from rsi.verifiers.choice import choice
from rsi.verifiers.exact import exact

Verifier = Callable[[str, str], Outcome]
"""(answer, expected) -> outcome."""

VERIFIERS: dict[str, Verifier] = {
    "choice": choice,
    "exact": exact,
}


def verify(name: str, answer: str, expected: str) -> Outcome:
    """What the verifier called `name` says of an answer.

    Raises:
        ContractError: there is no such verifier.
    """
    if name not in VERIFIERS:
        raise ContractError(f"no verifier is called {name[:60]!r}; there are {', '.join(sorted(VERIFIERS))}")
    return VERIFIERS[name](answer, expected)
