"""Inspect logs: a trace a sample, its events as steps, attachments and pools put back, scores of every kind."""

import copy

import orjson
import pytest
from hypothesis import given

from rsi.traces.formats import inspect_ai, inspect_content
from rsi.traces.rows import JsonObject, Place, Reason, Refusal, Rows, Span
from tests.traces.inputs import SHARED
from tests.traces.mutated import mutated, records, sample

HERE = Place("default", None, "file", 1, 0)
LOG, CANCELLED = sample("inspect_ai.json")
FOLDER = SHARED / "inspect_ai"


def read(record: JsonObject) -> list[Rows]:
    found = inspect_ai.read(record, HERE)
    assert all(isinstance(one, Rows) for one in found)
    return [one for one in found if isinstance(one, Rows)]


def one_of(sample_: JsonObject) -> Rows:
    (found,) = read({**LOG, "samples": [sample_]})
    return found


def spans(found: Rows) -> dict[str, Span]:
    return {one.native_id: one for one in found.spans}


def test_a_sample_is_a_trace() -> None:
    """With its task, epoch, target, and its own text, which can be read again."""
    first, second = read(LOG)
    assert first.trace is not None
    assert (first.trace.native_id, first.trace.task_id, first.trace.trial) == (
        "sample-uuid-1",
        "garden/tulips",
        1,
    )
    assert (first.trace.agent, first.trace.model) == ("garden", "garden-1-2026")
    assert orjson.loads(first.trace.expected or "") == {"target": "all beds are wet"}
    kept = orjson.loads(first.trace.metadata or "")
    assert (kept["metadata"], kept["store"]) == ({"season": "spring"}, {"wet": ["tulips"]})
    assert kept["model_usage"]["maker/garden-1"]["total_tokens"] == 379
    assert (kept["eval"]["eval_id"], kept["eval"]["status"]) == ("evaluation-id-a", "success")
    assert first.session == "task garden/tulips"
    assert read(orjson.loads(first.part or b""))[0].spans == first.spans
    assert second.trace is not None
    assert second.trace.native_id == "evaluation-id-a/2/1"


def test_messages_with_attachments_and_a_pool() -> None:
    """Each message once, whether it stands in the sample, in a call or in the pool; no reference is left."""
    first = read(LOG)[0]
    assert [(one.role, one.tool_call_id) for one in first.messages] == [
        ("system", None), ("user", None), ("assistant", None), ("tool", "call-1"), ("tool", "call-2"),
        ("assistant", None),
    ]  # fmt: skip
    assert "tulips" in (first.messages[1].content or "")
    assert not [one for one in first.messages if "attachment://" in (one.content or "")]
    assert (first.messages[2].content, first.messages[2].reasoning) == ("I water them.", "They need water.")
    assert first.messages[4].content == "The pump did not answer."
    calls = spans(first)
    assert calls["ev-06.000000-model"].input_messages == [one.message_uid for one in first.messages[:5]]
    assert calls["ev-06.000000-model"].output_messages == [first.messages[5].message_uid]
    assert orjson.loads(calls["ev-07.200000-info"].attributes or "")["data"] == {"note": "a longer note"}


def test_calls_of_models_have_usage() -> None:
    """Input counts what came from the cache, also where the provider counts it apart."""
    call = spans(read(LOG)[0])["ev-03.000000-model"]
    assert (call.kind, call.provider, call.model, call.response_id) == (
        "llm",
        "maker",
        "garden-1-2026",
        "resp-1",
    )
    assert (call.input_tokens, call.output_tokens, call.cache_read_tokens) == (140, 20, 100)
    assert (call.reasoning_tokens, call.cost_usd, call.finish_reason) == (6, 0.002, "tool_calls")
    assert (call.end_ns or 0) - (call.start_ns or 0) == 500_000_000
    told = orjson.loads(call.attributes or "")
    assert told["tools"] == ["water"]
    assert not {"input", "output", "call"} & told.keys()
    other = copy.deepcopy(LOG["samples"][0])
    other["events"][5]["output"]["usage"]["total_tokens"] = 60
    assert spans(one_of(other))["ev-03.000000-model"].input_tokens == 40


def test_tools_as_the_model_asked_and_as_they_ran() -> None:
    """One call each, with its result; an error is the result where there is no other."""
    first = read(LOG)[0]
    uids = {one.call_uid for one in first.tool_calls}
    assert len(uids) == 2
    ended = {one.native_id: (one.status, one.result) for one in first.tool_calls if one.status != "no_result"}
    assert ended == {"call-1": ("ok", "done"), "call-2": ("error", "The pump did not answer.")}
    step = spans(first)["ev-04.600000-tool"]
    assert (step.kind, step.status, step.error) == ("tool", "error", "The pump did not answer.")


def test_spans_are_a_tree_below_the_sample() -> None:
    """With their ends; agents and scorers are told apart; changes of the conversation are no steps."""
    first = spans(read(LOG)[0])
    assert {key: one.native_parent_id for key, one in first.items() if one.kind in ("agent", "evaluator")} == {
        "sample": None, "agent": "solve", "scorers": "sample", "grade": "scorers", "ev-08.800000-score": "grade",
    }  # fmt: skip
    assert (first["solve"].end_ns or 0) - (first["solve"].start_ns or 0) == 5_100_000_000
    assert first["ev-05.700000-store"].kind == "event"
    assert "ev-05.600000-state" not in first
    assert "ev-01.100000-sample_init" not in first


def test_what_a_scorer_asks_is_no_part_of_the_conversation() -> None:
    """Its call counts; what it was told, with the expected answer, is not what the agent was told."""
    first = read(LOG)[0]
    call = spans(first)["ev-08.200000-model"]
    assert (call.kind, call.name, call.input_tokens, call.input_messages) == ("llm", "grade", 30, None)
    assert orjson.loads(call.attributes or "")["output"] == "GRADE: P"
    assert not [one for one in first.messages if "Expected" in (one.content or "")]


def test_scores_of_every_kind() -> None:
    """Letters, numbers, truth values, several under one name, edited ones, none."""
    found = {one.name: one for one in read(LOG)[0].scores}
    assert {name: (one.value, one.source) for name, one in found.items()} == {
        "wet": (0.5, "llm"), "judge.polite": (1.0, "code"), "judge.short": (0.25, "code"), "words": (None, "code"),
        "fine": (1.0, "code"), "fixed": (1.0, "human"), "open": (None, "code"),
    }  # fmt: skip
    assert orjson.loads(found["wet"].said or "") == {
        "value": "P",
        "answer": "tulips",
        "metadata": {"beds": 1},
    }
    assert found["wet"].comment == "Roses are dry."
    assert orjson.loads(found["words"].said or "") == {"value": 4}
    edited = found["fixed"]
    assert (edited.annotator, edited.comment, edited.basis) == (
        "ann",
        "The roses were not asked for.",
        "edited",
    )
    assert edited.ts_ns == 1_770_199_200_000_000_000
    assert len(orjson.loads(edited.said or "")["history"]) == 2


def test_older_logs() -> None:
    """One score without a name; a transcript with steps, events inside a subtask, another protocol."""
    second = read(LOG)[1]
    assert [(one.name, one.value) for one in second.scores] == [("score", 1.0)]
    found = spans(second)
    assert {key: one.native_parent_id for key, one in found.items()} == {
        "sample": None, "event 0": "sample", "event 1": "event 0", "event 1 0": "event 1", "event 2": "event 0",
    }  # fmt: skip
    assert (found["event 0"].end_ns or 0) - (found["event 0"].start_ns or 0) == 10**9
    assert (found["event 1 0"].status, found["event 1 0"].error) == ("error", "rate limit")
    assert (found["event 2"].status, found["event 2"].error) == ("error", "It rained.")
    assert "Look for dry beds." in [one.content for one in second.messages]
    assert second.trace is not None
    assert second.trace.output_text == "The roses."


def test_errors_limits_and_a_run_that_was_cancelled() -> None:
    """Each says why; usage that no call tells stays with the sample."""
    broken, limited, stopped = read(CANCELLED)
    errors = [one.trace.error for one in (broken, limited, stopped) if one.trace]
    assert errors == ["The shears broke.", "message limit", "the run was cancelled"]
    (root,) = broken.spans
    assert (root.kind, root.status, root.input_tokens, root.output_tokens) == ("agent", "error", 8, 3)
    assert (root.end_ns or 0) - (root.start_ns or 0) == 10**9
    assert [one.content for one in stopped.messages] == ["Rest."]


def test_a_sample_without_uuid_in_a_run_without_id_is_named_by_its_content() -> None:
    """Logs whose ids were removed do not collide."""
    bare = {**LOG, "eval": {"run_id": "..."}, "samples": [LOG["samples"][1]]}
    other = copy.deepcopy(bare)
    other["samples"][0]["messages"][1]["content"] = "None."
    assert read(bare)[0].trace_uid == read(copy.deepcopy(bare))[0].trace_uid != read(other)[0].trace_uid


def test_a_sample_alone() -> None:
    """As it lies in an unpacked log."""
    alone = LOG["samples"][0]
    assert inspect_ai.matches(alone)
    assert read(alone)[0].trace_uid == read(LOG)[0].trace_uid


def test_a_log_without_samples_is_refused() -> None:
    """It says how the run ended; a sample that is no object is refused alone."""
    (found,) = inspect_ai.read({**LOG, "samples": None, "status": "error"}, HERE)
    assert isinstance(found, Refusal)
    assert (found.reason, "(error)" in found.detail) == (Reason.MISSING_FIELD, True)
    first, second = inspect_ai.read({**LOG, "samples": ["text", LOG["samples"][1]]}, HERE)
    assert isinstance(first, Refusal)
    assert isinstance(second, Rows)


def test_a_large_text_named_very_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Is put back only so often; ranges of the pool end as well."""
    monkeypatch.setattr(inspect_content, "MAX_TEXT", 250)
    monkeypatch.setattr(inspect_content, "MAX_MESSAGES", 5)
    messages = [{"role": "user", "content": "attachment://a"}] * 4
    content = inspect_content.Content({"attachments": {"a": "x" * 100}, "message_pool": messages})
    said = [one.content for one in content.turns(messages)]
    assert said == ["x" * 100, "x" * 100, "attachment://a", "attachment://a"]
    assert len(content.asked({"input_refs": [[0, 4], [0, 10**12], [2, 1], "x", [0]]})) == 5


def test_a_tool_that_the_model_server_ran() -> None:
    """Call and result stand in one part of the answer."""
    part = {"type": "tool_use", "tool_type": "web_search", "id": "s1", "name": "search", "arguments": '{"q": 1}',
            "result": "found"}  # fmt: skip
    found = one_of(
        {
            "id": 1,
            "epoch": 1,
            "input": "x",
            "target": "",
            "messages": [{"role": "assistant", "content": [part]}],
        }
    )
    assert [(one.name, one.arguments) for one in found.tool_calls] == [("search", '{"q":1}')]
    assert [(one.role, one.content) for one in found.messages] == [("assistant", None), ("tool", "found")]


@given(mutated([LOG, CANCELLED, LOG["samples"][0]]))
def test_damaged_logs(record: JsonObject) -> None:
    """Nothing raises."""
    if inspect_ai.matches(record):
        assert inspect_ai.read(record, HERE)


@pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no shared trace files {FOLDER}")
def test_recorded_logs() -> None:
    """Every sample is a trace with its own messages and scores; only the log without samples is refused."""
    traces, refused = 0, []
    for path in sorted(FOLDER.glob("*.json")):
        for record in records(path):
            assert inspect_ai.matches(record)
            for found, told in zip(inspect_ai.read(record, HERE), record["samples"] or [None], strict=True):
                if isinstance(found, Refusal):
                    refused.append(path.name)
                    continue
                traces += 1
                assert len(found.messages) == len(told["messages"])
                assert {one.name for one in found.scores} == set(told.get("scores") or {})
                assert all(one.value is not None for one in found.scores)
                events = told.get("events") or (told.get("transcript") or {}).get("events") or []
                assert sum(one.kind == "llm" for one in found.spans) == sum(
                    one["event"] == "model" for one in events
                )
    assert traces >= 11
    assert [name for name in refused if "no-samples" not in name] == []
