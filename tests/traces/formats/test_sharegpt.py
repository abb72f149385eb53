"""ShareGPT conversations: calls in turns, tags and parts, results, labels."""

import orjson
import pytest
from hypothesis import given

from rsi.traces.formats import fields, sharegpt
from rsi.traces.rows import Json, JsonObject, Place, Reason, Refusal, Rows
from tests.traces.inputs import SHARED
from tests.traces.mutated import mutated, records, sample

HERE = Place("default", None, "file", 1, 0)
ALL = sample("sharegpt.jsonl")
FOLDER = SHARED / "sharegpt"
needs_shared = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no shared trace files at {FOLDER}")


def read(record: JsonObject) -> Rows:
    (found,) = sharegpt.read(record, HERE)
    assert isinstance(found, Rows)
    return found


def said(found: Rows) -> list[tuple[str, str | None]]:
    return [(one.role, one.content) for one in found.messages]


def called(found: Rows) -> list[tuple[str, str | None, str | None, str]]:
    return [(one.name, one.arguments, one.result, one.status) for one in found.tool_calls]


def test_calls_and_observations_in_turns() -> None:
    """Several calls in one turn, arguments as object and as text; observations answer in order."""
    found = read(ALL[0])
    assert found.trace is not None
    assert found.trace.native_id == "sg-1"
    assert orjson.loads(found.trace.metadata or "") == {"tools": ["water", "forecast"]}
    assert said(found) == [
        ("system", "You look after a garden."),
        ("user", "Water the leeks and tell me tomorrow's weather."),
        ("assistant", None),
        ("tool", "done"),
        ("tool", '{"sky": "rain"}'),
        ("assistant", "Watered; rain tomorrow."),
    ]
    assert called(found) == [
        ("water", '{"bed":"leeks"}', "done", "ok"),
        ("forecast", '{"days":1}', '{"sky": "rain"}', "ok"),
    ]


def test_calls_results_and_thoughts_in_tags() -> None:
    """Taken out of the text, which keeps the rest."""
    found = read(ALL[1])
    assert said(found)[2:4] == [("assistant", "Let me count."), ("tool", "12")]
    assert found.messages[2].reasoning == "Count them."
    assert called(found) == [("count", '{"fruit":"pear"}', "12", "ok")]


def test_parts_with_values() -> None:
    """Text, reasoning and calls as parts; one tool message with the results of two calls."""
    found = read(ALL[2])
    assert said(found) == [
        ("user", "Areas of beds 1 and 2?"),
        ("assistant", None),
        ("tool", "4 m2"),
        ("tool", "6 m2"),
        ("assistant", "4 and 6 square metres."),
    ]
    assert found.messages[1].reasoning == "Two calls."
    assert called(found) == [("area", '{"bed":1}', "4 m2", "ok"), ("area", '{"bed":2}', "6 m2", "ok")]


def test_a_label_is_a_score() -> None:
    """Thumbs under the name that this family gives them."""
    (score,) = read(ALL[3]).scores
    assert (score.name, score.value, score.source, score.basis) == ("feedback", 0.0, "human", "label")


def test_a_call_that_is_no_json_is_kept_as_it_stands() -> None:
    """With the state that says so."""
    record: JsonObject = {
        "conversations": [{"from": "human", "value": "x"}, {"from": "function_call", "value": "f(1)"}]
    }
    (call,) = read(record).tool_calls
    assert (call.name, call.arguments, call.arguments_state, call.arguments_raw) == (
        "unnamed",
        None,
        "invalid",
        "f(1)",
    )


def test_text_that_looks_like_json_stays_text() -> None:
    """What a user or an observation says is not decoded."""
    turns: list[Json] = [
        {"from": "human", "value": '[{"name": "x"}]'},
        {"from": "observation", "value": '{"a": 1}'},
    ]
    assert said(read({"conversations": turns})) == [("user", '[{"name": "x"}]'), ("tool", '{"a": 1}')]


def test_names_of_speakers() -> None:
    """All in use, in any case; roles of the chat API are read as such."""
    speakers = ("human", "user", "gpt", "ChatGPT", "bard", "assistant", "system", "tool", "observation")
    turns: list[Json] = [{"from": one, "value": "x"} for one in speakers]
    turns.append({"role": "assistant", "content": [{"type": "text", "text": "y"}]})
    found = read({"conversations": turns})
    assert [one.role for one in found.messages] == [
        "user", "user", "assistant", "assistant", "assistant", "assistant", "system", "tool", "tool", "assistant",
    ]  # fmt: skip


def test_the_same_conversation_is_one_trace() -> None:
    """Named by what was said; an id alone does not make two one."""
    assert read(ALL[1]).trace_uid == read(ALL[1]).trace_uid
    other: JsonObject = {**ALL[0], "conversations": [{"from": "human", "value": "another"}]}
    assert read(other).trace_uid != read(ALL[0]).trace_uid


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"conversations": []},
        {"conversations": [{"text": "x"}]},
        {"messages": [{"role": "user", "content": "x"}]},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "x"}]}]},
        {"conversations": [{"from": "human", "value": "x"}], "chosen": {}, "rejected": {}},
    ],
)
def test_other_records_are_not(record: JsonObject) -> None:
    """Plain messages are the chat reader's, choices the preference reader's."""
    assert not sharegpt.matches(record)


def test_nobody_speaks() -> None:
    """Refused with the reason."""
    (found,) = sharegpt.read({"conversations": [{"from": "", "value": 5}]}, HERE)
    assert isinstance(found, Refusal)
    assert found.reason is Reason.BAD_VALUE


@given(mutated(ALL))
def test_damaged_records_never_raise(record: JsonObject) -> None:
    """Whatever is missing or of another type; and the same rows come out again."""
    if sharegpt.matches(record):
        assert sharegpt.read(record, HERE) == sharegpt.read(record, HERE)


@needs_shared
def test_recorded_calls() -> None:
    """Every call has its result; every turn is a message; what the set has twice is one trace."""
    listed = records(FOLDER / "llamafactory.glaive_toolcall_en_demo.json")
    assert all(sharegpt.matches(one) for one in listed)
    found = [read(one) for one in listed]
    calls = [call for one in found for call in one.tool_calls]
    assert (len(calls), {one.status for one in calls}, {one.arguments_state for one in calls}) == (
        211,
        {"ok"},
        {"object"},
    )
    assert [len(one.messages) for one in found] == [
        len(fields.listing(one["conversations"])) for one in listed
    ]
    assert (
        len({one.trace_uid for one in found})
        == len({orjson.dumps(one["conversations"]) for one in listed})
        == 262
    )


@needs_shared
def test_recorded_parts() -> None:
    """The calls that end a conversation have no result; all others do."""
    listed = records(FOLDER / "llamafactory.reason_tool_use_demo_50.jsonl")
    assert all(sharegpt.matches(one) for one in listed)
    calls = [call for one in listed for call in read(one).tool_calls]
    states = [one.status for one in calls]
    assert (len(states), states.count("no_result")) == (68, 20)
    assert sum(one.reasoning is not None for record in listed for one in read(record).messages) == 112
