"""Rollout logs of Codex."""

from hypothesis import given

from rsi.settings import Home
from rsi.traces.detect import detect
from rsi.traces.formats import codex
from rsi.traces.rows import JsonObject, Place, Refusal, Rows
from tests.traces.inputs import SAMPLES, load, rows, write_lines
from tests.traces.mutated import mutated, sample

SAMPLE = SAMPLES / "codex.jsonl"
LINES = sample("codex.jsonl")
SESSION = "0190aaaa-1111-7222-8333-444455556666"
NAME = f"rollout-2026-02-03T09-00-00-{SESSION}.jsonl"
HERE = Place("default", None, "file", 1, 0, f"/home/ada/.codex/sessions/2026/02/03/{NAME}")


def read(record: JsonObject, place: Place = HERE) -> Rows:
    """The rows of a line that loads."""
    assert detect(record) is codex
    (found,) = codex.read(record, place)
    assert isinstance(found, Rows)
    return found


def test_the_file_names_the_session() -> None:
    """By the UUID at its end, also where the file is packed; else all lines of a file are one session."""
    assert {read(line).native for line in LINES} == {SESSION}
    packed = Place("default", None, "file", 1, 0, HERE.uri.upper().replace("JSONL", "jsonl.zst"))
    assert read(LINES[5], packed).trace_uid == read(LINES[4]).trace_uid
    nameless = Place("default", None, "file", 1, 0, "x.jsonl")
    found = read(LINES[0], nameless)
    assert found.native == "file"
    assert found.trace is not None
    assert found.trace.conversation == SESSION


def test_one_turn_told_by_two_logs_is_one(home: Home) -> None:
    """Items and events of the same turn meet; what only one of them has is there as well, a repetition too."""
    load(home, write_lines(home.root / NAME, list(LINES)))
    assert rows(
        home,
        "select role, coalesce(nullif(content, ''), reasoning)[:23], tool_call_id from v_conversation order by seq",
    ) == [
        ("system", "You help with code.", None),
        ("user", "<environment_context>\n ", None),
        ("user", "Why do the tests fail?", None),
        ("assistant", "**Running the tests**", None),
        ("assistant", None, None),
        ("tool", "Exit code: 1\nWall time:", "call_1"),
        ("assistant", None, None),
        ("tool", '{"output":"Success. Upd', "call_2"),
        ("assistant", "A sign was wrong in sum", None),
        ("user", "Why do the tests fail?", None),
    ]
    assert rows(home, "select native_id, input_text, output_text[:6], model, release, agent from traces") == [
        (SESSION, "Why do the tests fail?", "A sign", "gpt-5-codex", "0.90.0", "codex")
    ]


def test_events_alone_tell_the_conversation(home: Home) -> None:
    """A log without items is read from its events."""
    events = [line for line in LINES if line["type"] == "event_msg"]
    load(home, write_lines(home.root / NAME, list(events)))
    assert rows(
        home, "select role, coalesce(nullif(content, ''), reasoning) from v_conversation order by seq"
    ) == [
        ("user", "Why do the tests fail?"),
        ("assistant", "**Running the tests**"),
        ("assistant", "A sign was wrong in sums.py; the tests pass now."),
        ("user", "Why do the tests fail?"),
    ]


def test_token_counts_are_calls_each_once(home: Home) -> None:
    """The counts are cumulative and repeated: a state of the total is one call, with what the last one used."""
    load(home, write_lines(home.root / NAME, list(LINES)))
    assert rows(
        home,
        "select input_tokens, output_tokens, cache_read_tokens, reasoning_tokens from spans where kind = 'llm' "
        "order by start_ns",
    ) == [(2000, 60, 1500, 40), (2300, 90, 2000, 40), (2500, 30, 2300, 0)]
    assert rows(home, "select sum(output_tokens) from v_llm_calls") == [(180,)]


def test_calls_have_the_model_of_their_session(home: Home) -> None:
    """Counts of tokens do not name it, the context of the turn does."""
    load(home, write_lines(home.root / NAME, list(LINES)))
    assert rows(home, "select distinct model from v_llm_calls") == [("gpt-5-codex",)]


def test_a_fork_counts_what_it_copied_once(home: Home) -> None:
    """Its log begins with the parent's, head and all, at the time of the fork; its own calls are its own."""
    child = "0190bbbb-1111-7222-8333-444455556666"
    at = "2026-02-04T10:00:00.000Z"
    head: JsonObject = {"id": child, "forked_from_id": SESSION, "timestamp": at, "cwd": "/home/ada/fork"}
    own = {
        "input_tokens": 3000,
        "cached_input_tokens": 2500,
        "output_tokens": 11,
        "reasoning_output_tokens": 0,
    }
    total = {"input_tokens": 9800, "cached_input_tokens": 8300, "output_tokens": 191}
    info: JsonObject = {"total_token_usage": total, "last_token_usage": own}
    fork: list[JsonObject] = [
        {"timestamp": at, "type": "session_meta", "payload": head},
        *({**one, "timestamp": at} for one in LINES),
        {"timestamp": "2026-02-04T10:01:00Z", "type": "event_msg", "payload": {"type": "token_count", "info": info}},
        {"timestamp": "2026-02-04T10:01:01Z", "type": "event_msg",
         "payload": {"type": "agent_message", "message": "Done in the fork."}},
    ]  # fmt: skip
    for name, order in ((f"2-{child}.jsonl", 1), (f"3-{child}.jsonl", -1)):
        store = Home(home.root / f"store {order}")
        load(
            store,
            write_lines(home.root / name[:1] / NAME, list(LINES)),
            write_lines(home.root / name, fork[::order]),
        )
        calls = "select sum(output_tokens), count(*), count(distinct trace_uid) from v_llm_calls"
        assert rows(store, calls) == [(191, 4, 2)]
        assert rows(
            store, "select native_id, metadata->>'cwd', metadata->>'forked_from_id' from traces order by 1"
        ) == [
            (SESSION, "/home/ada/sums", None),
            (child, "/home/ada/fork", SESSION),
        ]
        said = (
            "select count(*) from messages join traces using (trace_uid) where native_id = ? and content = ?"
        )
        for native, text in ((SESSION, "Done in the fork."), (child, "Why do the tests fail?")):
            count = rows(store, said.replace("?", f"'{native}'", 1).replace("?", f"'{text}'", 1))
            assert count == [(int(native == child),)]


def test_calls_meet_their_results(home: Home) -> None:
    """By the id of the call; how the command ended tells whether it failed, and free text is one argument."""
    load(home, write_lines(home.root / NAME, list(LINES)))
    assert rows(
        home, "select name, arguments[:21], arguments_state, status from v_tool_calls order by seq, name"
    ) == [
        ("apply_patch", '{"input":"*** Begin P', "object", "ok"),
        ("shell", '{"command":["pytest",', "object", "error"),
    ]


def test_what_an_output_says_of_its_end() -> None:
    """Exit codes in the head of the output or in the JSON around it, and the API's own word."""
    outputs = {
        "Exit code: 0\nOutput:\nExit code: 3": "ok",
        "Chunk ID: 1\nProcess exited with code 2\nOutput:\n": "error",
        '{"output":"x","metadata":{"exit_code":127}}': "error",
        '{"output":"x","metadata":{"exit_code":0}}': "ok",
        "the function returns Exit code: 1 when it fails " * 2: "ok",
    }
    for output, status in outputs.items():
        item: JsonObject = {"type": "function_call_output", "call_id": "c", "output": output}
        assert [one.status for one in read(_line(item)).tool_calls] == [status], output
    item = {"type": "function_call_output", "call_id": "c", "output": {"content": "no", "success": False}}
    assert [(one.status, one.result) for one in read(_line(item)).tool_calls] == [("error", "no")]


def test_an_event_tells_that_a_call_failed() -> None:
    """What the model saw is in the item; the event adds the failure."""
    event: JsonObject = {"type": "exec_command_end", "call_id": "call_7", "exit_code": 1, "stdout": "long"}
    record: JsonObject = {"timestamp": "2026-02-03T09:00:00Z", "type": "event_msg", "payload": event}
    (call,) = read(record).tool_calls
    assert (call.native_id, call.status, call.result) == ("call_7", "error", None)


def test_items_of_older_files(home: Home) -> None:
    """Without envelopes and times: the head, bare items, and states; lines order them."""
    lines: list[JsonObject] = [
        {"id": SESSION, "timestamp": "2025-05-07T17:24:21.000Z", "instructions": "Be brief."},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "List them."}]},
        {"type": "function_call", "name": "shell", "arguments": '{"command":["ls"]}', "call_id": "c1"},
        {"type": "function_call_output", "call_id": "c1", "output": "a.py"},
        {"type": "local_shell_call", "call_id": "c2", "action": {"type": "exec", "command": ["pwd"]}},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a.py"}]},
    ]  # fmt: skip
    assert all(detect(line) is codex for line in lines)
    load(home, write_lines(home.root / NAME, list(lines)))
    said = "select content from v_conversation where content is not null and role <> 'system' order by seq"
    assert rows(home, said) == [
        ("List them.",),
        ("a.py",),
        ("a.py",),
    ]
    assert rows(home, "select name, result from v_tool_calls order by name") == [
        ("local_shell", None),
        ("shell", "a.py"),
    ]


def test_lines_in_any_order_and_file(home: Home) -> None:
    """Backwards and in two files of the same name: the same rows."""
    load(home, write_lines(home.root / NAME, list(LINES)))
    tables = ("traces", "spans", "messages", "tool_calls")
    queries = [
        f"select * exclude (ordinal, file_id, line, byte_offset) from {one} order by 2, 1" for one in tables
    ]
    before = [rows(home, query) for query in queries]
    other = Home(home.root / "other")
    turned = LINES[::-1]
    load(
        other,
        write_lines(home.root / "2" / NAME, list(turned[:9])),
        write_lines(home.root / "1" / NAME, list(turned[9:])),
    )
    assert [rows(other, query) for query in queries] == before


def test_messages_of_other_apis_are_not_taken() -> None:
    """A bare message with a model and usage is a response of another API."""
    assert not codex.matches({"type": "message", "role": "assistant", "model": "m", "content": []})
    assert not codex.matches({"type": "event_msg"})
    assert not codex.matches({"id": "1", "timestamp": "2026"})


@given(mutated(LINES))
def test_damaged_lines_never_raise(record: JsonObject) -> None:
    """Whatever is wrong inside, there are rows or a refusal."""
    if codex.matches(record):
        assert all(isinstance(one, Rows | Refusal) for one in codex.read(record, HERE))


def _line(item: JsonObject) -> JsonObject:
    return {"timestamp": "2026-02-03T09:00:00Z", "type": "response_item", "payload": item}
