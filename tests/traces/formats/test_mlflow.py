"""MLflow: both versions, ids and times in their spellings, assessments, histories cut to the last messages."""

from pathlib import Path

import orjson
import pytest
from hypothesis import given

from rsi.settings import Home
from rsi.traces.formats import mlflow
from rsi.traces.formats.mlflow_spans import identity
from rsi.traces.rows import Json, JsonObject, Place, Reason, Refusal, Rows
from tests.traces.inputs import SHARED, load, rows, write_lines
from tests.traces.mutated import mutated, records, sample

HERE = Place("default", None, "file", 1, 0)
ALL = sample("mlflow.jsonl")
V3, COLUMN, SEARCHED, TOLD, INFO = ALL
TAU = SHARED / "tau_bench" / "gpt-4o-airline.trials01.json"
TAU6 = SHARED / "derived_tau6"
FILES = sorted(TAU6.glob("mlflow*")) if TAU6.is_dir() else []


def read(record: JsonObject) -> Rows:
    (found,) = mlflow.read(record, HERE)
    assert isinstance(found, Rows)
    return found


@pytest.mark.parametrize("record", ALL)
def test_its_records_are_its_own(record: JsonObject) -> None:
    """By their keys."""
    assert mlflow.matches(record)


@pytest.mark.parametrize(
    "record",
    [{}, {"info": {}}, {"info": {"trace_id": "x"}}, {"info": {"id": "x"}, "data": {}}, {"trace": "text"},
     {"trace_id": "t", "spans": []}, {"info": {"task": {}}, "traj": [], "reward": 1}],
)  # fmt: skip
def test_other_records_are_not(record: JsonObject) -> None:
    """Half of the keys is not enough."""
    assert not mlflow.matches(record)


def test_a_trace_of_version_3() -> None:
    """Base64 ids, JSON text in attributes, tokens, cost, session and user; spans out of order."""
    found = read(V3)
    assert found.trace is not None
    assert (found.native, found.session) == ("tr-00112233445566778899aabbccddeeff", "s-1")
    assert (found.trace.user_ref, found.trace.agent, found.trace.release) == (
        "reader-1",
        "gardener",
        "abc123",
    )
    assert (found.trace.input_text, found.trace.output_text) == ("Will the beans freeze?", "Bye.")
    assert (found.trace.end_ns or 0) - (found.trace.start_ns or 0) == 9_000_000_000
    root, first, tool, *others = found.spans
    assert [one.kind for one in found.spans] == ["agent", "llm", "tool", "llm", "llm", "llm"]
    assert (root.native_id, root.native_parent_id, tool.native_parent_id) == (
        "0000000000000001",
        None,
        root.native_id,
    )
    assert (first.model, first.provider, first.response_id) == ("small-model-2026", "openai", "chatcmpl-2")
    assert (first.input_tokens, first.output_tokens, first.cost_usd) == (20, 2, 0.002)
    assert all(one.native_parent_id == root.native_id for one in others)
    assert len({one.call_uid for one in found.tool_calls}) == 1
    assert {one.arguments for one in found.tool_calls} == {'{"days":1}'}


def test_a_history_cut_to_the_last_messages_keeps_equal_messages_apart() -> None:
    """The user says yes twice, each time in a call that was not told of the other."""
    found = read(V3)
    said = sorted(found.messages, key=lambda one: (one.at_ns, one.seq))
    assert [one.content for one in said] == [
        "You tend a garden.", "Will the beans freeze?", None, "minus 2", "Yes. Cover them?", "yes", "Covered. More?",
        "yes", "Bye.",
    ]  # fmt: skip
    last = found.spans[-1]
    assert len(last.input_messages or []) == 4
    assert set(last.input_messages or []) <= {one.message_uid for one in found.messages}


def test_assessments_are_scores() -> None:
    """Words of judges, low that is good, expectations as corrections, what was overridden without a value."""
    found = read(V3)
    said = {one.name: one for one in found.scores}
    assert (said["safety"].value, said["safety"].said, said["safety"].source) == (1, '"yes"', "llm")
    assert (said["safety"].annotator, said["safety"].comment) == ("judge-model", "harmless")
    assert (said["toxicity"].value, said["toxicity"].said, said["toxicity"].basis) == (
        0.75,
        "0.25",
        "low is good",
    )
    assert (said["toxicity"].target, said["toxicity"].annotator) == ("0000000000000002", None)
    assert (said["answer"].value, said["answer"].correction, said["answer"].source) == (
        None,
        "Cover them by dusk.",
        "human",
    )
    assert said["plan"].correction == '{"steps":2}'
    assert (said["good"].value, said["good"].said, said["good"].basis) == (None, "false", "overridden")
    assert found.trace is not None
    assert orjson.loads(found.trace.expected or "") == {"answer": "Cover them by dusk.", "plan": {"steps": 2}}


def test_a_trace_of_version_2_in_a_column() -> None:
    """Hex ids after 0x, an exception in an event, a completion of plain text."""
    found = read(COLUMN)
    assert found.trace is not None
    assert (found.native, found.trace.error, found.trace.input_text) == (
        "old-1",
        "model gone",
        "Which bed is dry?",
    )
    chain, model = found.spans
    assert (chain.status, chain.error, model.native_parent_id) == ("error", "model gone", chain.native_id)
    assert [(one.role, one.content) for one in found.messages] == [
        ("user", "Q: Which bed is dry?"),
        ("assistant", "Bed 3."),
    ]


def test_a_row_of_a_search_without_spans() -> None:
    """What was asked and answered, and how long it took."""
    found = read(SEARCHED)
    assert found.trace is not None
    assert (found.trace.end_ns or 0) - (found.trace.start_ns or 0) == 1_000_000_000
    assert [(one.role, one.content) for one in found.messages] == [
        ("user", "Hello?"),
        ("assistant", "Hello."),
    ]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("AAAAAAAAAAE=", "0000000000000001"),
        ("0x00000000000000AB", "00000000000000ab"),
        ("00112233445566778899AABBCCDDEEFF", "00112233445566778899aabbccddeeff"),
        ("ABEiM0RVZneImaq7zN3u/w==", "00112233445566778899aabbccddeeff"),
        ("span-1", "span-1"),
        ("AAAAAAAAAAA=", None),
        ("0000000000000000", None),
        ("", None),
        (None, None),
        (["x"], None),
    ],
)
def test_ids_in_every_spelling(value: Json, expected: str | None) -> None:
    """Base64, hex, hex after 0x; zeros are nobody."""
    assert identity(value) == expected


def test_what_says_nothing_is_refused_beside_the_rest() -> None:
    """A span without id, an assessment without content, a trace without a name."""
    info = V3["info"]
    assert isinstance(info, dict)
    odd: JsonObject = {
        "info": {**info, "assessments": [{"assessment_name": "x"}]},
        "data": {"spans": [{"name": "s"}]},
    }
    found = mlflow.read(odd, HERE)
    assert [type(one) for one in found] == [Rows, Refusal, Refusal]
    (refusal,) = mlflow.read({"info": {}, "data": {"spans": []}}, HERE)
    assert isinstance(refusal, Refusal)
    assert refusal.reason is Reason.MISSING_FIELD


def test_what_the_server_answers() -> None:
    """Attributes as a list, under `trace_info`; the info alone has the previews and assessments."""
    found = read(TOLD)
    assert [(one.role, one.content) for one in found.messages] == [
        ("user", "When is it dark?"),
        ("assistant", "At nine."),
    ]
    (span,) = found.spans
    assert (span.kind, span.model, span.input_tokens, span.output_tokens) == ("llm", "example-model", 9, 3)
    alone = read(INFO)
    assert alone.trace is not None
    assert (alone.trace.input_text, alone.trace.output_text) == ("Is it dark?", "Not yet.")
    for one in (found, alone):
        assert one.trace is not None
        assert one.trace.conversation == "s-3"
        assert [(score.name, score.value, score.source) for score in one.scores] == [
            ("helpful", 1.0, "human")
        ]


@given(mutated(ALL))
def test_damaged_records_never_raise(record: JsonObject) -> None:
    """Whatever is missing or of the wrong type, there is something: rows, or why not."""
    mlflow.matches(record)
    assert mlflow.read(record, HERE)


COUNTS = """
select
    (select count(*) from messages m where m.trace_uid = t.trace_uid),
    (select count(*) from v_llm_calls s where s.trace_uid = t.trace_uid),
    (select count(*) from tool_calls c where c.trace_uid = t.trace_uid),
    (select count(*) from tool_calls c where c.trace_uid = t.trace_uid and c.status = 'error'),
    (select count(*) from tool_calls c where c.trace_uid = t.trace_uid and c.status = 'no_result')
from traces t
order by start_ns
"""


@pytest.mark.skipif(not TAU.is_file(), reason=f"no shared trace files at {SHARED}")
@pytest.mark.parametrize("kept", [4, 1000])
def test_six_runs_as_mlflow_spans(home: Home, tmp_path: Path, kept: int) -> None:
    """Rendered here as MLflow does: calls that keep the last messages, tools' spans without ids.

    The user's last word comes after the last call, so that no span holds it.
    """
    wanted = orjson.loads((TAU6 / "EXPECTED.json").read_bytes())
    runs = {(one["task_id"], one["trial"]): one["traj"] for one in orjson.loads(TAU.read_bytes())}
    told = [runs[one["task_id"], one["trial"]] for one in wanted]
    load(
        home,
        write_lines(
            tmp_path / "runs.jsonl", [rendered(number, one, kept) for number, one in enumerate(told)]
        ),
    )
    assert rows(home, COUNTS) == [
        (
            one["n_messages"] - (run[-1]["role"] == "user"),
            one["n_llm_calls"],
            one["n_tool_calls"],
            one["n_tool_errors"],
            0,
        )
        for one, run in zip(wanted, told, strict=True)
    ]


def rendered(number: int, messages: list[dict[str, Json]], kept: int) -> JsonObject:
    """A run as MLflow's trace, later spans first."""
    begin = 1_760_000_000_000_000_000 + number * 10**12

    def span(at: int, name: str, kind: str, given: Json, got: Json) -> Json:
        told = {"mlflow.spanType": kind, "mlflow.spanInputs": given, "mlflow.spanOutputs": got}
        return {
            "span_id": f"{at + 1:016x}", "parent_span_id": f"{1:016x}" if at else None, "name": name,
            "start_time_unix_nano": begin + at * 10**9, "end_time_unix_nano": begin + at * 10**9 + 10**8,
            "status": {"code": "STATUS_CODE_OK"},
            "attributes": {key: orjson.dumps(value).decode() for key, value in told.items()},
        }  # fmt: skip

    spans = [span(0, "airline", "AGENT", {"task": number}, None)]
    for at, one in enumerate(messages):
        if one["role"] == "assistant":
            choice: Json = {"index": 0, "message": one}
            spans.append(
                span(
                    at,
                    "chat",
                    "CHAT_MODEL",
                    {"messages": [*messages[max(at - kept, 0) : at]]},
                    {"choices": [choice]},
                )
            )
        elif one["role"] == "tool":
            calls = messages[at - 1]["tool_calls"]
            assert isinstance(calls, list)
            call = calls[0]["function"]  # type: ignore[index,call-overload]
            spans.append(span(at, call["name"], "TOOL", orjson.loads(call["arguments"]), one["content"]))  # type: ignore[index,call-overload,arg-type]
    return {"info": {"trace_id": f"tr-{number:032x}", "state": "OK"}, "data": {"spans": spans[::-1]}}


@pytest.mark.skipif(not FILES, reason=f"no MLflow file in {TAU6}")
@pytest.mark.parametrize("path", FILES, ids=lambda one: one.name)
def test_six_runs_that_mlflow_wrote(home: Home, path: Path) -> None:
    """The counts that every reader must agree on."""
    assert all(mlflow.matches(one) for one in records(path))
    load(home, path)
    wanted = orjson.loads((TAU6 / "EXPECTED.json").read_bytes())
    found = rows(home, f"select #2, #3, #4 from ({COUNTS})")
    assert sorted(found) == sorted(
        (one["n_llm_calls"], one["n_tool_calls"], one["n_tool_errors"]) for one in wanted
    )
