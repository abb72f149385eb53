"""SWE-agent trajectories of every generation: one conversation, its commands as tools, how it ended."""

import orjson
import pytest
from hypothesis import given

from rsi.traces.formats import swe_agent
from rsi.traces.rows import JsonObject, Place, Refusal, Rows
from tests.traces.inputs import SHARED
from tests.traces.mutated import mutated, records, sample

HERE = Place("default", None, "file", 1, 0, "runs/sum-1.traj")
OLD, NEW, ONLY, MINI = sample("swe_agent.json")
FOLDER = SHARED / "swe_agent"


def read(record: JsonObject, place: Place = HERE) -> Rows:
    (found,) = swe_agent.read(record, place)
    assert isinstance(found, Rows)
    assert found.trace is not None
    return found


@pytest.mark.parametrize("record", [OLD, NEW, ONLY, MINI])
def test_its_records_are_its_own(record: JsonObject) -> None:
    """By their keys."""
    assert swe_agent.matches(record)


def test_commands_in_text_are_calls_of_tools() -> None:
    """Named by the agent's own commands, else the shell; each with its output and the state of the shell."""
    found = read(OLD)
    assert [(one.name, one.arguments, one.result, one.status) for one in found.tool_calls] == [
        ("find_file", '{"command":"find_file \\"sum.py\\"\\n"}', "src/sum.py\r\n", "ok"),
        ("bash", '{"command":"python src/sum.py\\n"}', "Error: no such option", "error"),
        ("submit", '{"command":"submit\\n"}', "diff --git a b", "ok"),
    ]
    states = [orjson.loads(one.attributes or "")["state"] for one in found.spans if one.kind == "tool"]
    assert states == [{"open_file": "n/a", "working_dir": "/repo"}, {"open_file": "n/a"}, "not json"]


def test_demonstrations_are_no_part_of_the_conversation() -> None:
    """They are counted."""
    found = read(OLD)
    assert len(found.messages) == 7
    assert found.trace is not None
    assert found.trace.input_text == "ISSUE: the sum is wrong."
    assert orjson.loads(found.trace.metadata or "")["demonstration_turns"] == 1


def test_a_run_has_its_cost_and_its_end() -> None:
    """The totals stand with the run; each message of the assistant is a call of the model."""
    found = read(OLD)
    root = found.spans[0]
    assert (root.kind, root.status, root.input_tokens, root.output_tokens, root.cost_usd) == (
        "agent",
        "ok",
        900,
        60,
        0.25,
    )
    assert sum(one.kind == "llm" for one in found.spans) == 3
    assert found.trace is not None
    assert (found.trace.task_id, found.session, found.trace.error) == ("sum-1", "sum-1", None)
    assert orjson.loads(found.trace.metadata or "")["submission"] == "diff --git a b"
    assert found.scores == ()


def test_newer_runs_call_tools() -> None:
    """Once, though the trajectory repeats it; task and model are those of the configuration, whose keys stay out."""
    found = read(NEW)
    assert [(one.name, one.native_id, one.result) for one in found.tool_calls] == [
        ("str_replace_editor", "call-1", "def total(a):")
    ]
    assert found.trace is not None
    assert (found.trace.task_id, found.trace.model, found.trace.error) == ("sum-2", "coder-1", "exit_cost")
    assert "never kept" not in str(found)
    assert [one.role for one in found.messages] == ["system", "user", "assistant", "tool"]


def test_a_history_alone() -> None:
    """As in demonstrations."""
    found = read(ONLY)
    assert ([one.status for one in found.tool_calls], len(found.messages)) == (["ok"], 3)


def test_mini_trajectories() -> None:
    """Commands stand beside the answer, output beside the next message; calls tell their usage."""
    found = read(MINI)
    assert [(one.name, one.arguments, one.result) for one in found.tool_calls] == [
        ("bash", '{"command":"ls"}', "sum.py")
    ]
    (call,) = [one for one in found.spans if one.kind == "llm"]
    assert (call.model, call.response_id, call.input_tokens, call.cost_usd) == (
        "coder-2-2026",
        "resp-9",
        50,
        0.01,
    )
    assert found.trace is not None
    assert (found.trace.task_id, found.trace.model, found.trace.error) == ("sum-3", "coder-2", None)
    assert "never kept" not in str(found)


def test_a_trajectory_without_history() -> None:
    """Answers and output are the conversation."""
    found = read({key: value for key, value in OLD.items() if key != "history"})
    assert [one.role for one in found.messages] == ["assistant", "user"] * 3


def test_the_same_run_elsewhere_is_the_same_trace() -> None:
    """Its content names it, not its file."""
    assert read(OLD).trace_uid == read(OLD, Place("default", None, "other", 7, 3, "copy.traj")).trace_uid


def test_a_trajectory_in_which_nothing_is_said_is_refused() -> None:
    """An agent that broke before its first turn."""
    (found,) = swe_agent.read({"trajectory": [], "history": [], "info": {}}, HERE)
    assert isinstance(found, Refusal)


@given(mutated([OLD, NEW, ONLY, MINI]))
def test_damaged_trajectories(record: JsonObject) -> None:
    """Nothing raises."""
    if swe_agent.matches(record):
        assert swe_agent.read(record, HERE)


@pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no shared trace files {FOLDER}")
def test_recorded_runs() -> None:
    """Every turn that is no demonstration, and every command with its output."""
    for path in sorted(FOLDER.glob("*.traj")):
        (record,) = records(path)
        assert swe_agent.matches(record)
        found = read(record)
        told = [one for one in record["history"] if one.get("is_demo") is not True]
        assert len(found.messages) == len(told)
        done = len(record.get("trajectory", ())) or sum(len(one.get("tool_calls") or ()) for one in told)
        assert len(found.tool_calls) == done
        assert all(one.result is not None for one in found.tool_calls)
