"""Instructions with one answer: texts, messages, history, and records that are something else."""

import pytest
from hypothesis import given

from rsi.traces.formats import formats, instruction
from rsi.traces.rows import JsonObject, Place, Reason, Refusal, Rows
from tests.traces.mutated import mutated, sample

HERE = Place("default", None, "file", 1, 0)
ALL = sample("instruction.jsonl")


def read(record: JsonObject) -> Rows:
    (found,) = instruction.read(record, HERE)
    assert isinstance(found, Rows)
    return found


def test_every_spelling_becomes_a_conversation() -> None:
    """Question and answer in turn, behind the system prompt and what was said before."""
    heard = [[(one.role, one.content) for one in read(record).messages] for record in ALL]
    assert heard[0] == [("user", "Name a plant for a dry bed.\nIt gets full sun."), ("assistant", "Sedum.")]
    assert [role for role, _ in heard[1]] == ["system", "user", "assistant", "user", "assistant"]
    assert heard[1][3] == ("user", "And one for shade?")
    assert heard[2] == [("user", "How often does thyme want water?"), ("assistant", "Once a week.")]
    assert heard[3] == [("user", "Is mint invasive?"), ("assistant", "Very.")]
    assert heard[4] == [("user", "When do I sow peas?"), ("assistant", "In March.")]


def test_what_stands_beside_is_kept() -> None:
    """Model and time where they are said; an id is part of the name."""
    third, fifth = read(ALL[2]).trace, read(ALL[4]).trace
    assert third is not None
    assert fifth is not None
    assert (third.model, third.start_ns, third.input_text) == (
        "garden-1",
        1_760_000_400_000_000_000,
        "How often does thyme want water?",
    )
    assert fifth.native_id == "q-5"


def test_each_record_finds_this_reader() -> None:
    """No other reader takes them first."""
    assert [next(one for one in formats() if one.matches(record)).NAME for record in ALL] == [
        "instruction"
    ] * 5


@pytest.mark.parametrize(
    "other",
    [
        {"prompt": "a", "chosen": "b", "rejected": "c"},
        {"prompt": "a", "completion": "b", "label": True},
        {"messages": [{"role": "user", "content": "a"}], "response": "b", "prompt": "c"},
        {"conversations": [{"from": "human", "value": "a"}], "instruction": "b", "output": "c"},
    ],
)
def test_judged_answers_and_conversations_are_others(other: JsonObject) -> None:
    """Records that say more go to the reader that knows it."""
    assert next(one for one in formats() if one.matches(other)).NAME != "instruction"


def test_no_text_is_refused() -> None:
    """An empty answer is no conversation."""
    (found,) = instruction.read({"instruction": "a", "output": ""}, HERE)
    assert isinstance(found, Refusal)
    assert (found.reason, found.detail) == (Reason.BAD_VALUE, "instruction and output hold no text")


@given(mutated(ALL))
def test_damaged_records_never_raise(record: JsonObject) -> None:
    """Rows or refusals, whatever is missing or of the wrong type."""
    assert all(isinstance(one, Rows | Refusal) for one in instruction.read(record, HERE))
