import pytest

from rsi.errors import ContractError
from rsi.gate.baseline import NAME, baseline

CODE = [
    "write a function that sorts",
    "a regular expression for dates",
    "a sql query for totals",
    "bash script",
]
TALK = ["why is the sky blue", "give me advice about my cat", "tell me a story", "what is a noun"]
TEXTS, LABELS = CODE + TALK, ["L2"] * 4 + ["L0"] * 4


def test_a_classifier_learns_words_and_is_scored_on_the_suite() -> None:
    """Overall and by label, with the number of texts it saw; twice the same."""
    asked = [
        "a function that writes a query",
        "a script for dates",
        "why is a cat blue",
        "write a sql function",
    ]
    found = baseline(TEXTS, LABELS, asked, ["L2", "L2", "L0", "L0"])

    assert found is not None
    assert (found.name, found.texts, found.accuracy) == (NAME, 8, 0.75)
    assert found.by_label == {"L0": 0.5, "L2": 1.0}
    assert found == baseline(TEXTS, LABELS, asked, ["L2", "L2", "L0", "L0"])


def test_nothing_to_learn_from_is_no_baseline() -> None:
    """No bank, one label only, or no suite: nothing is printed rather than a made-up number."""
    assert baseline([], [], ["a"], ["L0"]) is None
    assert baseline(TALK, ["L0"] * 4, ["a"], ["L0"]) is None
    assert baseline(TEXTS, LABELS, [], []) is None
    with pytest.raises(ContractError, match="8 and 1 to train on"):
        baseline(TEXTS, ["L0"], ["a"], ["L0"])
