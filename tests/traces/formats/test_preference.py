"""Preferences: each answer a trace, the rejected one with what would have been right."""

import pytest
from hypothesis import given

from rsi.traces.formats import preference
from rsi.traces.rows import Json, JsonObject, Place, Reason, Refusal, Rows
from tests.traces.mutated import mutated, sample

HERE = Place("default", None, "file", 1, 0)
ALL = sample("preference.jsonl")


def read(record: JsonObject) -> list[Rows]:
    found = preference.read(record, HERE)
    assert all(isinstance(one, Rows) for one in found)
    return [one for one in found if isinstance(one, Rows)]


def told(found: Rows) -> tuple[list[tuple[str, str | None]], float | None, str | None]:
    (score,) = found.scores
    return [(one.role, one.content) for one in found.messages], score.value, score.correction


def test_two_answers_are_two_traces() -> None:
    """Both with the prompt; who chose is kept, and both are on one side of the held-out split."""
    chosen, rejected = read(ALL[0])
    assert told(chosen) == ([("user", "When do I prune a plum?"), ("assistant", "In summer.")], 1.0, None)
    assert told(rejected) == (
        [("user", "When do I prune a plum?"), ("assistant", "In winter.")],
        0.0,
        "In summer.",
    )
    assert [one.scores[0].annotator for one in (chosen, rejected)] == ["reader-3", "reader-3"]
    assert chosen.session == rejected.session
    assert chosen.session is not None
    assert chosen.trace_uid != rejected.trace_uid
    assert [one.trace.native_id for one in (chosen, rejected) if one.trace] == ["p-1.chosen", "p-1.rejected"]


@pytest.mark.parametrize(
    ("at", "prompt", "right", "wrong"),
    [
        (1, [("user", "Name a hedge plant.")], "Hornbeam.", "Tulip."),
        (2, [("user", "Hi")], "Hello!", "Go away."),
        (3, [("user", "Sow beans when?")], "In May.", "In January."),
        (4, [("system", "Be kind."), ("user", "My fern died.")], "I am sorry.", "So what."),
        (5, [("user", "Is moss bad?")], "No, it holds water.", "Yes."),
        (6, [("user", "Translate to Latin.\noak")], "quercus", "fagus"),
    ],
)
def test_spellings(at: int, prompt: list[tuple[str, str]], right: str, wrong: str) -> None:
    """Messages, the prompt inside both, ShareGPT, preferred outputs, one text, an instruction."""
    assert preference.matches(ALL[at])
    assert [told(one) for one in read(ALL[at])] == [
        ([*prompt, ("assistant", right)], 1.0, None),
        ([*prompt, ("assistant", wrong)], 0.0, right),
    ]


def test_what_an_answer_is_worth_is_kept() -> None:
    """Beside the choice, since it is on a scale of its own."""
    assert [one.scores[0].said for one in read(ALL[1])] == ["8.5", "2"]


def test_one_answer_with_a_label() -> None:
    """Is one trace."""
    (found,) = read(ALL[7])
    assert told(found) == ([("user", "Colour of a beech leaf?"), ("assistant", "Blue.")], 0.0, None)


def test_a_prompt_inside_the_answers_is_not_repeated() -> None:
    """Although it stands outside of them as well."""
    whole: list[Json] = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]
    record: JsonObject = {
        "prompt": "Hi",
        "chosen": whole,
        "rejected": [whole[0], {"role": "assistant", "content": ""}],
    }
    assert [len(one.messages) for one in read(record)] == [2, 2]


def test_equal_answers_are_still_two() -> None:
    """One was chosen and one rejected, whatever they say."""
    chosen, rejected = read({"prompt": "a", "chosen": "b", "rejected": "b"})
    assert chosen.trace_uid != rejected.trace_uid


@pytest.mark.parametrize(
    "record", [{}, {"chosen": "a"}, {"rejected": "b"}, {"completion": "a", "label": True}]
)
def test_other_records_are_not(record: JsonObject) -> None:
    """Half of a choice is none."""
    assert not preference.matches(record)


@pytest.mark.parametrize(
    "record", [{"chosen": None, "rejected": 5}, {"prompt": "a", "chosen": "", "rejected": []}]
)
def test_no_answer(record: JsonObject) -> None:
    """Is refused."""
    (found,) = preference.read(record, HERE)
    assert isinstance(found, Refusal)
    assert found.reason is Reason.BAD_VALUE


@given(mutated(ALL))
def test_damaged_records_never_raise(record: JsonObject) -> None:
    """Whatever is missing or of another type; and the same rows come out again."""
    if preference.matches(record):
        assert preference.read(record, HERE) == preference.read(record, HERE)
