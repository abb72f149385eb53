"""OpenHands: histories of an evaluation, with and without ids, and events one by one."""

from pathlib import Path

import orjson
import pytest
from hypothesis import given

from rsi.settings import Home
from rsi.traces.formats import openhands
from rsi.traces.rows import JsonObject, Place, Refusal, Rows
from tests.traces.inputs import SHARED, load, rows, write_lines
from tests.traces.mutated import mutated, records, sample

HERE = Place("default", None, "file", 1, 0, "runs/session.json")
ALL = sample("openhands.jsonl")
LINE, PAIRS, FLAT, *EVENTS = ALL[:12]
SDK_LINE, *SDK_EVENTS = ALL[12:]
FOLDER = SHARED / "openhands"


def read(record: JsonObject) -> Rows:
    (found,) = openhands.read(record, HERE)
    assert isinstance(found, Rows)
    return found


@pytest.mark.parametrize("record", ALL)
def test_its_records_are_its_own(record: JsonObject) -> None:
    """By their keys."""
    assert openhands.matches(record)


def test_a_history() -> None:
    """An answer that asked for two actions is one turn; the program's own events are none."""
    found = read(LINE)
    assert [(one.role, one.content) for one in found.messages] == [
        ("user", "Make two files."), ("assistant", "I make both."), ("tool", ""), ("tool", "no space left"),
        ("user", None), ("tool", "a"), ("assistant", "Only a was made."),
    ]  # fmt: skip
    assert [(one.name, one.native_id, one.requestor, one.status, one.result) for one in found.tool_calls] == [
        ("execute_bash", "t1", "assistant", "ok", ""), ("execute_bash", "t2", "assistant", "error", "no space left"),
        ("run", "event 6", "user", "ok", "a"),
    ]  # fmt: skip


def test_a_history_tells_usage_cost_and_outcome() -> None:
    """The whole run's beside each call's; whether the tests passed; no key of the configuration."""
    found = read(LINE)
    spans = {one.native_id: one for one in found.spans}
    assert (spans["run"].cost_usd, spans["run"].input_tokens, spans["run"].cache_read_tokens) == (
        0.25,
        80,
        16,
    )
    call = spans["event 2"]
    assert (call.kind, call.model, call.response_id, call.input_tokens) == (
        "llm",
        "coder-1-2026",
        "resp-1",
        40,
    )
    assert (call.cache_read_tokens, call.finish_reason, call.time_state) == (8, "tool_calls", "assumed_utc")
    assert spans["event 5"].native_parent_id == "event 4"
    assert [(one.name, one.value, one.source) for one in found.scores] == [("resolved", 0.0, "env")]
    assert found.trace is not None
    assert (found.trace.task_id, found.trace.model, found.trace.agent) == (
        "files-1",
        "coder-1",
        "CodeActAgent",
    )
    assert "never kept" not in str(found)


def test_pairs_of_action_and_observation() -> None:
    """The oldest form: a result is that of the action before it."""
    found = read(PAIRS)
    assert [(one.name, one.arguments, one.result) for one in found.tool_calls] == [
        ("run", '{"command":"touch c"}', "done")
    ]
    assert found.trace is not None
    assert (found.trace.error, found.trace.input_text) == ("the agent ran out of steps", "Make one.")


def test_events_without_ids_or_sources() -> None:
    """In their order; the issue names the task; a model's verdict is a score."""
    found = read(FLAT)
    assert [(one.role, one.content, one.seq) for one in found.messages] == [
        ("user", "Make one.", 0), ("assistant", "I make it.", 1), ("tool", "ok", 2), ("assistant", "It is made.", 3),
    ]  # fmt: skip
    assert [(one.name, one.status) for one in found.tool_calls] == [("run", "ok"), ("finish", "no_result")]
    assert found.trace is not None
    assert found.trace.task_id == "ann/files#5"
    (verdict,) = found.scores
    assert (verdict.name, verdict.value, verdict.source, verdict.comment) == (
        "success",
        1.0,
        "llm",
        "The file is there.",
    )


def test_events_of_a_list_are_parts_of_one_trace() -> None:
    """Named by the file; a call and its result, in two records, are one call; each message is said once."""
    found = [read(one) for one in EVENTS]
    assert len({one.trace_uid for one in found}) == 1
    calls = {(one.call_uid, one.native_id) for rows in found for one in rows.tool_calls}
    assert {native for _, native in calls} == {"t1", "t2", "event 6"}
    assert len(calls) == 3
    said = sorted((one.at_ns, one.message_uid, one.content) for rows in found for one in rows.messages)
    first = {uid: content for _, uid, content in reversed(said)}
    assert [content for _, uid, content in said if first.pop(uid, "gone") != "gone"] == [
        "Make two files.", "I make both.", "", "no space left", None, "a", "Only a was made.",
    ]  # fmt: skip
    assert found[0].trace is not None
    assert (found[0].trace.input_text, found[2].trace and found[2].trace.input_text) == (
        "Make two files.",
        None,
    )


def test_events_in_the_store(home: Home, tmp_path: Path) -> None:
    """A file of events is one trace: its turns in order, its calls with their results, each answer's usage once."""
    load(home, write_lines(tmp_path / "session.jsonl", EVENTS))
    assert rows(home, "select count(*), max(input_text), max(output_text) from traces") == [
        (1, "Make two files.", "Only a was made.")
    ]
    assert rows(home, "select role, content from v_conversation order by seq") == [
        ("user", "Make two files."), ("assistant", "I make both."), ("tool", ""), ("tool", "no space left"),
        ("user", None), ("tool", "a"), ("assistant", "Only a was made."),
    ]  # fmt: skip
    assert rows(home, "select name, status, requestor, arguments from tool_calls order by native_id") == [
        ("run", "ok", "user", '{"command":"ls"}'),
        ("execute_bash", "ok", "assistant", '{"command":"touch a"}'),
        ("execute_bash", "error", "assistant", '{"command":"touch b"}'),
    ]
    assert rows(home, "select sum(input_tokens) from v_llm_calls") == [(40,)]


def test_a_history_of_nothing() -> None:
    """Is refused, unless the run broke: then its error is what happened."""
    (found,) = openhands.read({**LINE, "history": []}, HERE)
    assert isinstance(found, Refusal)
    trace = read({**LINE, "history": [], "error": "no runtime"}).trace
    assert trace is not None
    assert trace.error == "no runtime"


def test_a_history_of_newer_events() -> None:
    """Thoughts, calls and results by the id of the call; two actions of one answer are one call of the model."""
    found = read(SDK_LINE)
    assert [(one.role, one.content, one.reasoning) for one in found.messages] == [
        ("system", "You are a careful coder.", None),
        ("user", "Count the files.", None),
        ("assistant", "I look twice.", "ls will do"),
        ("assistant", None, None),
        ("tool", "12", None),
        ("tool", "Error: there is no tool browser", None),
        ("assistant", "There are 12 files.", None),
    ]
    assert [(one.name, one.native_id, one.arguments, one.status, one.result) for one in found.tool_calls] == [
        ("terminal", "call-1", '{"command":"ls | wc -l"}', "ok", "12"),
        ("browser", "call-2", '{"url":"https://example.com"}', "error", "Error: there is no tool browser"),
    ]
    assert {one.response_id for one in found.spans if one.kind == "llm"} == {"resp-9", "resp-10"}


def test_newer_events_in_files_of_their_own(home: Home, tmp_path: Path) -> None:
    """Their folder names the session, whatever order they come in; the state tells tokens and cost."""
    folder = tmp_path / "conversations" / "c-77" / "events"
    folder.mkdir(parents=True)
    for number, event in enumerate(SDK_EVENTS):
        (folder / f"event-{number:05}-0199a213-81c0-7800-8aa1-bbab2a035a5{number}.json").write_bytes(
            orjson.dumps(event)
        )
    load(home, tmp_path / "conversations")
    assert rows(home, "select native_id, input_text, output_text from traces") == [
        ("c-77", "Count the files.", "There are 12 files.")
    ]
    assert rows(home, "select role, content from v_conversation where content is not null order by seq") == [
        ("system", "You are a careful coder."),
        ("user", "Count the files."),
        ("assistant", "I look twice."),
        ("tool", "12"),
        ("tool", "Error: there is no tool browser"),
        ("assistant", "There are 12 files."),
    ]
    assert rows(home, "select name, arguments, result, status from tool_calls order by name") == [
        ("browser", '{"url":"https://example.com"}', "Error: there is no tool browser", "error"),
        ("terminal", '{"command":"ls | wc -l"}', "12", "ok"),
    ]
    assert rows(home, "select count(*) from v_llm_calls") == [(2,)]
    assert rows(home, "select input_tokens, output_tokens, cost_usd from spans where native_id = 'run'") == [
        (900, 60, 0.02)
    ]


@given(mutated(ALL))
def test_damaged_records(record: JsonObject) -> None:
    """Nothing raises."""
    if openhands.matches(record):
        assert openhands.read(record, HERE)


@pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no shared trace files {FOLDER}")
def test_recorded_runs() -> None:
    """Every action but the program's own is a turn, with its observation behind it."""
    for record in records(FOLDER / "resolver.output.jsonl"):
        found = read(record)
        assert len(found.messages) == len(record["history"])
        assert [one.status for one in found.tool_calls if one.status != "ok"] == ["no_result"]
        assert [one.value for one in found.scores] == [1.0]
    for path in sorted((FOLDER / "trajs").glob("*.json")):
        events = records(path)
        assert all(openhands.matches(one) for one in events)
        parts = [read(one) for one in events]
        asked = {one.native_id for rows in parts for one in rows.tool_calls}
        assert asked == {
            one["tool_call_metadata"]["tool_call_id"] for one in events if one.get("tool_call_metadata")
        }
        said = [orjson.loads(row.attributes or "{}") for rows in parts for row in rows.spans]
        assert len(said) == len(events)
