"""Where a failed run first went wrong, and whose failure it was."""

import dataclasses

import pytest

from rsi.discover.facts import TraceFacts
from rsi.discover.localise import Localisation, Method, localise
from rsi.discover.window import observe
from rsi.records import Blame
from tests.discover.facts_made import Said, call, facts, run

PAY = [("pay", {"bill": "b-100", "amount": 40})]
LOOK: Said = ("assistant", call("look", bill="b-100"))
PAID: Said = ("assistant", call("pay", bill="b-100", amount=40))
DONE: Said = ("assistant", "All done.")
ASK: Said = ("user", "Pay my bill b-100, please.")
PASSED = run("z", ASK, LOOK, PAID, DONE, passed=True, expected=PAY, task="another")


def found(one: TraceFacts, *others: TraceFacts) -> Localisation:
    """The localisation of a run among others."""
    where = localise(one, observe([one, PASSED, *others]))
    assert where is not None
    return where


def test_a_run_that_did_not_fail_has_no_wrong_step() -> None:
    """Passed, or nobody said."""
    assert localise(PASSED, observe([PASSED])) is None
    assert localise(facts("t"), observe([])) is None


def test_a_wrong_value_counts_from_where_it_was_proposed() -> None:
    """The first message behind the last look-up that names it; without one the call itself."""
    wrong: Said = ("assistant", call("pay", bill="b-100", amount=9041))
    told = run("t", ASK, LOOK, ("assistant", "I will pay 9041."), ("user", "Yes"), wrong, DONE, expected=PAY)
    where = found(told)
    assert (where.message, where.method, where.call_uid) == (4, Method.ACTION, "t-call-6")
    assert where.message_uid == "t-4"
    assert "amount" in where.why
    untold = found(
        run("t", ASK, LOOK, ("assistant", "I will pay it."), ("user", "Yes"), wrong, DONE, expected=PAY)
    )
    assert (untold.message, untold.blame) == (6, Blame.MODEL)


def test_an_action_without_need() -> None:
    """It is the wrong step where nothing was expected."""
    where = found(run("t", ASK, LOOK, ("assistant", "Wait."), ("user", "Go on"), PAID, DONE, expected=[]))
    assert (where.message, where.method) == (6, Method.ACTION)


def test_a_refused_try_is_the_first_step_of_what_was_done_wrongly_in_the_end() -> None:
    """The call that was refused was wrong already."""
    refused: Said = ("assistant", call("pay", error="Error: not that much", bill="b-100", amount=7777))
    where = found(
        run("t", ASK, LOOK, refused, ("assistant", call("pay", bill="b-100", amount=8888)), expected=PAY)
    )
    assert where.message == 4


def test_turning_away_is_the_step_that_refuses_behind_what_prepared_the_action() -> None:
    """Not an earlier refusal of something else."""
    where = found(
        run("t", ("user", "Hi, tell me a joke"), ("assistant", "I cannot joke."), ASK, LOOK,
            ("assistant", "Let me see."), ("user", "Well?"), ("assistant", "That is not possible."), expected=PAY)
    )  # fmt: skip
    assert (where.message, where.method) == (8, Method.REFUSAL)
    assert "pay" in where.why


def test_handing_over_is_turning_away() -> None:
    """By the name of the tool."""
    where = found(
        run("t", ASK, LOOK, ("assistant", call("transfer_to_human_agents", why="so")), expected=PAY)
    )
    assert (where.message, where.method) == (4, Method.REFUSAL)


def test_a_step_that_a_good_sibling_takes_and_this_run_never_does() -> None:
    """The reply in place of the sibling's next look-up."""
    second: Said = ("assistant", call("look", bill="b-200"))
    wanted = [*PAY, ("pay", {"bill": "b-200", "amount": 5})]
    good = run(
        "g", ASK, LOOK, second, PAID, ("assistant", call("pay", bill="b-200", amount=5)), DONE,
        passed=True, expected=wanted,
    )  # fmt: skip
    where = found(
        run("t", ASK, LOOK, ("assistant", "You have one bill."), ASK, PAID, DONE, expected=wanted), good
    )
    assert (where.message, where.method) == (4, Method.SIBLING)


def test_a_passed_run_is_believed_before_what_is_expected() -> None:
    """Its actions are the measure where they are not those of the list."""
    other: Said = ("assistant", call("pay", bill="b-100", amount=41))
    good = run("g", ASK, LOOK, other, DONE, passed=True, expected=PAY)
    many = [
        run(f"y{n}", ASK, LOOK, PAID, DONE, passed=True, expected=PAY, task=f"other {n}") for n in range(20)
    ]
    failed = run("t", ASK, LOOK, PAID, DONE, expected=PAY)
    where = found(failed, good, *many)
    assert (where.message, where.method) == (4, Method.ACTION)
    assert where.blame is Blame.MODEL


def test_what_was_to_be_said() -> None:
    """The last answer, where it stands in none; commas in numbers do not count."""
    where = found(run("t", ASK, LOOK, PAID, ("assistant", "You paid."), expected=PAY, outputs=["2410"]))
    assert (where.message, where.method, where.blame) == (6, Method.OUTPUT, Blame.MODEL)
    said = found(run("t", ASK, LOOK, PAID, ("assistant", "It was 2,410."), expected=PAY, outputs=["2410"]))
    assert said.method is Method.NOTHING


def test_everything_right_and_yet_failed_is_the_tasks_fault() -> None:
    """Its label or its checker; unless the run was cut off before its last word."""
    where = found(run("t", ASK, LOOK, PAID, DONE, expected=PAY))
    assert (where.message, where.blame) == (None, Blame.TASK)
    cut = found(run("t", ASK, LOOK, PAID, expected=PAY))
    assert (cut.message, cut.method, cut.blame) == (4, Method.CUT, Blame.HARNESS)


def test_a_label_that_contradicts_the_world_is_the_tasks_fault() -> None:
    """The expected id stands nowhere, the one used does; a passed sibling shows that the label can be met."""
    wrong: Said = ("assistant", call("pay", bill="b-200", amount=40))
    told = run("t", ("user", "Pay b-200."), LOOK, wrong, DONE, expected=PAY)
    assert found(told).blame is Blame.TASK
    assert "b-100" in found(told).reason
    good = run("g", ASK, LOOK, PAID, DONE, passed=True, expected=PAY)
    assert found(told, good).blame is Blame.MODEL


def test_a_user_who_withholds_what_the_instruction_gives() -> None:
    """The environment's fault: the simulated user."""
    said = (("user", "Pay my bill."), ("assistant", "I cannot without its number."), ("user", "Never mind."))
    assert (
        found(run("t", *said, expected=PAY, instruction="You are kim_77. Pay b-100.")).blame
        is Blame.ENVIRONMENT
    )
    told = (("user", "I am kim_77."), *said)
    assert found(run("t", *told, expected=PAY, instruction="You are kim_77. Pay b-100.")).blame is Blame.MODEL


@pytest.mark.parametrize(
    ("error", "blame"),
    [
        ("Error: connection timed out", Blame.ENVIRONMENT),
        ("429 Too Many Requests", Blame.ENVIRONMENT),
        ("Internal server error", Blame.HARNESS),
        ("Error: bill not found", Blame.MODEL),
    ],
)
def test_a_refused_call_before_the_wrong_step(error: str, blame: Blame) -> None:
    """Words of reaching something, of the tool, or else the model's own fault."""
    refused: Said = ("assistant", call("pay", error=error, bill="b-100", amount=40))
    said = (ASK, LOOK, refused, ("assistant", "I am unable to pay it now."))
    assert found(run("t", *said, expected=PAY)).blame is blame


def test_the_harness() -> None:
    """A tool that is expected and not on offer; an answer cut off; a run that its limits broke."""
    said = (ASK, LOOK, ("assistant", "I cannot pay."))
    assert found(run("t", *said, expected=PAY, offered='["look"]')).blame is Blame.HARNESS
    assert found(run("t", *said, expected=PAY, offered='["look", "pay"]')).blame is Blame.MODEL
    assert found(run("t", *said, expected=PAY, cut="span")).blame is Blame.HARNESS
    assert found(run("t", *said, expected=PAY, error="maximum context length is 8192")).blame is Blame.HARNESS


def test_one_answer_is_the_wrong_step_of_a_conversation_with_one_answer() -> None:
    """Nothing else could be."""
    where = found(run("t", ASK, ("assistant", "No idea."), task=None))
    assert (where.message, where.method) == (2, Method.ONLY)


def test_calls_of_a_simulated_user_are_not_the_agents() -> None:
    """They are no actions of its."""
    told = run("t", ASK, LOOK, PAID, DONE, expected=[])
    users = tuple(dataclasses.replace(one, by_user=True) for one in told.calls)
    assert found(dataclasses.replace(told, calls=users)).method is not Method.ACTION
