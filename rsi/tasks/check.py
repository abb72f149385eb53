"""Whether a task is well defined: its own answer is right, no answer is wrong, and a broken answer is wrong.

A task that fails one of these teaches nothing, or something false: nobody could pass it, or anybody.
"""

from enum import StrEnum

from rsi.records import OutcomeKind, Task
from rsi.tasks.calls import VERIFIER as TOOL_CALL
from rsi.tasks.calls import calls_of
from rsi.verifiers import VERIFIERS, gold, verify
from rsi.verifiers.calls import Call, Json, write


class Flaw(StrEnum):
    """What is wrong with a task."""

    NO_ORACLE = "no_oracle"
    """There is no answer to derive from what it expects."""
    ORACLE_FAILS = "oracle_fails"
    NOTHING_PASSES = "no_op_passes"
    """Doing nothing is right."""
    BROKEN_PASSES = "broken_variant_passes"


def flaw(task: Task) -> Flaw | None:
    """The first flaw of a task, or none."""
    right = oracle(task)
    if right is None:
        return Flaw.NO_ORACLE
    if not _passes(task, right):
        return Flaw.ORACLE_FAILS
    if _passes(task, ""):
        return Flaw.NOTHING_PASSES
    if any(_passes(task, wrong) for wrong in broken(task, right)):
        return Flaw.BROKEN_PASSES
    return None


def oracle(task: Task) -> str | None:
    """The answer that is right by construction; none where the verifier has none to give."""
    return gold(task.verifier, task.expected) if task.verifier in VERIFIERS else None


def broken(task: Task, right: str) -> tuple[str, ...]:
    """Answers that are nearly right, and wrong; none for verifiers of which no near miss is known."""
    if task.verifier != TOOL_CALL:
        return (f"{right}x",) if task.verifier in ("choice", "exact") else ()
    calls = calls_of(task.expected)
    found = [write(calls[1:] or (Call("nothing", {}),))]
    for at, call in enumerate(calls):
        for name, value in sorted(call.arguments.items()):
            other = Call(call.name, {**call.arguments, name: _another(value)})
            found.append(write((*calls[:at], other, *calls[at + 1 :])))
    return tuple(found)


def _another(value: Json) -> Json:
    """A value of the same type that is another one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return f"{value}x"
    if isinstance(value, list):
        return [*value, "x"]
    return {**value, "x": 1} if isinstance(value, dict) else "x"


def _passes(task: Task, answer: str) -> bool:
    outcome = verify(task.verifier, answer, task.expected)
    return outcome.kind is OutcomeKind.SCORED and outcome.score == 1.0
