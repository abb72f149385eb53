"""Runs of tau-bench: the conversation, what was expected, and the environment's reward."""

import orjson
import pytest
from hypothesis import given

from rsi.traces.formats import tau
from rsi.traces.rows import JsonObject, Place, Reason, Refusal, Rows
from tests.traces.inputs import SHARED
from tests.traces.mutated import mutated, records, sample

HERE = Place("default", None, "file", 1, 0)
RUNS = sample("tau.json")
FILE = SHARED / "tau_bench" / "gpt-4o-airline.trials01.json"


def read(record: JsonObject) -> Rows:
    (found,) = tau.read(record, HERE)
    assert isinstance(found, Rows)
    return found


def test_a_run_is_a_trace_with_its_conversation() -> None:
    """Each message once, in order; a call of the model for each message of the assistant."""
    found = read(RUNS[0])
    assert [one.role for one in found.messages] == [one["role"] for one in RUNS[0]["traj"]]
    assert [one.seq for one in found.messages] == list(range(10))
    assert [one.native_id for one in found.spans] == ["message 2", "message 4", "message 6", "message 8"]
    assert found.trace is not None
    assert (found.trace.task_id, found.trace.trial, found.trace.native_id) == ("0", 0, "0/0")
    assert found.trace.input_text == "Please renew B1 and B2, my card is R12."
    assert found.trace.output_text == "Both are renewed for three weeks."


def test_a_repeated_call_id_names_two_calls() -> None:
    """Each with the result behind it."""
    found = read(RUNS[0])
    assert [(one.name, one.native_id, one.arguments, one.result) for one in found.tool_calls] == [
        ("get_reader", "c1", '{"card":"R12"}', '{"name": "Ada"}'),
        ("renew", "c2", '{"book":"B1","weeks":3}', "done"),
        ("renew", "c2", '{"book":"B2","weeks":3}', "done"),
    ]
    assert len({one.call_uid for one in found.tool_calls}) == 3


def test_expected_actions_and_reward() -> None:
    """The task's actions stay with the trace; the reward keeps what it was decided on."""
    found = read(RUNS[1])
    assert found.trace is not None
    assert orjson.loads(found.trace.expected or "")["actions"][1] == {
        "name": "renew",
        "arguments": {"book": "B1", "weeks": 3},
    }
    (score,) = found.scores
    assert (score.name, score.value, score.source, score.basis) == ("reward", 0.0, "env", "r_actions")
    assert orjson.loads(found.trace.metadata or "")["checks"]["gt_data_hash"] == "00"
    assert found.session == "task 0"


def test_actions_of_the_check_stand_in_for_those_of_the_task() -> None:
    """Some runs come without their task."""
    info = {"reward_info": {"actions": [{"name": "renew", "kwargs": {"book": "B1"}}]}}
    found = read({"task_id": 3, "reward": 1, "info": info, "traj": [{"role": "user", "content": "Hi"}]})
    assert found.trace is not None
    assert orjson.loads(found.trace.expected or "") == {
        "actions": [{"name": "renew", "arguments": {"book": "B1"}}],
        "outputs": [],
    }


def test_a_run_that_broke_is_a_trace() -> None:
    """It has no message, but an error."""
    found = read({"task_id": 1, "trial": 0, "reward": 0.0, "info": {"error": "no such model"}, "traj": []})
    assert found.trace is not None
    assert found.trace.error == "no such model"


def test_the_same_task_with_another_trajectory_is_another_trace() -> None:
    """Task and trial repeat over runs of the benchmark."""
    other = {**RUNS[0], "traj": RUNS[0]["traj"][:4]}
    assert read(RUNS[0]).trace_uid != read(other).trace_uid
    assert read(RUNS[0]) == read(dict(reversed(RUNS[0].items())))


@pytest.mark.parametrize(
    ("change", "detail"),
    [({"traj": "text"}, "traj is no list"), ({"reward": None}, "reward 'None' is no number")],
)
def test_what_is_no_run_is_refused(change: JsonObject, detail: str) -> None:
    """With what was found."""
    (found,) = tau.read({**RUNS[0], **change}, HERE)
    assert isinstance(found, Refusal)
    assert found.reason is Reason.BAD_VALUE
    assert detail in found.detail


@given(mutated(RUNS))
def test_damaged_runs(record: JsonObject) -> None:
    """Nothing raises."""
    if tau.matches(record):
        assert tau.read(record, HERE)


@pytest.mark.skipif(not FILE.exists(), reason=f"no shared trace file {FILE}")
def test_a_hundred_runs() -> None:
    """Every message, call, result and reward of the recorded airline runs."""
    runs = records(FILE)
    found = [read(one) for one in runs]
    assert len({one.trace_uid for one in found}) == 100
    assert [len(one.messages) for one in found] == [len(one["traj"]) for one in runs]
    calls = [len(message.get("tool_calls") or []) for one in runs for message in one["traj"]]
    assert sum(len(one.tool_calls) for one in found) == sum(calls)
    assert sum(call.status == "error" for one in found for call in one.tool_calls) == sum(
        message["role"] == "tool" and message["content"].startswith("Error")
        for one in runs
        for message in one["traj"]
    )
    assert sum(score.value or 0 for one in found for score in one.scores) == sum(
        one["reward"] for one in runs
    )
