import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi.errors import ContractError
from rsi.records import OutcomeKind
from rsi.verifiers import VERIFIERS, verify

GOLD: dict[str, list[tuple[str, str]]] = {
    "choice": [("L2", "L2"), (" code\n", "code"), ("generated-ui", "generated-ui")],
    "exact": [
        ("Paris", '["Paris"]'),
        ("The capital of France is Paris.", '["Paris"]'),
        ("\n\n  **PARIS**!  \nor maybe Rome", '["Paris"]'),
        ("It has 8 legs", '["8", "eight"]'),
        ("Eight.", '["8", "eight"]'),
        ("1,000 metres", '["1000"]'),
        ("New  york-city", '["New York City"]'),
        ("\uff30aris", '["Paris"]'),
        ("It is -5 degrees", '["-5"]'),
        ("That is \u22125.", '["-5"]'),
        ("pi is 3.14", '["3.14"]'),
        ("Shakespeare's", '["Shakespeare"]'),
        ("STRASSE", '["Straße"]'),
    ],
}
WRONG: dict[str, list[tuple[str, str]]] = {
    "choice": [
        ("L1", "L2"), ("l2", "L2"), ("L2.", "L2"), ("L2 L2", "L2"), ("the answer is L2", "L2"), ("L", "L2"),
        ("L22", "L2"), ("`L2`", "L2"), ('"L2"', "L2"), ("L2\nL1", "L2"), ("chat agent code ui", "code"),
        ("", "L2"),        (" \n ", "L2"), ("\u200bL2", "L2"), ("Code", "code"), ("?", "L2"),
    ],
    "exact": [
        ("", '["Paris"]'), (" \n\t", '["Paris"]'), ("chat", '["Paris"]'), ("code", '["8", "eight"]'),
        ("Parisian", '["Paris"]'), ("I do not know.", '["Paris"]'), ("Rome\nParis", '["Paris"]'),
        ("18", '["8", "eight"]'), ("8.5", '["8"]'), ("80", '["8"]'), ("5", '["-5"]'), ("-5", '["5"]'),
        ("City of New York", '["New York City"]'), ("10000", '["1000"]'), ("2nd", '["2"]'),
        ("eighty", '["eight"]'), ("?!", '["Paris"]'), ("3", '["3.14"]'), ("x" * 2100 + " Paris", '["Paris"]'),
    ],
}  # fmt: skip
UNUSABLE = {
    "choice": ["", " ", "two words", "a.b"],
    "exact": ["", "Paris", "[]", "{}", '["?"]', '["Paris", ""]', "[8]", '"Paris"', "null"],
}


@pytest.mark.parametrize("name", VERIFIERS)
def test_every_verifier_accepts_its_gold(name: str) -> None:
    """What is right gets 1, in every spelling that counts."""
    for answer, expected in GOLD[name]:
        outcome = verify(name, answer, expected)
        assert (outcome.kind, outcome.score) == (OutcomeKind.SCORED, 1.0), (answer, expected)


@pytest.mark.parametrize("name", VERIFIERS)
def test_every_verifier_refuses_a_bank_of_wrong_answers(name: str) -> None:
    """Nothing wrong gets a point, and only *scored* has a number."""
    for answer, expected in WRONG[name]:
        outcome = verify(name, answer, expected)
        assert outcome.score == (0.0 if outcome.kind is OutcomeKind.SCORED else None), (answer, expected)
        assert outcome.kind is not OutcomeKind.INVALID, (answer, expected)


@pytest.mark.parametrize("name", VERIFIERS)
def test_no_answer_is_empty_and_not_wrong(name: str) -> None:
    """Silence is counted apart."""
    expected = GOLD[name][0][1]

    assert {verify(name, answer, expected).kind for answer in ("", "  ", "\n\n")} == {OutcomeKind.EMPTY}


@pytest.mark.parametrize("name", VERIFIERS)
def test_an_expectation_nobody_could_meet_is_invalid(name: str) -> None:
    """A broken item blames the suite, whatever was answered."""
    for expected in UNUSABLE[name]:
        for answer in ("Paris", "", expected):
            assert verify(name, answer, expected).kind is OutcomeKind.INVALID, (answer, expected)


@pytest.mark.parametrize("name", VERIFIERS)
@given(answer=st.text(), expected=st.text())
def test_no_text_breaks_a_verifier(name: str, answer: str, expected: str) -> None:
    """Whatever comes in, an outcome comes out, and the same one each time."""
    outcome = verify(name, answer, expected)

    assert outcome == verify(name, answer, expected)
    assert (outcome.score is not None) == (outcome.kind is OutcomeKind.SCORED)


def test_choice_calls_more_than_a_word_wrong_format() -> None:
    """A sentence around the label is not a label; another label is simply wrong."""
    assert verify("choice", "It is L2", "L2").kind is OutcomeKind.WRONG_FORMAT
    assert verify("choice", "L1", "L2").score == 0.0


def test_what_exact_does_not_see() -> None:
    """The documented weakness stays documented: a list of everything holds the fact."""
    assert verify("exact", "Rome, Oslo, Paris, Bern", '["Paris"]').score == 1.0


def test_an_unknown_verifier_is_named_with_the_known_ones() -> None:
    """A typo in a suite ends in one clear line."""
    with pytest.raises(ContractError, match=r"'chioce'.*choice, exact"):
        verify("chioce", "a", "a")


def test_every_verifier_has_gold_and_wrong_answers() -> None:
    """A new line in the table needs its rows here."""
    assert set(VERIFIERS) == set(GOLD) == set(WRONG) == set(UNUSABLE)
