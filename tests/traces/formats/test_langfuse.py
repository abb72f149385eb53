"""Langfuse: downloads, API answers, rows and batches; and agreement with Langfuse on what can be read as chat."""

from pathlib import Path

import orjson
import pytest
from hypothesis import given

from rsi.settings import Home
from rsi.traces.decode import decode_text
from rsi.traces.formats import langfuse
from rsi.traces.rows import Json, JsonObject, Message, Place, Reason, Refusal, Rows, Span
from tests.traces.inputs import SHARED, load, rows, write_lines
from tests.traces.mutated import mutated, records, sample

HERE = Place("default", None, "file", 1, 0)
ALL = sample("langfuse.jsonl")
DOWNLOAD, API, ROW, TRACE, SCORE, PAGE, BATCH = ALL
TRACES = SHARED / "langfuse" / "traces"
FILES = sorted(TRACES.glob("*.json"))
shared = pytest.mark.skipif(not TRACES.is_dir(), reason=f"no shared Langfuse files at {TRACES}")


def read(record: JsonObject) -> Rows:
    (found,) = langfuse.read(record, HERE)
    assert isinstance(found, Rows)
    return found


def spans(found: Rows) -> dict[str, Span]:
    return {one.native_id: one for one in found.spans}


def spoken(found: Rows, uids: list[str] | None) -> list[Message]:
    """The messages that a span names."""
    by_uid = {one.message_uid: one for one in found.messages}
    return [by_uid[uid] for uid in uids or []]


@pytest.mark.parametrize("record", ALL)
def test_its_records_are_its_own(record: JsonObject) -> None:
    """By their keys, in either spelling."""
    assert langfuse.matches(record)


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"trace": {}},
        {"trace": "x", "observations": []},
        {"data": [5]},
        {"batch": [{"type": ["trace-create"], "body": {}}]},
        {"id": "x", "traceId": "t", "startTime": "2026-01-01", "type": "user"},
        {"id": "x", "name": "n", "value": 1, "traceId": "t"},
        {"id": "x", "timestamp": 1, "version": "1", "type": "assistant", "sessionId": "s"},
    ],
)
def test_other_records_are_not(record: JsonObject) -> None:
    """Half of the keys is not enough."""
    assert not langfuse.matches(record)


def test_a_download_with_its_tree_out_of_order() -> None:
    """Doubly encoded JSON, both model calls, the tool's span without an id, the orphan with its parent's name."""
    found = read(DOWNLOAD)
    assert found.trace is not None
    assert (found.trace.conversation, found.trace.user_ref, found.trace.agent) == (
        "s-1",
        "reader-1",
        "gardener",
    )
    assert (found.trace.release, found.trace.environment, found.trace.version) == (
        "2026.3",
        "production",
        None,
    )
    assert (found.trace.input_text, found.trace.output_text) == (
        "Will the beans freeze tonight?",
        "Yes, cover them.",
    )
    assert orjson.loads(found.trace.metadata or "") == {
        "name": "garden bot", "tags": ["night"], "version": "v7", "projectId": "garden", "bookmarked": True,
        "metadata": {"bed": "4"},
    }  # fmt: skip
    by_id = spans(found)
    assert {key: (one.kind, one.native_parent_id) for key, one in by_id.items()} == {
        "ob-1": ("agent", None),
        "ob-2": ("llm", "ob-1"),
        "ob-3": ("tool", "ob-1"),
        "ob-4": ("llm", "ob-1"),
        "ob-5": ("event", "gone"),
    }
    answer = by_id["ob-4"]
    assert [one.role for one in spoken(found, answer.input_messages)] == [
        "system",
        "user",
        "assistant",
        "tool",
    ]
    assert [one.content for one in spoken(found, answer.output_messages)] == ["Yes, cover them."]
    assert (answer.input_tokens, answer.output_tokens, answer.cache_read_tokens, answer.reasoning_tokens) == (
        50,
        8,
        10,
        2,
    )
    assert (answer.cost_usd, by_id["ob-2"].cost_usd, by_id["ob-1"].cost_usd) == (0.0004, None, None)
    assert (answer.provider, answer.response_id, answer.instrumentation) == (
        "openai",
        "resp_2",
        "garden-agent",
    )
    assert "copied" not in (answer.attributes or "")
    assert [one.role for one in found.messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert {(one.native_id, one.arguments) for one in found.tool_calls} == {("call_1", '{"days":1}')}
    assert len({one.call_uid for one in found.tool_calls}) == 1
    assert {one.status for one in found.tool_calls} == {"ok", "no_result"}


def test_scores_say_which_way_they_point() -> None:
    """Little toxicity is good; a category and stars have no value; corrections are corrections."""
    said = {one.name: one for one in read(DOWNLOAD).scores}
    toxic = said["toxicity"]
    assert (toxic.value, toxic.said, toxic.basis, toxic.source) == (0.8, "0.2", "low is good", "llm")
    helpful = said["helpful"]
    assert (helpful.value, helpful.source, helpful.target, helpful.annotator) == (
        1,
        "human",
        "ob-4",
        "gardener@example.com",
    )
    assert (said["tone"].value, said["tone"].said) == (None, '"terse"')
    assert (said["stars"].value, said["stars"].said, said["stars"].source) == (None, "4", "code")
    correction = said["output"]
    assert (correction.value, correction.correction, correction.basis) == (
        None, "Yes, cover them before dusk.", "correction",
    )  # fmt: skip
    ((thumb),) = read(API).scores
    assert (thumb.name, thumb.value, thumb.source, thumb.comment) == (
        "user-feedback",
        0,
        "end_user",
        "too short",
    )


def test_plain_text_is_the_traces_conversation_and_no_message_of_the_call() -> None:
    """The call keeps it beside, as it was logged."""
    found = read(API)
    (span,) = found.spans
    assert (span.kind, span.input_messages, span.output_messages) == ("llm", None, None)
    assert [(one.role, one.content) for one in found.messages] == [
        ("user", "user: Write a haiku on moss."),
        ("assistant", "Moss on the old stone"),
    ]
    assert orjson.loads(span.attributes or "") == {
        "input": "user: Write a haiku on moss.",
        "output": "Moss on the old stone",
    }
    assert found.trace is not None
    assert (found.trace.release, found.trace.input_text) == ("v8", "Write a haiku on moss.")


def test_rows_of_an_export_are_parts_of_one_trace(home: Home, tmp_path: Path) -> None:
    """Snake case, times without a zone, in any order and file: one trace, its error, its score."""
    first = write_lines(tmp_path / "scores.jsonl", [SCORE])
    second = write_lines(tmp_path / "rest.jsonl", [TRACE, ROW])
    load(home, first, second)
    columns = "native_id, conversation, user_ref is null, input_text, error, time_state"
    assert rows(home, f"select {columns} from traces") == [
        ("lf-3", "s-3", False, "Which bed is dry?", "overloaded", "assumed_utc")
    ]
    assert rows(home, "select role, content from v_conversation order by seq") == [
        ("system", "Answer briefly."),
        ("user", "Which bed is dry?"),
    ]
    assert rows(home, "select native_id, status, error, provider, input_tokens from spans") == [
        ("ob-20", "error", "overloaded", "anthropic", 7)
    ]
    assert rows(home, "select name, value, target from scores") == [("hallucination", 0.0, "ob-20")]


def test_a_page_about_several_traces_is_kept_apart() -> None:
    """Each part reads as the page did."""
    found = [one for one in langfuse.read(PAGE, HERE) if isinstance(one, Rows)]
    assert [one.native for one in found] == ["lf-4", "lf-5"]
    for one in found:
        assert one.part is not None
        again = read(orjson.loads(one.part))
        assert (again.trace, again.spans, again.messages) == (one.trace, one.spans, one.messages)


def test_state_of_a_chain_is_read_where_no_model_call_tells_it() -> None:
    """The outermost span alone; a span whose output is a tool's message ran that tool."""
    graph, vercel = (one for one in langfuse.read(PAGE, HERE) if isinstance(one, Rows))
    assert [(one.role, one.content) for one in graph.messages] == [
        ("user", "Water bed 2."),
        ("assistant", "Done."),
    ]
    (call,) = graph.tool_calls
    assert (call.native_id, call.name, call.arguments, call.result) == (
        "call_w",
        "water",
        '{"bed":2}',
        "5 litres",
    )
    (outer,) = vercel.spans
    assert (outer.kind, outer.model) == ("step", "small-model")
    assert [one.role for one in vercel.messages] == ["user", "assistant"]


def test_a_row_of_a_child_says_nothing_of_the_whole_trace() -> None:
    """Its error and its state are its own."""
    child = {**ROW, "parent_observation_id": "ob-19", "type": "SPAN", "output": '{"answer": "none"}'}
    found = read(child)
    assert found.trace is not None
    assert (found.trace.error, found.trace.input_text, found.trace.output_text) == (
        None,
        "Which bed is dry?",
        None,
    )
    assert found.spans[0].error == "overloaded"


def test_create_and_update_of_the_older_api_are_one_span() -> None:
    """What the later one says stands."""
    found = read(BATCH)
    (span,) = found.spans
    assert (span.kind, span.name, span.model, span.status) == ("llm", "greet", "small-model", "ok")
    assert (span.input_tokens, span.output_tokens) == (3, 2)
    assert [(one.role, one.content) for one in found.messages] == [
        ("user", "Hello?"),
        ("assistant", "Hello."),
    ]


def test_what_names_no_trace_is_refused_beside_the_rest() -> None:
    """Scores of sessions, observations without id; the rest loads."""
    score: JsonObject = {
        "id": "x",
        "name": "n",
        "value": 1,
        "source": "API",
        "dataType": "NUMERIC",
        "sessionId": "s",
    }
    found = langfuse.read({"data": [score, SCORE]}, HERE)
    assert [type(one) for one in found] == [Rows, Refusal]
    empty: JsonObject = {**score, "traceId": "t", "value": None}
    (row, refusal) = langfuse.read(
        {"trace": {"id": "t"}, "observations": [{"id": ""}], "scores": [empty]}, HERE
    )[1:]
    assert isinstance(row, Refusal)
    assert isinstance(refusal, Refusal)
    assert (row.reason, refusal.reason) == (Reason.MISSING_FIELD, Reason.MISSING_FIELD)
    assert refusal.part is not None


def test_scores_of_the_newest_api_name_what_they_judge() -> None:
    """A subject in place of ids."""
    score: JsonObject = {"id": "x", "name": "n", "value": 1, "source": "API", "dataType": "NUMERIC"}
    of_span: JsonObject = {**score, "subject": {"kind": "observation", "id": "o", "traceId": "t"}}
    assert (read(of_span).native, read(of_span).scores[0].target) == ("t", "o")
    assert read({**score, "subject": {"kind": "trace", "id": "t"}}).trace_uid == read(of_span).trace_uid


def test_a_trace_exported_twice_is_one(home: Home, tmp_path: Path) -> None:
    """As download and as the API nests it, in two files."""
    trace, observations = DOWNLOAD["trace"], DOWNLOAD["observations"]
    assert isinstance(trace, dict)
    again: JsonObject = {**trace, "observations": observations}
    counts = (
        "select (select count(*) from traces), (select count(*) from spans), (select count(*) from messages), "
        "(select count(*) from tool_calls), (select count(*) from scores), (select sum(input_tokens) from v_llm_calls)"
    )
    load(home, write_lines(tmp_path / "first.jsonl", [DOWNLOAD]))
    once = rows(home, counts)
    assert once == [(1, 5, 5, 1, 5, 70)]
    load(home, write_lines(tmp_path / "second.jsonl", [again]))
    assert rows(home, counts) == once


@given(mutated(ALL))
def test_damaged_records_never_raise(record: JsonObject) -> None:
    """Whatever is missing or of the wrong type, there is something: rows, or why not."""
    langfuse.matches(record)
    found = langfuse.read(record, HERE)
    assert found
    assert langfuse.read(record, HERE) == found


@shared
@given(mutated([one for path in FILES for one in records(path)] or [{}]))
def test_damaged_downloads_never_raise(record: JsonObject) -> None:
    """The same of real ones."""
    assert langfuse.read(record, HERE)


@shared
@pytest.mark.parametrize("path", FILES, ids=lambda one: one.name.split(".")[0])
def test_real_downloads_whatever_the_order_of_their_rows(path: Path) -> None:
    """Every observation is a span, every score is there; the same rows when the tree is turned around."""
    (record,) = records(path)
    found = read(record)
    trace = record["trace"]
    assert isinstance(trace, dict)
    observations = record["observations"]
    assert isinstance(observations, list)
    assert len(found.spans) == len(observations)
    assert len(found.scores) == len(trace.get("scores") or []) + len(trace.get("corrections") or [])  # type: ignore[arg-type]
    inside: JsonObject = {**trace, "observations": observations[::-1]}
    assert read({"trace": inside, "observations": []}) == found
    assert langfuse.read(inside, HERE) == (found,)
    assert all(one.content_state != "absent" or one.role == "assistant" for one in found.messages)


@shared
@pytest.mark.parametrize("path", FILES, ids=lambda one: one.name.split(".")[0])
def test_agreement_on_what_can_be_read_as_chat(path: Path) -> None:
    """Of each observation, Langfuse's own reading is kept beside the trace, for input and output.

    A side that it could read holds messages. It also takes any object for a message: one that says neither who
    speaks nor what is such an object, and says nothing of a tool or a chain; of a model's call, it is the answer.
    """
    (record,) = records(path)
    found = read(record)
    (expected,) = records(path.parent.parent / "expected_chatml" / path.name.replace(".trace.", ".chatml."))
    by_id = spans(found)
    assert expected.keys() <= by_id.keys()
    for name, span in by_id.items():
        told = expected.get(name)
        sides = told if isinstance(told, dict) else {}
        heard = {key: chat(side, span, key) for key, side in sides.items()}
        if span.kind in ("llm", "step", "agent"):
            assert bool(span.input_messages or span.output_messages) == any(heard.values()), name
        for key, uids in (("input", span.input_messages), ("output", span.output_messages)):
            messages = spoken(found, uids)
            if heard.get(key):
                for ours, theirs in zip(messages, heard[key], strict=True):
                    assert same(ours, theirs), (name, key, ours, theirs)


def chat(side: Json, span: Span, key: str) -> list[JsonObject]:
    """The messages of one side as Langfuse read it; none where it could not, or read some object as one."""
    if not isinstance(side, dict) or side.get("success") is not True:
        return []
    data = side["data"]
    assert isinstance(data, list)
    messages = [one for one in data if isinstance(one, dict)]
    is_answer = span.kind == "llm" and key == "output"
    return messages if is_answer or any("role" in one for one in messages) else []


def same(ours: Message, theirs: JsonObject) -> bool:
    """Whether a message has the role and the text that Langfuse found."""
    role = theirs.get("role", "assistant")
    inner = theirs.get("json")
    content = theirs.get("content")
    if content is None and isinstance(inner, dict) and isinstance(inner.get("message"), dict):
        content = inner["message"].get("content")  # type: ignore[union-attr]
    if isinstance(content, list):
        content = "\n".join(str(one["text"]) for one in content if isinstance(one, dict) and "text" in one)
    # LangChain's JavaScript gives the tool's name as its role.
    is_role = ours.role == {"model": "assistant"}.get(str(role), role) or ours.role == "tool"
    return is_role and (ours.content == content or plain(ours.content) == plain(content))


def plain(content: Json) -> Json:
    """Text, or what JSON text holds: the order of an object's fields says nothing."""
    value = decode_text(content) if isinstance(content, str) else None
    return content or "" if value is None else value
