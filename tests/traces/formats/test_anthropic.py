"""Logs of the Messages API: blocks, tokens beside the cached ones, sessions."""

import pytest
from hypothesis import given

from rsi.settings import Home
from rsi.traces.formats import anthropic, chat
from rsi.traces.rows import Json, JsonObject, Place, Reason, Refusal, Rows
from tests.traces.inputs import SAMPLES, load, rows
from tests.traces.mutated import mutated, sample

HERE = Place("default", None, "file", 1, 0)
ALL = sample("anthropic.jsonl")
FIRST, SECOND, ALONE, FAILED = ALL


def read(record: JsonObject) -> Rows:
    (found,) = anthropic.read(record, HERE)
    assert isinstance(found, Rows)
    return found


@pytest.mark.parametrize("record", ALL)
def test_its_records_are_its_own(record: JsonObject) -> None:
    """By their keys."""
    assert anthropic.matches(record)


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"type": "message", "role": "user", "content": []},
        {"request": {"messages": []}, "response": {"choices": []}},
        {"request": {"messages": [], "max_tokens": 5}, "response": {}},
        {"messages": [{"role": "user", "content": "x"}], "label": True},
    ],
)
def test_other_records_are_not(record: JsonObject) -> None:
    """Chat logs have messages too."""
    assert not anthropic.matches(record)


def test_blocks() -> None:
    """System, thinking, text and a call; cached tokens count as given."""
    found = read(FIRST)
    assert [(one.role, one.content, one.reasoning) for one in found.messages] == [
        ("system", "You water plants.", None),
        ("user", "Water the leeks.", None),
        ("assistant", "On it.", "One bed."),
    ]
    (call,), (span,) = found.tool_calls, found.spans
    assert (call.native_id, call.name, call.arguments, call.status) == (
        "toolu_1",
        "water",
        '{"bed":"leeks"}',
        "no_result",
    )
    tokens = (span.input_tokens, span.output_tokens, span.cache_read_tokens, span.cache_write_tokens)
    assert tokens == (105, 20, 90, 5)
    assert (span.finish_reason, span.model, span.provider) == ("tool_use", "garden-c-0925", "anthropic")
    assert found.trace is not None
    assert found.trace.user_ref == "reader-2"


def test_results_stand_where_they_were_given() -> None:
    """A user's results come before what the user adds; tools of the provider have their results at once."""
    search: JsonObject = {"type": "server_tool_use", "id": "srv_1", "name": "search", "input": {"q": "leeks"}}
    hits: list[Json] = [{"type": "web_search_result", "title": "Leeks", "url": "https://example.com"}]
    failed: JsonObject = {"type": "web_fetch_tool_result_error", "error_code": "unavailable"}
    blocks: list[Json] = [
        search,
        {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": hits},
        {"type": "server_tool_use", "id": "srv_2", "name": "fetch", "input": {}},
        {"type": "web_fetch_tool_result", "tool_use_id": "srv_2", "content": failed},
        {"type": "text", "text": "Found."},
    ]
    given: list[Json] = [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "dry"},
        {"type": "text", "text": "Go on."},
    ]
    asked: list[Json] = [
        {"role": "user", "content": "Look."},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "toolu_1", "name": "soil", "input": {}}],
        },
        {"role": "user", "content": given},
    ]
    answer: JsonObject = {"type": "message", "role": "assistant", "model": "m", "content": blocks}
    found = read({"request": {"model": "m", "max_tokens": 9, "messages": asked}, "response": answer})
    assert [(one.role, one.content) for one in found.messages] == [
        ("user", "Look."),
        ("assistant", None),
        ("tool", "dry"),
        ("user", "Go on."),
        ("assistant", "Found."),
        ("tool", '[{"title":"Leeks","type":"web_search_result","url":"https://example.com"}]'),
        ("tool", '{"error_code":"unavailable","type":"web_fetch_tool_result_error"}'),
    ]
    assert [(one.name, one.status) for one in found.tool_calls] == [
        ("soil", "ok"),
        ("search", "ok"),
        ("fetch", "error"),
    ]


def test_growing_history_in_a_session_is_one_trace(home: Home) -> None:
    """The call finds its failed result in the next request."""
    load(home, SAMPLES / "anthropic.jsonl")
    where = "join traces t using (trace_uid) where t.conversation = 's-1'"
    assert rows(home, f"select role, content from messages m {where} order by at_ns, seq") == [
        ("system", "You water plants."),
        ("user", "Water the leeks."),
        ("assistant", "On it."),
        ("tool", "valve 3 is closed"),
        ("assistant", "The valve is closed."),
    ]
    assert rows(home, f"select name, result, status from tool_calls c {where}") == [
        ("water", "valve 3 is closed", "error")
    ]
    assert rows(home, f"select count(*), sum(input_tokens) from spans s {where}") == [(2, 235)]
    assert rows(home, f"select name, value, source from scores s {where}") == [("feedback", 0.0, "end_user")]


def test_a_message_alone() -> None:
    """Is an answer whose question nobody kept."""
    found = read(ALONE)
    assert [(one.role, one.content) for one in found.messages] == [("assistant", "Prune in winter.")]
    assert found.trace is not None
    assert (found.trace.native_id, found.trace.input_text, found.trace.metadata) == ("msg_03", None, None)


def test_errors() -> None:
    """In the words of the API."""
    found = read(FAILED)
    assert found.trace is not None
    assert found.trace.error == "Overloaded"
    assert [one.status for one in found.spans] == ["error"]


@pytest.mark.parametrize(
    ("said", "user", "session"),
    [
        ("reader-1", "reader-1", None),
        (f"user_ab_account__session_{'1' * 8}-2222-3333-4444-{'5' * 12}",
         f"user_ab_account__session_{'1' * 8}-2222-3333-4444-{'5' * 12}", f"{'1' * 8}-2222-3333-4444-{'5' * 12}"),
        ('{"device_id": "d", "account_uuid": "a", "session_id": "s"}', "a", "s"),
        (None, None, None),
    ],
)  # fmt: skip
def test_users_and_sessions(said: str | None, user: str | None, session: str | None) -> None:
    """Coding agents send the session inside the user's id."""
    request: JsonObject = {
        "max_tokens": 5,
        "messages": [{"role": "user", "content": "x"}],
        "metadata": {"user_id": said},
    }
    found = read({"request": request, "response": ALONE})
    assert found.trace is not None
    assert (found.trace.user_ref, found.session) == (user, session)


def test_nothing_was_said() -> None:
    """Refused with the reason."""
    (found,) = anthropic.read({"request": {"messages": [], "max_tokens": 1, "system": ""}}, HERE)
    assert isinstance(found, Refusal)
    assert found.reason is Reason.BAD_VALUE


def test_a_chat_log_with_a_limit_stays_a_chat_log() -> None:
    """`max_tokens` alone does not make a request Anthropic's."""
    record: JsonObject = {
        "request": {"max_tokens": 5, "messages": [{"role": "user", "content": "x"}]},
        "response": {"choices": []},
    }
    assert not anthropic.matches(record)
    assert chat.matches(record)


@given(mutated(ALL))
def test_damaged_records_never_raise(record: JsonObject) -> None:
    """Whatever is missing or of another type; and the same rows come out again."""
    if anthropic.matches(record):
        assert anthropic.read(record, HERE) == anthropic.read(record, HERE)
