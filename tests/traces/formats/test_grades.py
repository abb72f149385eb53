"""Which way a score points, and what is no score."""

import pytest

from rsi.traces.formats.grades import LOW_IS_GOOD, Grade, grade, is_end_users
from rsi.traces.rows import Json


@pytest.mark.parametrize(
    ("name", "said", "expected"),
    [
        ("correctness", 0.5, Grade(0.5)),
        ("correctness", True, Grade(1.0)),
        ("correctness", "pass", Grade(1.0, "pass")),
        ("safety", "no", Grade(0.0, "no")),
        ("toxicity", 0.2, Grade(0.8, 0.2, LOW_IS_GOOD)),
        ("Hallucination-v2", 1, Grade(0.0, 1, LOW_IS_GOOD)),
        ("hasBias", False, Grade(1.0, False, LOW_IS_GOOD)),
        ("hallucination", "yes", Grade(0.0, "yes", LOW_IS_GOOD)),
        ("harmfulness", 0, Grade(1.0, 0, LOW_IS_GOOD)),
        ("harmlessness", 1, Grade(1.0)),
        ("no_hallucination", 1, Grade(1.0)),
        ("toxicity-free", 1, Grade(1.0)),
        ("unbiased", 1, Grade(1.0)),
        ("error_handling", 0.9, Grade(0.9)),
        ("stars", 4, Grade(None, 4)),
        ("latency", 0.4, Grade(None, 0.4)),
        ("token_count", 1, Grade(None, 1)),
        ("tone", "terse", Grade(None, "terse")),
        ("plan", {"a": 1}, Grade(None, {"a": 1})),
        ("correctness", -0.1, Grade(None, -0.1)),
        ("correctness", None, Grade()),
    ],
)  # fmt: skip
def test_what_was_said_as_a_value(name: str, said: Json, expected: Grade) -> None:
    """1 good, 0 bad; what was said is kept where the value does not tell it."""
    assert grade(name, said) == expected


@pytest.mark.parametrize("name", ["user-feedback", "user_score", "thumbs", "End-user rating", "userFeedback"])
def test_names_of_what_end_users_said(name: str) -> None:
    """In the spellings of examples in documentation."""
    assert is_end_users(name)


@pytest.mark.parametrize("name", ["feedback", "user", "user_intent", "correctness"])
def test_other_names(name: str) -> None:
    """Are not theirs."""
    assert not is_end_users(name)
