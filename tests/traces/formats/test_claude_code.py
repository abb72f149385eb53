"""Session logs of Claude Code."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi.settings import Home
from rsi.traces.detect import detect
from rsi.traces.formats import claude_code
from rsi.traces.rows import JsonObject, Place, Refusal, Rows
from tests.traces.inputs import SAMPLES, SHARED, load, rows, write_lines
from tests.traces.mutated import mutated, sample

SAMPLE = SAMPLES / "claude_code.jsonl"
LINES = sample("claude_code.jsonl")
HERE = Place("default", None, "file", 1, 0)
FIRST, SECOND = "aaaaaaaa-0000-4000-8000-000000000001", "bbbbbbbb-0000-4000-8000-000000000002"


def read(record: JsonObject, place: Place = HERE) -> Rows:
    """The rows of a line that loads."""
    assert detect(record) is claude_code
    (found,) = claude_code.read(record, place)
    assert isinstance(found, Rows)
    return found


def test_every_line_stands_alone() -> None:
    """Each line of the sample makes rows; those that name no session tell of no trace."""
    found = [read(line) for line in LINES]
    assert [one.trace is None for one in found] == [True, True] + [False] * (len(LINES) - 2)
    assert all(one.spans or one.messages for one in found)
    named = {one.trace.native_id for one in found if one.trace is not None}
    assert named == {FIRST, f"{FIRST}/a4c7249", SECOND}
    assert {one.session for one in found if one.trace is not None} == {FIRST, SECOND}


def test_the_file_names_the_session_of_its_summary() -> None:
    """A summary does not say whose it is; a file named after its session does."""
    place = Place("default", None, "file", 1, 0, f"/home/ada/.claude/projects/-home-ada/{FIRST}.jsonl")
    found = read(LINES[0], place)
    assert found.trace_uid == read(LINES[2]).trace_uid
    assert found.trace is not None
    assert found.trace.input_text is None


def test_blocks_of_one_message_make_one_call(home: Home) -> None:
    """Snapshots collapse to the last, blocks keep their order, and tokens are the largest that were told."""
    load(home, SAMPLE)
    assert rows(
        home,
        "select native_id, model, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, finish_reason "
        "from spans where kind = 'llm' and native_id = 'msg_1'",
    ) == [("msg_1", "claude-sonnet-4-5", 1210, 60, 1000, 200, "tool_use")]
    assert rows(
        home,
        "select role, coalesce(nullif(content, ''), reasoning) from v_conversation join traces using (trace_uid) "
        f"where native_id = '{FIRST}' order by seq",
    ) == [
        ("user", "Why do the tests fail?"),
        ("user", "# Project notes: keep it short."),
        ("assistant", "I should run them."),
        ("assistant", "Let me run the tests."),
        ("assistant", None),
        ("tool", "Exit code 1\n1 failed, 3 passed"),
        ("assistant", "A sign is wrong in sums.py."),
    ]


def test_a_call_meets_its_result_in_another_line(home: Home) -> None:
    """They share the id of the call; that the tool failed is its own word."""
    load(home, SAMPLE)
    assert rows(home, "select name, arguments, result, status from v_tool_calls") == [
        ("Bash", '{"command":"pytest -q"}', "Exit code 1\n1 failed, 3 passed", "error")
    ]
    assert rows(
        home, "select name, status, error, (end_ns - start_ns) / 1e9 from spans where kind = 'tool'"
    ) == [("Bash", "error", "Exit code 1", 2.0)]


def test_a_resumed_session_counts_its_tokens_once(home: Home) -> None:
    """What the second session repeats is in its conversation, but is one call of the model."""
    load(home, SAMPLE)
    assert rows(home, "select sum(output_tokens), count(*) from v_llm_calls") == [(87, 3)]
    assert rows(
        home, "select input_text, output_text from traces where native_id not like '%/%' order by native_id"
    ) == [
        ("Why do the tests fail?", "A sign is wrong in sums.py."),
        ("Why do the tests fail?", "API Error: 529 overloaded"),
    ]


def test_lines_in_any_order_and_file(home: Home) -> None:
    """Backwards, in two files, and again: the same rows."""
    load(home, SAMPLE)
    tables = ("traces", "spans", "messages", "tool_calls")
    queries = [
        f"select * exclude (ordinal, file_id, line, byte_offset) from {one} order by 2, 1" for one in tables
    ]
    before = [rows(home, query) for query in queries]
    other = Home(home.root / "other")
    turned = LINES[::-1]
    load(
        other, write_lines(home.root / "b.jsonl", turned[:7]), write_lines(home.root / "a.jsonl", turned[7:])
    )
    load(other, SAMPLE)
    assert [rows(other, query) for query in queries] == before


def test_an_error_of_the_api_is_no_call_of_a_model() -> None:
    """The program writes such a message itself, under a model of its own."""
    (span,) = read(LINES[-1]).spans
    assert (span.kind, span.status, span.error, span.model) == (
        "event",
        "error",
        "API Error: 529 overloaded",
        None,
    )


def test_streamed_output_is_ordered_by_its_lines(home: Home) -> None:
    """``claude -p --output-format stream-json`` has no times; its result has the cost."""
    said = {"id": "msg_9", "role": "assistant", "model": "m", "content": [{"type": "text", "text": "Done."}]}
    lines: list[JsonObject] = [
        {"type": "system", "subtype": "init", "session_id": "s", "cwd": "/home/ada", "tools": ["Bash"], "uuid": "1"},
        {"type": "user", "session_id": "s", "uuid": "2", "message": {"role": "user", "content": "Do it."}},
        {"type": "stream_event", "session_id": "s", "uuid": "3", "event": {"type": "content_block_delta"}},
        {"type": "assistant", "session_id": "s", "uuid": "4", "message": {**said, "usage": {"output_tokens": 3}}},
        {"type": "result", "subtype": "success", "session_id": "s", "uuid": "5", "total_cost_usd": 0.02},
    ]  # fmt: skip
    load(home, write_lines(home.root / "stream.jsonl", list(lines)))
    assert rows(home, "select content from v_conversation order by seq") == [("Do it.",), ("Done.",)]
    assert rows(
        home, "select kind, output_tokens, cost_usd from spans where kind = 'llm' or cost_usd > 0 order by 1"
    ) == [
        ("event", None, 0.02),
        ("llm", 3, None),
    ]


def test_a_line_without_its_message_is_refused() -> None:
    """A missing or wrong field is a refusal, the rest of a document loads."""
    broken: JsonObject = {"type": "user", "sessionId": "s", "message": "hello"}
    (found,) = claude_code.read(broken, HERE)
    assert isinstance(found, Refusal)
    whole, no_object, no_message = claude_code.read({"loglines": [LINES[2], 7, broken]}, HERE)
    assert isinstance(whole, Rows)
    assert len(whole.messages) == 1
    assert isinstance(no_object, Refusal)
    assert isinstance(no_message, Refusal)
    assert no_object.part == b"7"


@given(st.one_of(mutated(LINES), mutated([{"loglines": list(LINES)}])))
def test_damaged_lines_never_raise(record: JsonObject) -> None:
    """Whatever is wrong inside, there are rows or a refusal."""
    if claude_code.matches(record):
        assert all(isinstance(one, Rows | Refusal) for one in claude_code.read(record, HERE))


@pytest.mark.skipif(not SHARED.exists(), reason="the shared trace files are not here")
def test_shared_sessions(home: Home) -> None:
    """A session as lines and one as a document; streaming snapshots."""
    load(home, SHARED / "claude_code", SHARED / "hostile" / "17_streaming_snapshots.jsonl")
    assert rows(home, "select parts > 1, input_text, output_text from traces order by start_ns, parts") == [
        (False, "Create a simple Python function to add two numbers", "Added multiply function!"),
        (True, "Create a hello world function", "Done! The hello function is ready."),
        (True, None, "Let me look."),
    ]
    assert rows(
        home,
        "select count(*), count(*) filter (status = 'error'), count(*) filter (result is null) from v_tool_calls",
    ) == [(15, 2, 0)]
    assert rows(home, "select input_tokens, output_tokens from v_llm_calls where output_tokens > 0") == [
        (100, 42)
    ]
