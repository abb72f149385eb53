"""Requests over HTTP: bodies as objects, text and events; archives; errors; nothing of the headers."""

from itertools import chain

import orjson
import pytest
from hypothesis import given

from rsi.traces.detect import read as detected
from rsi.traces.formats import chat, http_exchange
from rsi.traces.formats.assembly import unstreamed
from rsi.traces.rows import JsonObject, Place, Reason, Refusal, Rows
from rsi.traces.values import Piece
from tests.traces.inputs import SHARED
from tests.traces.mutated import mutated, records, sample

HERE = Place("default", None, "file", 1, 0)
ALL = sample("http_exchange.jsonl")
PLAIN, SSE, RESPONSES, MESSAGES, DENIED, GATEWAY, VECTORS, ARCHIVE, CASSETTE = ALL
URL = "https://api.example.com/v1/chat/completions"


def read(record: JsonObject) -> Rows:
    (found,) = http_exchange.read(record, HERE)
    assert isinstance(found, Rows)
    return found


def said(found: Rows) -> list[tuple[str, str | None]]:
    return [(one.role, one.content) for one in found.messages]


@pytest.mark.parametrize("record", ALL)
def test_its_records_are_its_own(record: JsonObject) -> None:
    """By their keys."""
    assert http_exchange.matches(record)


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"url": "x"},
        {"request": {"messages": []}, "response": {}},
        {"request": "tell me", "response": "a story"},
        {"custom_id": "a", "url": "/v1/responses", "request": {}, "response": {}},
        {"log": {"entries": []}},
        {"log": "text"},
        {"interactions": 5},
    ],
)
def test_other_records_are_not(record: JsonObject) -> None:
    """Pairs of bodies without a URL are those of their API's reader."""
    assert not http_exchange.matches(record)


def test_bodies_as_objects() -> None:
    """The call, its times (the response is dated), its address and status."""
    found = read(PLAIN)
    assert said(found) == [("user", "When do I sow peas?"), ("assistant", "In March.")]
    (span,) = found.spans
    assert (span.start_ns, span.end_ns) == (1_760_001_000_000_000_000, 1_760_001_002_000_000_000)
    attributes = orjson.loads(span.attributes or "")
    assert (attributes["url"], attributes["status_code"]) == (URL, 200)


def test_a_call_logged_here_and_there_is_one_trace() -> None:
    """By the same ids as the chat reader gives it."""
    (other,) = chat.read({"request": PLAIN["request"], "response": PLAIN["response"]}, HERE)
    assert isinstance(other, Rows)
    assert read(PLAIN).trace_uid == other.trace_uid
    assert [one.span_uid for one in read(PLAIN).spans] == [one.span_uid for one in other.spans]


@pytest.mark.parametrize(
    ("record", "answer", "tokens", "calls"),
    [
        (SSE, "Plant garlic.", (20, 4), 0),
        (RESPONSES, "Mulch it.", (9, 3), 0),
        (MESSAGES, None, (42, 25), 1),
    ],
)
def test_streams(record: JsonObject, answer: str | None, tokens: tuple[int, int], calls: int) -> None:
    """Put together behind what was asked."""
    found = read(record)
    assert [one.role for one in found.messages] == ["user", "assistant"]
    assert found.messages[1].content == answer
    assert [(one.input_tokens, one.output_tokens) for one in found.spans] == [tokens]
    assert len(found.tool_calls) == calls


@pytest.mark.parametrize("change", [("\n\n", "\r\n\r\n"), ("\n\n", "\n"), ("data: {", "data:{")])
def test_spellings_of_events(change: tuple[str, str]) -> None:
    """Line ends of any kind, no line between events, no space."""
    text = str(SSE["response"]).replace("Plant ", "Plant\u2028").replace(*change)
    assert said(read({**SSE, "response": text}))[1] == ("assistant", "Plant\u2028garlic.")


def test_a_stream_that_was_cut() -> None:
    """Gives what had come, marked."""
    text = str(SSE["response"])
    found = read({**SSE, "response": text[: text.index('"finish_reason": "stop"')]})
    assert [(one.content, one.content_state) for one in found.messages][1] == ("Plant garlic.", "cut")


@pytest.mark.parametrize(
    ("record", "error"),
    [(DENIED, "the key is not known"), (GATEWAY, "HTTP 502"),
     ({**GATEWAY, "status_code": 200}, "HTTP 200: the response is neither JSON nor a stream of it"),
     ({**DENIED, "response": {"detail": "not here"}, "status_code": 404}, "HTTP 404: not here")],
)  # fmt: skip
def test_errors(record: JsonObject, error: str) -> None:
    """A trace of what was asked, with what went wrong."""
    found = read(record)
    assert found.trace is not None
    assert (found.trace.error, [one.status for one in found.spans]) == (error, ["error"])
    assert [one.role for one in found.messages] == ["user"]


def test_the_same_failure_twice_is_two_traces() -> None:
    """Told apart by their times, since a failure has no id."""
    later = {**DENIED, "date": "Thu, 09 Oct 2025 09:10:21 GMT"}
    assert read(DENIED).trace_uid == read(DENIED).trace_uid
    assert read(DENIED).trace_uid != read(later).trace_uid


def test_embeddings() -> None:
    """No conversation; how many vectors of what size, not the vectors."""
    found = read(VECTORS)
    (span,) = found.spans
    assert (span.kind, span.input_tokens, found.messages) == ("embedding", 4, ())
    attributes = orjson.loads(span.attributes or "")
    assert (attributes["input"], attributes["vectors"], attributes["dimensions"]) == (["pear", "plum"], 2, 3)


def test_an_archive_of_a_browser() -> None:
    """Its calls of models, by part; the rest is refused at once. Headers stay out."""
    found, refused = http_exchange.read(ARCHIVE, HERE)
    assert isinstance(found, Rows)
    assert isinstance(refused, Refusal)
    assert said(found) == [("user", "Is box poisonous?"), ("assistant", "Yes, to cattle.")]
    assert found.trace is not None
    assert found.trace.start_ns == 1_760_001_061_500_000_000
    assert "Bearer" not in f"{found.trace} {found.spans}"
    assert (refused.reason, refused.detail) == (Reason.UNKNOWN_FORMAT, "1 of 2 requests are not to a model")
    _, (again,) = detected(Piece(1, 0, found.part or b""), HERE)
    assert isinstance(again, Rows)
    assert again.trace == found.trace


def test_an_entry_took_its_time() -> None:
    """In milliseconds, and not since 1970."""
    entry: JsonObject = {**ARCHIVE["log"]["entries"][1], "time": 250.5}  # type: ignore[index,call-overload,dict-item]
    found = read(entry)
    assert found.trace is not None
    assert (found.trace.start_ns, found.trace.end_ns) == (
        1_760_001_061_500_000_000,
        1_760_001_061_750_500_000,
    )


def test_a_cassette() -> None:
    """Bodies as text inside objects, also in base64, alone or in a list."""
    assert said(read(CASSETTE)) == [("user", "And yew?"), ("assistant", "Very.")]
    (found,) = http_exchange.read({"http_interactions": [CASSETTE]}, HERE)
    assert isinstance(found, Rows)
    assert found.trace_uid == read(CASSETTE).trace_uid
    body: JsonObject = {
        "body": {"base64_string": "eyJjaG9pY2VzIjpbeyJtZXNzYWdlIjp7ImNvbnRlbnQiOiJWZXJ5LiJ9fV19"}
    }
    assert said(read({**CASSETTE, "response": body}))[1] == ("assistant", "Very.")


@pytest.mark.parametrize(
    ("request_", "response", "url"),
    [
        ({}, {"data": []}, "https://api.example.com/v1/models"),
        ({"a": 1}, {"b": 2}, "https://www.example.com/"),
    ],
)
def test_requests_that_are_not_to_a_model(request_: JsonObject, response: JsonObject, url: str) -> None:
    """Are refused, with the address."""
    (found,) = http_exchange.read({"url": url, "request": request_, "response": response}, HERE)
    assert isinstance(found, Refusal)
    assert found.reason is Reason.UNKNOWN_FORMAT
    assert url in found.detail


@pytest.mark.parametrize("record", [SSE, RESPONSES, MESSAGES, PLAIN, ARCHIVE, CASSETTE])
def test_a_stream_put_together_beforehand_reads_the_same(record: JsonObject) -> None:
    """Redaction looks at whole words: the pieces of one are gone from the record."""
    whole = unstreamed(record)
    assert "Plant garlic." in str(whole) or record is not SSE
    assert http_exchange.matches(whole)
    assert [one.trace for one in http_exchange.read(whole, HERE) if isinstance(one, Rows)] == [
        one.trace for one in http_exchange.read(record, HERE) if isinstance(one, Rows)
    ]
    assert (whole is record) == (record in (PLAIN, ARCHIVE, CASSETTE))


@given(mutated(ALL))
def test_damaged_records_never_raise(record: JsonObject) -> None:
    """Whatever is missing or of another type; and the same rows come out again."""
    if http_exchange.matches(record):
        assert http_exchange.read(record, HERE) == http_exchange.read(record, HERE)


@pytest.mark.skipif(not SHARED.is_dir(), reason=f"no shared trace files at {SHARED}")
def test_recorded_exchanges() -> None:
    """Each is read, with the answer or the error; no answer that came is empty."""
    files = chain((SHARED / "openai_http").glob("*.jsonl"), (SHARED / "anthropic_http").glob("*.jsonl"))
    listed = [one for file in files for one in records(file)]
    found = [read(one) for one in listed]
    assert len(found) >= 60
    for record, one in zip(listed, found, strict=True):
        assert one.trace is not None
        failed = int(str(record["status_code"])) >= 400
        assert (one.trace.error is not None) == failed
        assert failed or one.trace.output_text or one.tool_calls
        assert [span.input_tokens is None for span in one.spans] == [failed or _uncounted(record)]
    assert len({span.span_uid for one in found for span in one.spans}) == len(listed)


def _uncounted(record: JsonObject) -> bool:
    """A stream without usage, since nobody asked for it."""
    request = record["request"]
    assert isinstance(request, dict)
    streamed = request.get("stream") is True and isinstance(record["response"], str)
    return streamed and "messages" in request and "stream_options" not in request
