"""I7: questions to the gate stay within the budget that their own records repeat."""

import pytest

from rsi.questions import Allowance, Ask, Bounds, Registration
from rsi.registry.verify import verify
from rsi.settings import Home
from rsi.store.ledger import Ledger
from tests import night_made
from tests.made import FixedClock

BOUNDS = Bounds(questions=2, starts=2, accepts=1, alpha=0.05)


@pytest.fixture
def home(tmp_path, tiny_base, monkeypatch) -> Home:
    """A home before its first night."""
    monkeypatch.setenv("RSI_CONTRACTS", str(night_made.contracts(tmp_path / "contracts")))
    return night_made.make_home(tmp_path / "home", tiny_base)


def put(home: Home, candidate: str, question: int, start: int = 1) -> None:
    """Write down a question, whatever the bounds say."""
    registration = Registration(
        contract="c/v1",
        contract_digest="1" * 64,
        target="2" * 64,
        suites={"t/v1": "2" * 64},
        items="3" * 64,
        champion="4" * 64,
        candidate=candidate * 64,
        anchor=None,
    )
    allowance = Allowance(question=question, start=start, alpha=0.025, spent=0.0, accepts=0)
    said = Ask(registration=registration, allowance=allowance, bounds=BOUNDS, seed=registration.seed)
    body = said.model_dump(mode="json")
    Ledger(home.ledger, FixedClock()).append("ask", night="n", input=registration.digest, body=body)


def broken(home: Home) -> list[str]:
    """What verify says of I7."""
    return [one.text for one in verify(home, FixedClock()).findings if one.invariant == "I7"]


def test_questions_within_their_budget_are_counted(home):
    """Two questions, one of them begun twice: that is what may be."""
    for candidate, question, start in (("a", 1, 1), ("a", 1, 2), ("b", 2, 1)):
        put(home, candidate, question, start)

    assert broken(home) == []
    assert verify(home, FixedClock()).checked["questions"] == 3


def test_retries_and_questions_beyond_it_are_named(home):
    """A third start, a third question, and a record that says another number than it has."""
    for start in (1, 2, 3):
        put(home, "a", 1, start)
    put(home, "b", 2)
    put(home, "c", 3)
    put(home, "d", 1)
    said = broken(home)

    assert any("begun 3 times, 2 are allowed" in one for one in said)
    assert any("question 3 to items that may be asked 2 times" in one for one in said)
    assert any("says question 1, start 1; it is question 4, start 1" in one for one in said)


def test_a_record_that_cannot_be_read_is_no_question(home):
    """It is named rather than passed over."""
    Ledger(home.ledger, FixedClock()).append("ask", night="n", input="a" * 64, body={"seed": 1})

    assert broken(home) == ["a record of a question or its verdict is unreadable (3 errors)"]
