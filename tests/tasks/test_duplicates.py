"""Twins among proposals."""

from rsi.records import ChatMessage, Task
from rsi.tasks.bank import task
from rsi.tasks.duplicates import asked, twins

LONG = (
    "please look through all the invoices of the last three months, find those that were paid late, and write a "
    "short letter to each customer that names the invoice, the day it was due, the day it was paid and the interest"
)


def made(text: str, expected: str = "L1") -> Task:
    """A task with this request."""
    return task(
        "route", (ChatMessage(role="user", content=text),), "choice", expected, None, ("t",), "correction"
    )


def of(*tasks):
    """(id of the earlier one, whether it is the same) of each."""
    return [one and (one.of, one.share == 1.0) for one in twins(tasks, 0.85)]


def test_the_same_request_is_a_twin_in_other_clothes():
    """Case and marks."""
    first, second = made("dim the lights"), made("Dim the LIGHTS!")

    assert of(first, second) == [None, (first.task_id, True)]


def test_a_long_request_with_a_word_changed_is_nearly_the_same():
    """In a short one the word is a slot with another value."""
    first = made(LONG)

    assert of(first, made(LONG.replace("short", "brief"))) == [None, (first.task_id, False)]
    assert of(made("set a timer for ten minutes"), made("set a timer for two minutes")) == [None, None]


def test_another_expectation_makes_another_task():
    """However like the text is."""
    assert of(made(LONG, "L1"), made(LONG.replace("short", "brief"), "L2")) == [None, None]
    assert of(made(LONG, "L1"), made(LONG, "L2")) == [None, None]


def test_a_twin_of_a_twin_points_to_one_that_stays():
    """The second is gone when the third is looked at."""
    first = made(LONG)

    found = of(first, made(LONG.replace("short", "brief")), made(LONG.replace("short", "curt")))
    assert found == [None, (first.task_id, False), (first.task_id, False)]


def test_marks_tell_sums_apart():
    """What is asked differs, so that two expectations do not contradict each other."""
    assert asked(made("what is 7 + 3?")) != asked(made("what is 7 - 3?"))
    assert asked(made("Plot  SALES.")) == asked(made("plot sales"))


def test_nothing_has_no_twin():
    """No task, no trouble."""
    assert twins([], 0.85) == []
