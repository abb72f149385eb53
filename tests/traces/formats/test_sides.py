"""What was said on the two sides of an operation, in the spellings of frameworks."""

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rsi.traces.formats.sides import answered, asked, dumped, opened, outcome
from rsi.traces.rows import Json, JsonObject
from tests.traces.mutated import ODD

HI: Json = {"role": "user", "content": "Hi"}
HO: Json = {"role": "assistant", "content": "Ho"}
LC: Json = {"lc": 1, "type": "constructor", "id": ["langchain", "AIMessage"], "kwargs": {"content": "Ho"}}
CALL: Json = {"toolCallId": "c1", "toolName": "dig", "input": '{"bed": 1}'}


def short(turns: object) -> list[tuple[str, str | None]]:
    return [(one.role, one.content) for one in turns]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("value", "expected", "is_chat"),
    [
        ([HI], [("user", "Hi")], True),
        ([[HI]], [("user", "Hi")], True),
        (HI, [("user", "Hi")], True),
        (orjson.dumps([HI]).decode(), [("user", "Hi")], True),
        (orjson.dumps(orjson.dumps({"messages": [HI]}).decode()).decode(), [("user", "Hi")], True),
        ({"messages": [[{"type": "human", "content": "Hi"}]]}, [("user", "Hi")], True),
        ({"messages": [LC]}, [("assistant", "Ho")], True),
        ({"system": "Be brief.", "messages": [HI]}, [("system", "Be brief."), ("user", "Hi")], True),
        ({"instructions": "Be brief.", "input": [HI]}, [("system", "Be brief."), ("user", "Hi")], True),
        ({"contents": "Hi"}, [("user", "Hi")], True),
        (
            {"contents": [{"role": "model", "parts": [{"text": "Ho"}]}, {"text": "Hi"}],
             "config": {"system_instruction": {"parts": [{"text": "Be brief."}]}}},
            [("system", "Be brief."), ("assistant", "Ho"), ("user", "Hi")],
            True,
        ),
        ({"args": [], "kwargs": {"messages": [HI]}}, [("user", "Hi")], True),
        ({"chat_history": [HI, HO], "question": "Why?"}, [("user", "Hi"), ("assistant", "Ho"), ("user", "Why?")], True),
        (
            [HI, {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "name": "dig", "args": {}}]},
             {"role": "dig", "content": "done"}],
            [("user", "Hi"), ("assistant", ""), ("tool", "done")],
            True,
        ),
        ([HI, {"role": "tool", "content": {"type": "function", "function": {"name": "dig"}}}], [("user", "Hi")], True),
        ("Hi", [("user", "Hi")], False),
        ({"prompt": "Hi", "system": "Be brief."}, [("system", "Be brief."), ("user", "Hi")], False),
        ({"prompts": ["Hi"]}, [("user", "Hi")], False),
        ({"messages": ["Human: Hi"]}, [("user", "Human: Hi")], False),
        ({"args": ["Hi"], "kwargs": {}}, [("user", "Hi")], False),
        ({"city": "Tokyo"}, [], False),
        ([{"type": "function", "function": {"name": "dig"}}], [], False),
        ({"messages": 5}, [], False),
        (None, [], False),
        ("", [], False),
    ],
)  # fmt: skip
def test_what_was_asked(value: Json, expected: list[tuple[str, str | None]], is_chat: bool) -> None:
    """Messages wherever they are; plain text; data says nothing."""
    found = asked(value)
    assert [(role, text or "") for role, text in short(found.turns)] == expected
    assert found.is_chat == is_chat


@pytest.mark.parametrize(
    ("value", "expected", "is_chat"),
    [
        (HO, [("assistant", "Ho")], True),
        ({"content": [{"type": "text", "text": "Ho"}], "role": "assistant"}, [("assistant", "Ho")], True),
        ([{"type": "text", "text": "Ho"}], [("assistant", "Ho")], True),
        ({"choices": [{"message": {"content": "Ho"}}, {"message": {"content": "Or ho"}}]}, [("assistant", "Ho")], True),
        ({"choices": [{"text": "Ho"}]}, [("assistant", "Ho")], True),
        ({"candidates": [{"content": {"parts": [{"text": "Ho"}], "role": "model"}}]}, [("assistant", "Ho")], True),
        ({"generations": [[{"text": "Ho", "message": LC}]]}, [("assistant", "Ho")], True),
        ({"index": 0, "message": {"content": "Ho"}}, [("assistant", "Ho")], True),
        (
            {"object": "response", "output": [{"type": "message", "role": "assistant", "content": "Ho"}]},
            [("assistant", "Ho")],
            True,
        ),
        ([CALL], [("assistant", "")], True),
        ({"text": "Ho", "toolCalls": [CALL]}, [("assistant", "Ho")], True),
        ("Ho", [("assistant", "Ho")], False),
        ({"answer": "Ho"}, [("assistant", "Ho")], False),
        ({"anything": "Ho"}, [], False),
        ({"score": 5, "why": {}}, [], False),
        ([1, 2], [], False),
        (None, [], False),
    ],
)  # fmt: skip
def test_what_was_answered(value: Json, expected: list[tuple[str, str | None]], is_chat: bool) -> None:
    """The first choice of a response, calls without a message, plain text in known fields."""
    found = answered(value)
    assert [(role, text or "") for role, text in short(found.turns)] == expected
    assert found.is_chat == is_chat


def test_a_response_says_who_answered_and_why_it_ended() -> None:
    """OpenAI's at the top, LangChain's inside the message."""
    plain = answered({"id": "r", "object": "x", "model": "m", "choices": [{"message": HO, "finish_reason": "stop"}],
                      "usage": {"prompt_tokens": 3}}).envelope  # fmt: skip
    assert (plain.response_id, plain.model, plain.finish_reason, plain.usage) == (
        "r",
        "m",
        "stop",
        {"prompt_tokens": 3},
    )
    told: JsonObject = {
        "usage_metadata": {"input_tokens": 3},
        "response_metadata": {"model_name": "m", "finish_reason": "stop"},
    }
    message: Json = {"lc": 1, "id": ["AIMessage"], "kwargs": {"content": "Ho", **told}}
    inner = answered({"generations": [[{"text": "Ho", "message": message}]]}).envelope
    assert (inner.model, inner.finish_reason, inner.usage) == ("m", "stop", {"input_tokens": 3})


@pytest.mark.parametrize("value", ["Hi", "[broken", "12", "", None, 5, {"a": "[1]"}])
def test_text_that_is_no_json_stays_text(value: Json) -> None:
    """And values stay values."""
    assert opened(value) == value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("done", ("done", False)),
        ('{"low": -2}', ('{"low": -2}', False)),
        ({"low": -2}, ('{"low":-2}', False)),
        ({"content": [{"type": "text", "text": "done"}], "isError": True}, ("done", True)),
        ({"lc": 1, "id": ["ToolMessage"], "kwargs": {"content": "no", "status": "error"}}, ("no", True)),
        ("content='it\\'s\\nwet' name='soil' tool_call_id='c1'", ("it's\nwet", False)),
        ("content=\"it's\" id='7' tool_call_id='c1' artifact={'a': 'b'} status='error'", ("it's", True)),
        ("content='wet' and more", ("content='wet' and more", False)),
        (None, (None, False)),
    ],
)
def test_what_a_tool_gave_back(value: Json, expected: tuple[str | None, bool]) -> None:
    """Text, JSON, a message, MCP's content; whether it says that it failed."""
    assert outcome(value) == expected


def test_dumped_state_is_told_from_messages() -> None:
    """LangChain's objects with their constructor's arguments."""
    assert dumped({"messages": [LC]})
    assert dumped([[LC]])
    assert not dumped({"messages": [HI]})
    assert not dumped("text")


KEYS = (
    "messages", "contents", "input", "args", "kwargs", "choices", "message", "output", "generations", "content", "role",
    "type", "lc", "prompt", "parts", "candidates", "config", "toolCalls",
)  # fmt: skip
SCRAPS = st.recursive(
    st.sampled_from([*ODD, HI, LC, CALL, "messages"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(KEYS),
        inner,
        max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@given(SCRAPS)
@example([{"messages": None, "type": []}])
def test_nothing_raises(value: Json) -> None:
    """Any value is read, or says nothing."""
    for found in (asked(value), answered(value)):
        assert all(isinstance(one.role, str) for one in found.turns)
    outcome(value)
    dumped(value)
