"""Verifiers: functions of (answer, expectation). Adding one is one file and one line.

Each module has `check`, which gives the outcome, and `gold`, which gives an answer that must be right, so that a task
can be tried before it is trusted. Five outcomes are counted apart: *scored* carries 1 for right and 0 for wrong; *wrong
format* is an answer that cannot be compared; *empty* is no answer; *invalid* is an expectation that nobody could meet,
the fault of the task or suite; *error* is a failure of the verifier's own machinery. What an answer brings about is
never an error: code that hangs, floods or kills its process is wrong.

All are pure but three: `code` and `math` work in a process of their own (`rsi.verifiers.sandbox`) and may end in an
error; `judge` asks a model and is bound to one by `with_judge`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rsi.errors import ContractError
from rsi.ports import Judge
from rsi.records import Outcome
from rsi.verifiers import choice, code, exact, final_state, json_schema, judge, math, number, regex, tool_call


@dataclass(frozen=True)
class Verifier:
    """One way to tell right from wrong."""

    check: Callable[[str, str], Outcome]
    """(answer, expected) -> outcome."""
    gold: Callable[[str], str | None]
    """expected -> an answer that must be right; None where the expectation has none to give."""
    by: str = ""
    """Who judges; empty where a rule does, and where a judge is not bound."""


Verifiers = Mapping[str, Verifier]
"""A table of verifiers by name."""

VERIFIERS: Verifiers = {
    "choice": Verifier(choice.check, choice.gold),
    "code": Verifier(code.check, code.gold),
    "exact": Verifier(exact.check, exact.gold),
    "final_state": Verifier(final_state.check, final_state.gold),
    "json_schema": Verifier(json_schema.check, json_schema.gold),
    "judge": Verifier(judge.check, judge.gold),
    "math": Verifier(math.check, math.gold),
    "number": Verifier(number.check, number.gold),
    "regex": Verifier(regex.check, regex.gold),
    "tool_call": Verifier(tool_call.check, tool_call.gold),
}


JUDGE = "judge"
"""The verifier that asks a model."""


def with_judge(one: Judge | None, table: Verifiers = VERIFIERS) -> Verifiers:
    """The table with its judge bound to a model; unbound, it answers *error* to all but the reference itself."""
    return {**table, JUDGE: Verifier(judge.bound(one), judge.gold, one.name)} if one else table


def usable(table: Verifiers = VERIFIERS) -> frozenset[str]:
    """The names of verifiers that can tell right from wrong: all, but for a judge that is not bound."""
    return frozenset(name for name, one in table.items() if name != JUDGE or one.by)


def verify(name: str, answer: str, expected: str, table: Verifiers = VERIFIERS) -> Outcome:
    """What the verifier called `name` says of an answer.

    Raises:
        ContractError: there is no such verifier.
    """
    return _named(name, table).check(answer, expected)


def gold(name: str, expected: str, table: Verifiers = VERIFIERS) -> str | None:
    """An answer that the verifier called `name` must accept; None where the expectation has none to give.

    Raises:
        ContractError: there is no such verifier.
    """
    return _named(name, table).gold(expected)


def _named(name: str, table: Verifiers) -> Verifier:
    if name not in table:
        raise ContractError(f"no verifier is called {name[:60]!r}; there are {', '.join(sorted(table))}")
    return table[name]
