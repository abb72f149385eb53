"""LiteLLM's logs: rows with and without content, payloads, failures, spans."""

import orjson
import pytest
from hypothesis import given

from rsi.traces.formats import litellm
from rsi.traces.rows import JsonObject, Place, Rows, Span, Trace
from tests.traces.inputs import SHARED
from tests.traces.mutated import mutated, records, sample

HERE = Place("default", None, "file", 1, 0)
ALL = sample("litellm.jsonl")
ROW, PAYLOAD, FAILED, KEPT, HIDDEN, VECTOR, SPAN, PAGE = ALL
FOLDER = SHARED / "litellm"


def read(record: JsonObject) -> Rows:
    (found,) = litellm.read(record, HERE)
    assert isinstance(found, Rows)
    return found


def parts(record: JsonObject) -> tuple[Trace, Span]:
    found = read(record)
    assert found.trace is not None
    (span,) = found.spans
    return found.trace, span


@pytest.mark.parametrize("record", ALL)
def test_its_records_are_its_own(record: JsonObject) -> None:
    """By their keys."""
    assert litellm.matches(record)


@pytest.mark.parametrize(
    "record", [{}, {"spend": 1}, {"data": []}, {"data": [5]}, {"call_type": "x", "cost": 1}]
)
def test_other_records_are_not(record: JsonObject) -> None:
    """Half of the keys is not enough."""
    assert not litellm.matches(record)


def test_a_row_without_content() -> None:
    """Tokens, cost, times and who asked; "None", "{}" and "" are nothing."""
    trace, span = parts(ROW)
    assert (trace.native_id, trace.conversation, trace.user_ref) == ("chatcmpl-1", "s-1", "reader-1")
    assert (trace.input_text, trace.output_text, trace.agent) == (None, None, None)
    assert read(ROW).messages == ()
    assert (span.kind, span.name, span.provider, span.model) == (
        "llm",
        "acompletion",
        "openai",
        "small-model",
    )
    assert (span.input_tokens, span.output_tokens, span.cost_usd) == (30, 12, 0.00042)
    assert (span.cache_read_tokens, span.reasoning_tokens) == (16, 4)
    assert (span.status, span.time_state) == ("ok", "exact")
    assert (span.end_ns or 0) - (span.start_ns or 0) == 10**9
    kept = orjson.loads(trace.metadata or "")
    assert kept["request_tags"] == ["tag:night"]
    assert not {"cache_hit", "cache_key", "api_base", "team_id", "api_key"} & kept.keys()


def test_row_and_payload_of_one_call_are_one_trace() -> None:
    """The payload has what was said, under the same names."""
    row, payload = read(ROW), read(PAYLOAD)
    assert row.trace_uid == payload.trace_uid
    assert row.spans[0].span_uid == payload.spans[0].span_uid
    assert [one.role for one in payload.messages] == ["user", "assistant"]
    (call,) = payload.tool_calls
    assert (call.name, call.arguments, call.status) == ("find_book", '{"book":"B1"}', "no_result")
    span = payload.spans[0]
    assert (span.model, span.finish_reason, span.cost_usd) == ("small-model-2026-01", "tool_calls", 0.00042)
    assert orjson.loads(span.attributes or "") == {"model_parameters": {"temperature": 0}, "stream": False}


def test_the_same_id_at_another_time_is_another_trace() -> None:
    """Proxies repeat ids."""
    assert read(ROW).trace_uid != read({**ROW, "startTime": "2026-02-04T10:00:00.250000Z"}).trace_uid


def test_failed_calls_without_an_id_do_not_collide() -> None:
    """An empty id names nothing; what went wrong stands in the metadata."""
    trace, span = parts(FAILED)
    assert (trace.error, span.status, span.error) == ("too many requests", "error", "too many requests")
    assert read(FAILED).trace_uid != read({**FAILED, "session_id": "s-9"}).trace_uid
    assert read(FAILED).trace_uid != read({**FAILED, "request_id": "None", "model": "x"}).trace_uid


def test_content_of_the_kept_request() -> None:
    """The request that the proxy kept stands in for messages; a shortened text is marked; nobody is "None"."""
    found = read(KEPT)
    assert [(one.role, one.content, one.content_state) for one in found.messages] == [
        ("system", "Be brief.", "full"),
        ("user", "Who wrote B1?", "full"),
        ("assistant", "Ada did. (litellm_truncated 900 chars)", "cut"),
    ]
    assert found.trace is not None
    assert (found.trace.conversation, found.trace.user_ref) == (None, None)
    assert (found.spans[0].cache_write_tokens, found.spans[0].finish_reason) == (7, "end_turn")


def test_hidden_content_is_redacted() -> None:
    """In a payload that stands in a callback's arguments, of the Responses API."""
    assert [(one.role, one.content_state) for one in read(HIDDEN).messages] == [
        ("user", "redacted"),
        ("assistant", "redacted"),
    ]
    assert litellm.matches({"kwargs": HIDDEN})
    assert read({"kwargs": HIDDEN}) == read(HIDDEN)


def test_other_endpoints() -> None:
    """An embedding is no call of a chat model; its text is what was asked."""
    trace, span = parts(VECTOR)
    assert (span.kind, trace.input_text) == ("embedding", '"a line to embed"')


@pytest.mark.parametrize(
    ("response", "said"),
    [
        ("plain", "plain"), ('{"a": 1}', '{"a": 1}'), ("[1]", "[1]"), ("None", None), ({}, None), ([], None),
        ({"choices": [{"text": "older"}]}, "older"), ([{"type": "output_text", "text": "parts"}], "parts"),
    ],
)  # fmt: skip
def test_answers(response: object, said: str | None) -> None:
    """In whatever shape; an answer that is JSON stays text."""
    trace, _ = parts({**PAYLOAD, "response": response})
    assert trace.output_text == said


@pytest.mark.parametrize(
    ("messages", "asked"),
    [("plain", "plain"), ('{"a": 1}', '{"a": 1}'), ("{}", None), ([], None), ({"role": "user", "content": "x"}, "x"),
     ('[{"role": "user", "content": "y"}]', "y"), ({"messages": [{"role": "user", "content": "z"}]}, "z")],
)  # fmt: skip
def test_questions(messages: object, asked: str | None) -> None:
    """A prompt, messages, JSON of messages; a question that is JSON stays text."""
    trace, _ = parts({**PAYLOAD, "messages": messages})
    assert trace.input_text == asked


def test_a_span_of_its_exporter() -> None:
    """Usage as JSON text or not; an answer that is JSON; an error."""
    found = read(SPAN)
    assert found.trace is not None
    assert (found.trace.native_id, found.trace.conversation, found.trace.user_ref) == (
        "0a0b",
        "s-3",
        "reader-2",
    )
    assert (found.trace.release, found.trace.error) == ("r7", "cut off")
    (span,) = found.spans
    assert (span.native_id, span.native_parent_id, span.status) == ("0c", "0d", "error")
    assert (span.input_tokens, span.output_tokens, span.cache_read_tokens, span.cost_usd) == (3, 2, 1, 0.0001)
    assert [(one.role, one.content) for one in found.messages] == [
        ("user", "Hello"),
        ("assistant", '{"answer": 4}'),
    ]
    assert orjson.loads(span.attributes or "") == {"metadata.desk": "3"}


def test_a_page_of_rows() -> None:
    """Each row is a trace, with its own text."""
    first, second = litellm.read(PAGE, HERE)
    assert isinstance(first, Rows)
    assert isinstance(second, Rows)
    assert first.trace_uid != second.trace_uid
    assert second.spans[0].cost_usd == 0.5
    assert orjson.loads(first.part or b"") == PAGE["data"][0]


@given(mutated(ALL))
def test_damaged_records(record: JsonObject) -> None:
    """Nothing raises."""
    if litellm.matches(record):
        litellm.read(record, HERE)


@pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no shared trace files {FOLDER}")
@pytest.mark.parametrize("name", ["spend_logs_payload", "standard_logging_payload", "langfuse_otel_span"])
def test_recorded_shapes(name: str) -> None:
    """Tokens and cost of each; content where there is any."""
    (record,) = records(FOLDER / f"{name}.json")
    assert litellm.matches(record)
    trace, span = parts(record)
    assert (span.input_tokens, span.output_tokens) == (10, 20)
    assert span.cost_usd == pytest.approx(3.5e-05 if name == "langfuse_otel_span" else 0.000225)
    assert (trace.output_text is None) == (name == "spend_logs_payload")
