"""LangSmith: halves of runs joined wherever they are, trees in any order, feedback."""

from pathlib import Path

import orjson
import pytest
from hypothesis import given

from rsi.settings import Home
from rsi.traces.formats import langsmith
from rsi.traces.rows import Json, JsonObject, Place, Reason, Refusal, Rows
from tests.traces.inputs import SHARED, load, rows, write_lines
from tests.traces.mutated import mutated, records, sample

HERE = Place("default", None, "file", 1, 0)
ALL = sample("langsmith.jsonl")
TREE, CREATED, COMPLETED, SINGLE, JUDGED, THUMB = ALL
FOLDER = SHARED / "langsmith"
FILES = sorted(FOLDER.glob("*.json"))
ROOT = "11111111-1111-4111-8111-111111111111"
MODEL = "22222222-2222-4222-8222-222222222222"
shared = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no shared LangSmith files at {FOLDER}")
ROWS_OF = "select count(*), (select count(*) from spans), (select count(*) from messages) from traces"


def read(record: JsonObject) -> Rows:
    (found,) = langsmith.read(record, HERE)
    assert isinstance(found, Rows)
    return found


@pytest.mark.parametrize("record", ALL)
def test_its_records_are_its_own(record: JsonObject) -> None:
    """By their keys."""
    assert langsmith.matches(record)


@pytest.mark.parametrize(
    "record",
    [{}, {"post": []}, {"post": [5], "patch": [{}]}, {"id": "x", "trace_id": "t"}, {"run_id": "x", "score": 1},
     {"id": "x", "run_type": ["llm"], "inputs": {}}],
)  # fmt: skip
def test_other_records_are_not(record: JsonObject) -> None:
    """Half of the keys is not enough."""
    assert not langsmith.matches(record)


def test_a_tree_of_runs_created_and_completed() -> None:
    """LangChain's dumped messages, the tool's call under its id, who asked, in which thread."""
    found = read(TREE)
    assert found.trace is not None
    assert (found.native, found.session, found.trace.user_ref, found.trace.release) == (
        ROOT,
        "s-1",
        "reader-1",
        "r5",
    )
    assert (found.trace.agent, found.trace.model) == ("gardener", "small-model-2026")
    assert (found.trace.input_text, found.trace.output_text) == ("Will the beans freeze?", "Yes, cover them.")
    root, model, tool = found.spans
    assert [one.kind for one in found.spans] == ["step", "llm", "tool"]
    assert (root.native_parent_id, model.native_parent_id, tool.native_parent_id) == (None, ROOT, ROOT)
    assert (model.input_tokens, model.output_tokens, model.cache_read_tokens) == (12, 5, 4)
    assert (model.finish_reason, model.provider, model.status) == ("tool_calls", "openai", "ok")
    assert "new_token" not in (model.attributes or "")
    assert [(one.role, one.content) for one in found.messages] == [
        ("user", "Will the beans freeze?"),
        ("assistant", None),
        ("tool", "minus 2"),
    ]
    assert {(one.native_id, one.name, one.status) for one in found.tool_calls} == {
        ("call_1", "forecast", "no_result"),
        ("call_1", "forecast", "ok"),
    }
    assert len({one.call_uid for one in found.tool_calls}) == 1


def test_halves_in_different_records_are_one_run(home: Home, tmp_path: Path) -> None:
    """In either order and file: one call with its question before its answer, timed from its name's own time."""
    late = write_lines(tmp_path / "a.jsonl", [COMPLETED])
    early = write_lines(tmp_path / "b.jsonl", [CREATED])
    load(home, late, early)
    columns = "name, kind, status, model, provider, input_tokens, end_ns - start_ns"
    columns += ", len(input_messages), len(output_messages)"
    assert rows(home, f"select {columns} from spans") == [
        ("wrapOpenAI", "llm", "ok", "small-model-2026", "openai", 9, 1_500_000_000, 1, 1)
    ]
    assert rows(home, "select role, content from v_conversation order by seq") == [
        ("user", "How tall is an oak?"),
        ("assistant", "Up to forty metres."),
    ]
    assert rows(home, "select input_text, output_text, parts from traces") == [
        ("How tall is an oak?", "Up to forty metres.", 2)
    ]


def test_a_single_run_that_failed() -> None:
    """A completion's prompt is what was asked; cost and tokens as LangSmith counted; the example is the task."""
    found = read(SINGLE)
    (span,) = found.spans
    assert (span.status, span.error, span.input_tokens, span.cost_usd) == (
        "error",
        "RateLimitError('slow down')",
        6,
        0.0001,
    )
    assert found.trace is not None
    assert (found.trace.error, found.trace.time_state) == ("RateLimitError('slow down')", "assumed_utc")
    assert (found.trace.task_id, found.session) == ("cccccccc-cccc-4ccc-8ccc-cccccccccccc",) * 2
    assert [(one.role, one.content) for one in found.messages] == [("user", "Sum up: moss grows.")]


def test_children_inside_their_parents() -> None:
    """As the SDK gives a run with its tree: the same spans."""
    posts, patches = TREE["post"], TREE["patch"]
    assert isinstance(posts, list)
    assert isinstance(patches, list)
    whole: dict[str, JsonObject] = {}
    for one in (*posts, *patches):
        assert isinstance(one, dict)
        told = {
            key: value
            for key, value in one.items()
            if value != {} and key not in ("dotted_order", "trace_id")
        }
        whole[str(one["id"])] = {**whole.get(str(one["id"]), {}), **told}
    root: JsonObject = {**whole.pop(ROOT), "child_runs": [*whole.values()]}
    flat = read(TREE)
    assert [one.span_uid for one in read(root).spans] == [one.span_uid for one in flat.spans]
    assert read(root).messages == flat.messages


def test_several_traces_in_a_batch_are_kept_apart() -> None:
    """Each part holds its own runs and reads as before."""
    both: JsonObject = {
        "post": [*_list(TREE, "post"), *_list(CREATED, "post")],
        "patch": _list(TREE, "patch"),
    }
    found = [one for one in langsmith.read(both, HERE) if isinstance(one, Rows)]
    assert [one.native for one in found] == [ROOT, "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa"]
    for one in found:
        assert one.part is not None
        assert read(orjson.loads(one.part)).spans == one.spans


def test_feedback_finds_its_trace() -> None:
    """By the trace's id, else by the run's, which then is the root."""
    judged, thumb = read(JUDGED), read(THUMB)
    assert judged.trace is None
    assert judged.trace_uid == thumb.trace_uid == read(TREE).trace_uid
    (score,) = judged.scores
    assert (score.name, score.value, score.source, score.target) == ("correctness", 0.5, "llm", MODEL)
    assert (score.correction, score.comment) == ('{"answer":"Cover them by dusk."}', "half right")
    (score,) = thumb.scores
    assert (score.value, score.said, score.source, score.target) == (1, '"up"', "end_user", None)


def test_what_says_nothing_is_refused_beside_the_rest() -> None:
    """A run without id, feedback without a word."""
    found = langsmith.read({**TREE, "patch": [{"end_time": "2026-01-01"}]}, HERE)
    assert [type(one) for one in found] == [Rows, Refusal]
    (refusal,) = langsmith.read({"run_id": "x", "key": "k", "score": None}, HERE)
    assert isinstance(refusal, Refusal)
    assert refusal.reason is Reason.MISSING_FIELD


@given(mutated(ALL))
def test_damaged_records_never_raise(record: JsonObject) -> None:
    """Whatever is missing or of the wrong type, there is something: rows, or why not."""
    langsmith.matches(record)
    assert langsmith.read(record, HERE)


@shared
@pytest.mark.parametrize("path", FILES, ids=lambda one: one.stem)
def test_real_batches_split_into_their_halves(path: Path, home: Home, tmp_path: Path) -> None:
    """One call each: asked, answered, counted; the same from one record as from two."""
    (record,) = records(path)
    found = read(record)
    (span,) = found.spans
    assert (span.kind, span.status, span.finish_reason) == ("llm", "ok", "stop")
    assert [one.role for one in found.messages] == ["user", "assistant"]
    assert all(one.content for one in found.messages)
    is_counted = "no_usage" not in path.name
    assert (span.output_tokens is not None) == is_counted
    halves = [{"patch": record["patch"]}, {"post": record["post"]}]
    load(home, write_lines(tmp_path / "halves.jsonl", halves))
    assert rows(home, ROWS_OF) == [(1, 1, 2)]
    assert rows(home, "select content from v_conversation order by seq") == [
        (one.content,) for one in found.messages
    ]


def _list(record: JsonObject, key: str) -> list[Json]:
    value = record[key]
    assert isinstance(value, list)
    return [*value]
