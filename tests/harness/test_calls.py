"""The notation of calls."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi.environments.desk.tools import TOOLS
from rsi.errors import ContractError
from rsi.harness import calls
from rsi.harness.calls import Misfit, Said, Unreadable
from rsi.records import ToolCall

DESK = calls.tools_of(TOOLS)
WRITABLE = st.text(st.characters(exclude_characters="\n\r", exclude_categories=("Cs",)), max_size=40).map(
    lambda text: text.replace("'", "").strip()
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("order(117)", Said("order", (("", "117"),), stop=False)),
        ("  refund( 117 ,40 )\n", Said("refund", (("", "117"), ("", "40")), stop=False)),
        (
            "refund(order=117, amount=40) done",
            Said("refund", (("order", "117"), ("amount", "40")), stop=True),
        ),
        ("customer(Ana Ruiz)", Said("customer", (("", "Ana Ruiz"),), stop=False)),
        ('note(512, "a, (b) = c")', Said("note", (("", "512"), ("", "a, (b) = c")), stop=False)),
        ("note(512, '')", Said("note", (("", "512"), ("", "")), stop=False)),
        ("order()", Said("order", (), stop=False)),
        ("done", Said("", (), stop=True)),
    ],
)
def test_an_answer_is_taken_apart(text, said):
    """Positions, names, quotes, bare texts and the stop word."""
    assert calls.read(text, "done") == said


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        "I will refund the order.",
        "order(117); order(118)",
        "order(117)\norder(118)",
        "refund(order(117), 40)",
        "refund(117 40,)",
        "refund(117,, 40)",
        "refund(,117)",
        "note(512, 'open)",
        "done order(117)",
        "done done",
        "__import__('os').system('true')",
        "[order(117)]",
        '{"name": "order", "arguments": {"id": 117}}',
        "order(117" + " " * calls.LONGEST + ")",
        "(" * 300,
    ],
)
def test_what_is_no_call_is_unreadable(text):
    """Prose, several calls, calls in calls, other notations, and too much of anything."""
    with pytest.raises(Unreadable):
        calls.read(text, "done")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("pay(117)", "no tool pay; there are order, ticket"),
        ("refund(117)", "amount is missing; write refund(order, amount)"),
        ("refund(117, 40, 2)", "write refund(order, amount)"),
        ("refund(117, order=117)", "write refund(order, amount)"),
        ("refund(117, price=4)", "write refund(order, amount)"),
        ("refund(117, forty)", "amount must be a whole number, not forty"),
        ("refund(117, 4.5)", "amount must be a whole number, not 4.5"),
        (f"refund(117, {'9' * 30})", "amount must be a whole number"),
        ("status(512, shut)", "state must be open or hold or closed, not shut"),
    ],
)
def test_a_call_that_fits_no_tool_says_how_to_write_it(text, says):
    """The model reads it and may do better."""
    with pytest.raises(Misfit, match=says.replace("(", r"\(").replace(")", r"\)")):
        calls.fit(calls.read(text, "done"), DESK)


def test_arguments_come_in_the_types_of_the_schema():
    """Whole numbers, numbers and texts, in the schema's order."""
    tool = {"name": "f", "parameters": {"properties": {"a": {"type": "number"}, "b": {"type": "string"}}}}
    tools = calls.tools_of([tool])

    assert calls.fit(calls.read("f(b=7, a=2)", "done"), tools).arguments == {"a": 2.0, "b": "7"}
    assert list(calls.fit(calls.read("f(b=7, a=2)", "done"), tools).arguments) == ["a", "b"]


NOTES = st.builds(
    lambda key, text: ToolCall(name="note", arguments={"ticket": key, "text": text}),
    st.integers(0, 999),
    WRITABLE,
)
REFUNDS = st.builds(
    lambda key, amount: ToolCall(name="refund", arguments={"order": key, "amount": amount}),
    st.integers(-5, 999),
    st.integers(-9, 99),
)


@given(NOTES | REFUNDS, st.booleans())
def test_what_is_written_is_read_back(call, last):
    """For every call of the desk, with and without the stop word behind it."""
    text = calls.write(call, DESK) + (" done" if last else "")
    said = calls.read(text, "done")

    assert (calls.fit(said, DESK), said.stop) == (call, last)


@given(st.text(max_size=calls.LONGEST + 50) | st.from_regex(r"[a-z]{1,6}\([^\n]{0,30}\)( done)?"))
def test_no_answer_raises_anything_else(text):
    """Whatever is said is a call, unreadable, or misfit."""
    try:
        said = calls.read(text, "done")
        if said.name:
            calls.fit(said, DESK)
    except (Unreadable, Misfit) as error:
        assert str(error)


def test_what_cannot_be_written_is_refused():
    """Neither a text with both quotes, nor a call of no tool."""
    for call in (
        ToolCall(name="note", arguments={"ticket": 1, "text": "\"'"}),
        ToolCall(name="note", arguments={"ticket": 1, "text": "a\nb"}),
        ToolCall(name="note", arguments={"ticket": 1, "words": "a"}),
        ToolCall(name="pay", arguments={}),
    ):
        with pytest.raises(ContractError):
            calls.write(call, DESK)


def test_the_prompt_shows_signatures_rules_and_the_stop_word():
    """All that the model is told, in the short form."""
    text = calls.system_text(DESK, "Be $kind.", "done")

    assert "status(ticket, open|hold|closed)" in text
    assert text.endswith("Be $kind.") and "write done" in text


def test_a_schema_that_the_notation_cannot_write_is_refused():
    """Lists and objects have no short form."""
    bad = {"name": "f", "parameters": {"properties": {"a": {"type": "array"}}}}
    with pytest.raises(ContractError, match="'a' of tool 'f' is a array"):
        calls.tools_of([bad])
    with pytest.raises(ContractError, match="not a function"):
        calls.tools_of([{"function": {"parameters": {}}}])
