"""Streams put together: chunks, events, calls in pieces, streams that are cut."""

import pytest
from hypothesis import given

from rsi.traces.formats import openai_stream
from rsi.traces.formats.assembly import unstreamed
from rsi.traces.rows import Json, JsonObject, Place, Reason, Refusal, Rows
from tests.traces.mutated import mutated, sample

HERE = Place("default", None, "file", 1, 0)
ALL = sample("openai_stream.jsonl")
TEXT, CALLS, RESPONSES, MESSAGE, CUT, ASKED = ALL


def read(record: JsonObject) -> Rows:
    (found,) = openai_stream.read(record, HERE)
    assert isinstance(found, Rows)
    return found


def events(record: JsonObject) -> list[JsonObject]:
    listed = record.get("chunks", record.get("events"))
    assert isinstance(listed, list)
    return [one for one in listed if isinstance(one, dict)]


def said(found: Rows) -> list[tuple[str, str | None, str]]:
    return [(one.role, one.content, one.content_state) for one in found.messages]


@pytest.mark.parametrize("record", ALL)
def test_its_records_are_its_own(record: JsonObject) -> None:
    """By their keys."""
    assert openai_stream.matches(record)


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"chunks": []},
        {"chunks": ["x"]},
        {"type": "message"},
        {"object": "chat.completion"},
        {"events": [{}]},
    ],
)
def test_other_records_are_not(record: JsonObject) -> None:
    """A list of chunks of something else."""
    assert not openai_stream.matches(record)


def test_text_and_usage() -> None:
    """The tokens stand on the last chunk, which has no choice."""
    found = read(TEXT)
    assert said(found) == [("assistant", "Plant garlic.", "full")]
    (span,) = found.spans
    tokens = (span.input_tokens, span.output_tokens, span.cache_read_tokens)
    assert (*tokens, span.finish_reason, span.model) == (20, 4, 8, "stop", "garden-1")
    assert found.trace is not None
    assert (found.trace.start_ns, found.trace.native_id) == (1_760_000_200_000_000_000, "chatcmpl-s1")


def test_arguments_in_pieces() -> None:
    """Put together by index, though they are mixed."""
    found = read(CALLS)
    assert [(one.native_id, one.name, one.arguments) for one in found.tool_calls] == [
        ("call_w", "water", '{"bed":"leeks"}'),
        ("call_f", "forecast", '{"days":3}'),
    ]


def test_events_of_the_responses_api() -> None:
    """The last event has the whole response."""
    found = read(RESPONSES)
    assert said(found) == [("assistant", "Mulch it.", "full")]
    assert [(one.input_tokens, one.reasoning_tokens, one.end_ns) for one in found.spans] == [
        (9, 1, 1_760_000_211_000_000_000)
    ]
    assert [read(events(RESPONSES)[-1]).trace_uid] == [found.trace_uid]


def test_events_of_the_messages_api() -> None:
    """Thinking, a call whose input came as pieces of text, usage of the first and the last event."""
    found = read(MESSAGE)
    assert [(one.content, one.reasoning) for one in found.messages] == [(None, "They ask about water.")]
    assert [(one.name, one.arguments) for one in found.tool_calls] == [("water", '{"bed":"peas"}')]
    (span,) = found.spans
    tokens = (span.input_tokens, span.output_tokens, span.cache_read_tokens)
    assert (*tokens, span.finish_reason) == (42, 25, 30, "tool_use")


def test_what_is_beside_the_chunks() -> None:
    """A trace id and the request."""
    found = read(ASKED)
    assert found.native == "stream-6"
    assert said(found) == [("user", "And garlic?", "full"), ("assistant", "In October.", "full")]


@pytest.mark.parametrize("record", [TEXT, RESPONSES, MESSAGE, CALLS])
@pytest.mark.parametrize("kept", [3, 4])
def test_a_cut_stream_is_the_same_trace_and_message(record: JsonObject, kept: int) -> None:
    """So that what had come when it was read first gives way to all of it."""
    part, whole = read({"chunks": [*events(record)[:kept]]}), read(record)
    assert part.trace_uid == whole.trace_uid
    assert [one.span_uid for one in part.spans] == [one.span_uid for one in whole.spans]
    assert [one.message_uid for one in part.messages] == [one.message_uid for one in whole.messages]


def test_a_cut_stream_says_so() -> None:
    """By the state of its message; the words that had come are kept."""
    assert said(read(CUT)) == [("assistant", "Lift the dahl", "cut")]
    assert said(read({"chunks": [*events(TEXT)[:3]]})) == [("assistant", "Plant garlic.", "cut")]
    assert said(read({"events": [*events(RESPONSES)[:4]]})) == [("assistant", "Mulch it.", "cut")]
    (call,) = read({"events": [*events(MESSAGE)[:8]]}).tool_calls
    assert (call.arguments, call.arguments_state, call.arguments_raw) == (None, "invalid", '{"bed": "pe')


def test_an_id_that_two_streams_share() -> None:
    """They begin with other words: two traces."""
    first = read(TEXT)
    other: list[Json] = [
        {**one, "choices": [{"index": 0, "delta": {"content": "No."}}]} for one in events(TEXT)[:1]
    ]
    assert read({"chunks": other}).trace_uid != first.trace_uid


def test_choices_thoughts_and_the_older_call() -> None:
    """All choices are put together; the first is the conversation, the others stay beside it."""
    deltas: tuple[tuple[int, JsonObject], ...] = (
        (1, {"content": "B"}),
        (0, {"reasoning_content": "Hm"}),
        (0, {"reasoning_content": "m."}),
        (0, {"content": "A", "function_call": {"name": "f", "arguments": '{"a"'}}),
        (0, {"function_call": {"arguments": ": 1}"}}),
        (1, {"content": "C"}),
    )
    chunks: list[Json] = [
        {"object": "chat.completion.chunk", "id": "x", "choices": [{"index": index, "delta": delta}]}
        for index, delta in deltas
    ]
    found = read({"chunks": chunks})
    assert [(one.content, one.reasoning) for one in found.messages] == [("A", "Hmm.")]
    assert [(one.name, one.arguments) for one in found.tool_calls] == [("f", '{"a":1}')]
    assert '"BC"' in (found.spans[0].attributes or "")


def test_a_stream_that_breaks() -> None:
    """What had come, and the error that came instead of the rest."""
    broken: list[Json] = [*events(TEXT)[:2], {"error": {"message": "the engine broke"}}]
    found = read({"chunks": broken})
    assert found.trace is not None
    assert (found.trace.output_text, found.trace.error) == ("Plant ", "the engine broke")


@pytest.mark.parametrize(
    "record",
    [
        {"type": "response.output_text.delta", "delta": "x", "output_index": 0},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x"}},
        {"type": "ping"},
        {
            "object": "chat.completion.chunk",
            "id": "x",
            "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
        },
    ],
)
def test_an_event_that_says_nothing_by_itself(record: JsonObject) -> None:
    """Or not of which stream it is: refused."""
    (found,) = openai_stream.read(record, HERE)
    assert isinstance(found, Refusal)
    assert found.reason is Reason.MISSING_FIELD


@pytest.mark.parametrize("record", [TEXT, CALLS, RESPONSES, MESSAGE, ASKED])
def test_a_stream_put_together_beforehand_reads_the_same(record: JsonObject) -> None:
    """Redaction looks at whole words; ids do not depend on when it was put together."""
    whole = unstreamed(record)
    assert whole is not record
    assert openai_stream.matches(whole)
    assert read(whole) == read(record)


@given(mutated(ALL))
def test_damaged_records_never_raise(record: JsonObject) -> None:
    """Whatever is missing or of another type; and the same rows come out again."""
    if openai_stream.matches(record):
        assert openai_stream.read(record, HERE) == openai_stream.read(record, HERE)
