"""Well-defined tasks: the oracle passes, doing nothing fails, a broken variant fails."""

from rsi.records import ChatMessage, Task
from rsi.tasks.bank import task
from rsi.tasks.calls import calls_of, expectation
from rsi.tasks.check import Flaw, flaw, oracle
from rsi.verifiers.calls import Call, read
from tests.made import routing_tasks
from tests.tasks.test_columns import CALL, TOOLS


def checked(verifier: str, expected: str) -> Task:
    """A task with an expectation."""
    return task("answer", (ChatMessage(role="user", content="?"),), verifier, expected, None, ("t",), "made")


def test_sound_tasks_have_no_flaw() -> None:
    """Of every verifier that banks use."""
    assert [flaw(one) for one in (*routing_tasks(), CALL, checked("exact", '["eight", "8"]'))] == [None] * 18


def test_an_expectation_that_nobody_can_meet_has_no_oracle() -> None:
    """Nor has a verifier that does not exist."""
    assert flaw(checked("exact", "not a list")) is Flaw.NO_ORACLE
    assert flaw(checked("tool_call", "{}")) is Flaw.NO_ORACLE
    assert flaw(checked("nobody", "x")) is Flaw.NO_ORACLE


def test_a_task_that_must_call_nothing_is_well_defined() -> None:
    """Saying so is right, silence is not, and any call is wrong."""
    nothing = task(
        "tool", CALL.messages, "tool_call", expectation([], TOOLS), None, ("t",), "made", tools=TOOLS
    )

    assert flaw(nothing) is None


def test_a_task_that_any_answer_passes_is_not() -> None:
    """A broken answer must be wrong."""
    anything = expectation([Call("open", {"what": ["door"]})], TOOLS).replace(
        '[["door"]]', '["door", "doorx"]'
    )
    loose = CALL.model_copy(update={"expected": anything})

    assert flaw(loose) is Flaw.BROKEN_PASSES


def test_calls_survive_being_expected() -> None:
    """Nested values too."""
    calls = (Call("open", {"what": "door"}), Call("open", {"what": '["x"]'}))

    assert calls_of(expectation(calls, TOOLS)) == calls
    assert read(oracle(CALL) or "") == calls[:1]
    assert calls_of("no json") == ()
