"""ToolBench answers: the way that was taken is the conversation, the tree is the steps."""

import orjson
import pytest
from hypothesis import given

from rsi.traces.formats import toolbench
from rsi.traces.rows import JsonObject, Place, Rows
from tests.traces.inputs import SHARED
from tests.traces.mutated import mutated, records, sample

HERE = Place("default", None, "file", 1, 0, "G1_answer/7_model_DFS.json")
WON, LOST, CHAIN = sample("toolbench.json")
FOLDER = SHARED / "toolbench"


def read(record: JsonObject) -> Rows:
    (found,) = toolbench.read(record, HERE)
    assert isinstance(found, Rows)
    assert found.trace is not None
    return found


def test_the_way_to_the_answer_is_the_conversation() -> None:
    """A thought and the call behind it are one turn; branches that gave up are none of it."""
    found = read(WON)
    assert [(one.role, one.content) for one in found.messages] == [
        ("system", "You can use tools."), ("user", "Where is Ada?"), ("assistant", None),
        ("tool", '{"error": "no such function"}'), ("assistant", "Try the port."), ("tool", '{"ships": ["Ada"]}'),
        ("assistant", None), ("tool", '{"response":"ok"}'),
    ]  # fmt: skip
    assert found.trace is not None
    assert (found.trace.input_text, found.trace.output_text) == ("Where is Ada?", "Ada lies in Brest.")


def test_every_branch_is_a_step() -> None:
    """Named by its place; calls of the model are as many as the producer counts; a broken argument is kept."""
    found = read(WON)
    assert len(found.spans) == 10
    assert sum(one.kind == "llm" for one in found.spans) == WON["answer_generation"]["query_count"]
    spans = {one.native_id: one for one in found.spans}
    assert (spans["node.0.0"].native_parent_id, spans["node.0.0"].status) == ("node.0", "error")
    assert orjson.loads(spans["node.0.0.0"].attributes or "")["thought"] == "Nothing found."
    calls = sorted((one.name, one.status, one.arguments_state) for one in found.tool_calls)
    assert calls == [
        ("Finish", "ok", "object"), ("Finish", "ok", "object"), ("find_port", "ok", "invalid"),
        ("find_ship", "error", "object"),
    ]  # fmt: skip


def test_win_says_that_an_answer_was_given() -> None:
    """With how the run ended."""
    (score,) = read(WON).scores
    assert (score.name, score.value, score.source, score.basis) == ("win", 1.0, "code", "give_answer")
    (score,) = read(LOST).scores
    assert (score.value, score.basis) == (0.0, None)


def test_runs_without_an_answer_and_runs_of_attempts() -> None:
    """Keys are missing there, or a chain stands for the tree."""
    assert [(one.role, one.content) for one in read(LOST).messages] == [
        ("user", "Where is Bob?"),
        ("assistant", "I do not know."),
    ]
    found = read(CHAIN)
    assert [(one.name, one.result) for one in found.tool_calls] == [("find_ship", "found")]
    assert found.trace is not None
    assert (found.trace.output_text, found.trace.task_id) == ("Here.", "7_model_DFS")


@given(mutated([WON, LOST, CHAIN]))
def test_damaged_answers(record: JsonObject) -> None:
    """Nothing raises."""
    if toolbench.matches(record):
        assert toolbench.read(record, HERE)


@pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no shared trace files {FOLDER}")
def test_recorded_answers() -> None:
    """Each is a trace with its query, its outcome and a step for each node."""
    for path in sorted(FOLDER.glob("*/*.json")):
        (record,) = records(path)
        assert toolbench.matches(record)
        found = read(record)
        assert found.trace is not None
        assert found.trace.input_text == record["answer_generation"]["query"]
        assert [one.value for one in found.scores] == [float(record["win"])]
        assert len(found.spans) == record["tree"]["size"] - 1 or len(found.spans) >= len(found.tool_calls)
