"""Exports as files: what they hold, and that they are whole or absent."""

from pathlib import Path

import duckdb
import orjson
import pytest
from google.protobuf import json_format
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from rsi.errors import ContractError
from rsi.settings import Home
from rsi.store.database import store_batch
from rsi.store.snapshot import open_snapshot, refresh
from rsi.traces.export import Exported, export
from rsi.traces.export.whole import Chosen, wholes
from rsi.traces.rows import JsonObject
from tests.traces.inputs import CLOCK, SAMPLES, chat, load, rows, write_lines


def exported(
    home: Home, target: str, chosen: Chosen | None = None, name: str = "out.jsonl"
) -> list[JsonObject]:
    """The lines that an export writes."""
    with store_batch(home, CLOCK, "test") as connection:
        export(connection, target, home.root / name, chosen)
    return [orjson.loads(line) for line in (home.root / name).read_bytes().splitlines()]


def test_otlp_is_what_a_collector_takes(home: Home) -> None:
    """Every line is an export request of the protocol, with hex ids of the right length."""
    load(home, SAMPLES)
    lines = exported(home, "otlp")
    assert {next(iter(line)) for line in lines} == {"resourceSpans", "resourceLogs"}
    for line in lines:
        request = ExportTraceServiceRequest() if "resourceSpans" in line else ExportLogsServiceRequest()
        json_format.ParseDict(line, request)
    spans = [
        span
        for line in lines
        for resource in line.get("resourceSpans", ())  # type: ignore[union-attr]
        for scope in resource["scopeSpans"]  # type: ignore[index,call-overload]
        for span in scope["spans"]
    ]
    assert {(len(span["traceId"]), len(span["spanId"])) for span in spans} == {(32, 16)}
    assert len({(span["traceId"], span["spanId"]) for span in spans}) == len(spans)


def test_otlp_has_current_names(home: Home) -> None:
    """Messages by role and parts, and nothing under older names."""
    load(home, SAMPLES / "claude_code.jsonl")
    text = orjson.dumps(exported(home, "otlp")).decode()
    for name in ("gen_ai.operation.name", "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.tool.call.result",
                 "gen_ai.usage.cache_read.input_tokens", "gen_ai.response.finish_reasons"):  # fmt: skip
        assert f'"{name}"' in text
    assert "gen_ai.prompt" not in text
    assert 'gen_ai.system"' not in text


def test_atif_is_a_trajectory(home: Home) -> None:
    """Steps count from 1, calls have arguments and observations their ids, totals are the sums."""
    load(home, SAMPLES / "atif.json")
    document = next(one for one in exported(home, "atif") if one["extra"]["rsi"]["native_id"] == "run-1-main")  # type: ignore[index,call-overload]
    assert document["schema_version"] == "ATIF-v1.7"
    steps = document["steps"]
    assert isinstance(steps, list)
    assert [one["step_id"] for one in steps] == list(range(1, len(steps) + 1))  # type: ignore[index,call-overload]
    assert [one["source"] for one in steps] == ["system", "user", "agent", "agent", "agent"]  # type: ignore[index,call-overload]
    agent = steps[2]
    assert isinstance(agent, dict)
    assert agent["tool_calls"][0] == {
        "tool_call_id": "c1",
        "function_name": "find_seats",
        "arguments": {"count": 2},
    }  # type: ignore[index,call-overload]
    assert {one["source_call_id"] for one in agent["observation"]["results"]} == {"c1", "c2"}  # type: ignore[index,call-overload,union-attr]
    assert [one.get("llm_call_count") for one in steps] == [None, None, 1, 0, 1]  # type: ignore[union-attr]
    assert document["final_metrics"] == {
        "total_prompt_tokens": 110,
        "total_completion_tokens": 28,
        "total_cached_tokens": 16,
        "total_cost_usd": 0.001,
        "total_steps": 5,
    }


def test_messages_are_lines_of_the_chat_api(home: Home) -> None:
    """Arguments are JSON text, a result names its call, and a call comes before its result."""
    load(home, SAMPLES / "codex.jsonl")
    (line,) = exported(home, "messages")
    messages = line["messages"]
    assert isinstance(messages, list)
    calls = [one for one in messages if isinstance(one, dict) and "tool_calls" in one]
    assert calls[0]["tool_calls"] == [
        {
            "id": "call_1",
            "type": "function",
            "function": {"name": "shell", "arguments": '{"command":["pytest","-q"]}'},
        }
    ]
    answer = messages[messages.index(calls[0]) + 1]
    assert isinstance(answer, dict)
    assert (answer["role"], answer["tool_call_id"], answer["is_error"]) == ("tool", "call_1", True)
    assert line["usage"] == {"prompt_tokens": 6800, "completion_tokens": 180, "cache_read_input_tokens": 5800}


def test_parquet_is_the_tables(home: Home) -> None:
    """Row for row what the snapshot holds, scores of traces that never came as well."""
    load(home, SAMPLES)
    refresh(home, CLOCK)
    out = home.root / "tables"
    with open_snapshot(home) as snapshot:
        done = export(snapshot, "parquet", out)
        tables = ("traces", "spans", "messages", "tool_calls", "scores", "outcomes")
        assert {one.name for one in out.iterdir()} == {f"{one}.parquet" for one in tables}
        total = 0
        for table in tables:
            kept = sorted(map(str, duckdb.sql(f"from '{out / table}.parquet'").fetchall()))
            assert kept == sorted(map(str, snapshot.execute(f"from {table}").fetchall())), table
            total += len(kept)
    assert done.records == total
    assert done.bytes == sum(one.stat().st_size for one in out.iterdir())


def test_chosen_traces_only(home: Home) -> None:
    """By column, period and outcome; the oldest so many."""
    lines = [
        chat(f"question {n}", id=f"c-{n}", start_ns=1_700_000_000_000_000_000 + n, feedback={"value": n % 2})
        for n in range(6)
    ]
    load(home, write_lines(home.root / "in.jsonl", lines))

    def asked(**wanted: object) -> list[str]:
        found = exported(home, "messages", Chosen(**wanted))  # type: ignore[arg-type]
        return [str(one["messages"][0]["content"])[-1] for one in found]  # type: ignore[index,call-overload]

    assert asked() == ["0", "1", "2", "3", "4", "5"]
    assert asked(outcome="fail") == ["0", "2", "4"]
    assert asked(most=2, outcome="pass") == ["1", "3"]
    assert asked(since_ns=1_700_000_000_000_000_002, until_ns=1_700_000_000_000_000_004) == ["2", "3"]
    assert asked(agent="nobody") == []
    ((uid,),) = rows(home, "select trace_uid from traces where native_id = 'c-5'")
    assert asked(traces=[uid]) == ["5"]
    with store_batch(home, CLOCK, "test") as connection:
        done = export(connection, "parquet", home.root / "few", Chosen(outcome="fail"))
    assert done.traces == 3
    assert len(duckdb.sql(f"from '{home.root}/few/messages.parquet'").fetchall()) == 6


def test_batches_hold_whole_traces(home: Home) -> None:
    """However few rows are read at once, a trace is not torn, and none is lost or doubled."""
    load(home, SAMPLES)
    with store_batch(home, CLOCK, "test") as connection:
        some = list(wholes(connection, Chosen(), rows_at_once=40))
        assert some == list(wholes(connection, Chosen()))
        assert len(some) == connection.execute("select count(*) from traces").fetchall()[0][0]
    assert len({one.trace.trace_uid for one in some}) == len(some)


@pytest.mark.parametrize(
    ("target", "name"),
    [("otlp", "x.txt"), ("messages", "missing/x.jsonl"), ("parquet", "file"), ("csv", "x.jsonl")],
)
def test_wrong_names_are_refused(home: Home, target: str, name: str) -> None:
    """Before anything is written: the name says what the file is."""
    load(home, SAMPLES / "chat.jsonl")
    (home.root / "file").write_text("mine")
    with store_batch(home, CLOCK, "test") as connection, pytest.raises(ContractError):
        export(connection, target, home.root / name)
    assert (home.root / "file").read_text() == "mine"
    assert not (home.root / "x.txt").exists()


def test_a_file_is_replaced_when_the_new_one_is_whole(home: Home) -> None:
    """An export that breaks off leaves the old file, and nothing else behind."""
    load(home, SAMPLES / "chat.jsonl")
    folder = home.root / "out"
    folder.mkdir()
    out = folder / "out.jsonl"
    out.write_text("old")

    class Stop(Exception):
        pass

    def stop(what: str, done: int, total: int, note: str = "") -> None:
        raise Stop

    with store_batch(home, CLOCK, "test") as connection, pytest.raises(Stop):
        export(connection, "messages", out, progress=stop)
    assert [(one.name, one.read_text()) for one in folder.iterdir()] == [("out.jsonl", "old")]


def test_progress_and_totals(home: Home) -> None:
    """What could not be said is counted."""
    span = {
        "traceId": "5b" * 16,
        "spanId": "ee" * 8,
        "name": "nap",
        "startTimeUnixNano": "1700000000000000000",
    }
    nap = {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}
    load(home, SAMPLES / "tau.json", write_lines(home.root / "nap.jsonl", [nap]))
    seen: list[tuple[object, ...]] = []
    out = home.root / "out.jsonl"
    with store_batch(home, CLOCK, "test") as connection:
        ((traces,),) = connection.execute("select count(*) from traces").fetchall()
        ((silent,),) = connection.execute(
            "select count(*) from traces anti join messages using (trace_uid)"
        ).fetchall()
        done = export(connection, "messages", out, progress=lambda *told: seen.append(told))
    assert isinstance(done, Exported)
    assert (done.traces, done.empty) == (traces, silent)
    assert silent == 1
    assert done.records == len(out.read_bytes().splitlines()) == traces - silent
    assert done.bytes == out.stat().st_size
    assert seen[0][:3] == ("export", 0, traces)
    assert seen[-1] == ("export", traces, traces, f"{silent} without a conversation")


def test_a_folder_is_no_file(home: Home, tmp_path: Path) -> None:
    """Lines go to a file."""
    load(home, SAMPLES / "chat.jsonl")
    folder = tmp_path / "a.jsonl"
    folder.mkdir()
    with store_batch(home, CLOCK, "test") as connection, pytest.raises(ContractError):
        export(connection, "atif", folder)
