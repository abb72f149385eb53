"""Messages of the user interface of Vercel's AI SDK."""

from hypothesis import given

from rsi.traces.formats.turns import turns
from rsi.traces.rows import Json, JsonObject
from tests.traces.mutated import mutated

DONE: JsonObject = {"type": "tool-weather", "toolCallId": "c1", "state": "output-available",
                    "input": {"town": "Graz"}, "output": {"rain": False}}  # fmt: skip
FAILED: JsonObject = {"type": "dynamic-tool", "toolName": "map", "toolCallId": "c2", "state": "output-error",
                      "input": {}, "errorText": "no map"}  # fmt: skip
WAITING: JsonObject = {
    "type": "tool-mail",
    "toolCallId": "c3",
    "state": "input-available",
    "input": {"to": "a"},
}
MESSAGE: JsonObject = {
    "id": "m2",
    "role": "assistant",
    "parts": [
        {"type": "step-start"},
        {"type": "reasoning", "text": "I look.", "state": "done"},
        DONE,
        FAILED,
        {"type": "source-url", "url": "https://example.com"},
        {"type": "step-start"},
        {"type": "text", "text": "Dry.", "state": "done"},
        WAITING,
    ],
}
OLDER: JsonObject = {
    "role": "assistant",
    "content": "It is dry.",
    "parts": [
        {"type": "tool-invocation", "toolInvocation": {"state": "result", "toolCallId": "c1", "toolName": "weather",
                                                       "args": {"town": "Graz"}, "result": "dry"}},
        {"type": "text", "text": "It is dry."},
    ],
}  # fmt: skip


def test_steps_of_a_message_are_turns() -> None:
    """A call before its result, and what was said knowing the result behind it."""
    found = turns([MESSAGE])
    assert [(one.role, one.content, one.reasoning, one.answers, one.failed) for one in found] == [
        ("assistant", None, "I look.", None, False),
        ("tool", '{"rain":false}', None, "c1", False),
        ("tool", "no map", None, "c2", True),
        ("assistant", "Dry.", None, None, False),
    ]
    assert [[(call.native_id, call.name, call.arguments) for call in one.calls] for one in found] == [
        [("c1", "weather", '{"town":"Graz"}'), ("c2", "map", "{}")],
        [],
        [],
        [("c3", "mail", '{"to":"a"}')],
    ]


def test_invocations_of_version_4() -> None:
    """What stands in `content` too is said once."""
    found = turns([OLDER])
    assert [(one.role, one.content) for one in found] == [
        ("assistant", None),
        ("tool", "dry"),
        ("assistant", "It is dry."),
    ]
    assert [call.name for call in found[0].calls] == ["weather"]


def test_messages_for_models_are_as_they_were() -> None:
    """Parts without a state are not the interface's."""
    message: Json = {
        "role": "assistant",
        "content": [{"type": "tool-call", "toolCallId": "c", "toolName": "t", "input": {}}],
    }
    assert [call.name for one in turns([message]) for call in one.calls] == ["t"]
    parts: Json = {"role": "user", "parts": [{"type": "text", "text": "Hello?"}]}
    assert [one.content for one in turns([parts])] == ["Hello?"]


@given(mutated([MESSAGE, OLDER]))
def test_damaged_messages_never_raise(message: JsonObject) -> None:
    """Whatever stands in the parts."""
    turns([message])
