"""Chat logs: conversations, calls, thumbs, weak ids, growing history."""

from pathlib import Path

import orjson
import pytest
from hypothesis import given

from rsi.ids import digest, uid
from rsi.records import Origin
from rsi.settings import Home
from rsi.traces.formats import chat, fields
from rsi.traces.rows import Json, JsonObject, Place, Reason, Refusal, Rows, Span
from tests.traces.inputs import SAMPLES, SHARED, load, rows, write_lines
from tests.traces.mutated import mutated, sample

HERE = Place("default", None, "file", 1, 0)
ALL = sample("chat.jsonl")
TAU6 = SHARED / "derived_tau6"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason=f"no shared trace files at {SHARED}")


def read(record: JsonObject, place: Place = HERE) -> Rows:
    found = chat.read(record, place)[0]
    assert isinstance(found, Rows)
    return found


def asked(*texts: str) -> list[Json]:
    """A conversation that the user begins."""
    roles = ("user", "assistant")
    return [{"role": roles[at % 2], "content": text} for at, text in enumerate(texts)]


def call(*texts: str, **more: Json) -> JsonObject:
    """A request with all but the last text, and the last one as its answer."""
    answer: JsonObject = {"choices": [{"message": {"role": "assistant", "content": texts[-1]}}]}
    return {"request": {"messages": asked(*texts[:-1])}, "response": answer, **more}


def test_chat_logs(home: Home) -> None:
    """Conversations, calls, pictures, tools, thumbs and scores; requests with one trace id are one trace."""
    load(home, SAMPLES / "chat.jsonl")
    assert rows(home, "select count(*), sum(parts) from traces") == [(9, 10)]
    assert rows(
        home,
        "select native_id, input_text, output_text, error, conversation from traces "
        "where native_id in ('conv-1', 'conv-2', 'req-6', 'walk-7') order by 1",
    ) == [
        ("conv-1", "When do I prune a pear tree?", "In late winter, before the buds swell.", None, "s-anna"),
        ("conv-2", "And a plum?", "In autumn.", None, "s-anna"),
        ("req-6", "Name another.", None, "the model is overloaded", None),
        ("walk-7", "Is frost coming?", "Yes, cover the beds.", None, None),
    ]
    assert rows(home, "select name, status, arguments, result from tool_calls order by name") == [
        ("forecast", "ok", '{"days":2}', "minus 3 tonight"),
        ("water", "error", '{"bed":"tomatoes","litres":5}', "Error: valve 3 is closed"),
    ]
    assert rows(
        home, "select role, content from messages m join traces t using (trace_uid) "
        "where native_id = 'walk-7' order by seq",
    ) == [
        ("user", "Is frost coming?"),
        ("assistant", None),
        ("tool", "minus 3 tonight"),
        ("assistant", "Yes, cover the beds."),
    ]  # fmt: skip
    assert rows(home, "select name, value, correction, source, basis from scores order by all") == [
        ("feedback", 0.0, "In summer, so that silver leaf cannot get in.", "human", None),
        ("feedback", 0.0, None, "human", "label"),
        ("feedback", 1.0, None, "end_user", None),
        ("route", 0.0, "L3", "label", None),
        ("tone", 0.75, None, "llm", None),
    ]


def test_times_say_how_sure_they_are(home: Home) -> None:
    """Nanoseconds survive; a time without a zone is assumed UTC; none is missing, not invented."""
    load(home, SAMPLES / "chat.jsonl")
    found = rows(
        home,
        "select native_id, start_ns, start_ts, time_state from traces "
        "where native_id in ('conv-1', 'req-5', 'req-6', 'conv-4') order by 1",
    )
    assert [(name, ns, state) for name, ns, _, state in found] == [
        ("conv-1", 1_760_000_000_000_000_000, "exact"),
        ("conv-4", None, "missing"),
        ("req-5", 1_760_000_005_123_456_789, "exact"),
        ("req-6", 1_760_000_010_000_000_000, "assumed_utc"),
    ]
    assert str(found[2][2]) == "2025-10-09 08:53:25.123456"


def test_content_parts_and_empty_answers(home: Home) -> None:
    """Text parts are text, others are named; empty, absent and full differ."""
    load(home, SAMPLES / "chat.jsonl")
    assert rows(home, "select content from messages where content like '%picture%'") == [
        ("What is on this picture?\n[image_url]",)
    ]
    assert rows(home, "select content_state, count(*) from messages group by all order by all") == [
        ("absent", 2),
        ("empty", 1),
        ("full", 21),
    ]


def test_a_weak_id_does_not_merge_different_conversations() -> None:
    """The same `id` with other messages is another trace; the same messages again are the same trace."""
    one = read({"id": "x", "messages": asked("a")})
    other = read({"id": "x", "messages": asked("b")})
    judged = read({"id": "x", "messages": asked("a"), "feedback": [{"value": 1}]})
    assert one.trace_uid != other.trace_uid
    assert one.trace_uid == judged.trace_uid


def test_the_name_of_a_trace_is_its_id_and_content() -> None:
    """Written down, since labels and banks hold it."""
    record = call("hi", "ho", id="req-1")
    content = digest([asked("hi"), fields.table(record["response"])["choices"]])
    assert read(record).trace_uid == uid("default", "chat", "req-1", content)
    nameless = read({**record, "id": "None"})
    assert nameless.trace_uid == uid("default", "chat", "", content)
    assert nameless.trace is not None
    assert nameless.trace.native_id == content


def test_growing_history_in_a_session_is_one_trace(home: Home, tmp_path: Path) -> None:
    """Each message once, each call a span; what opens otherwise is another trace of the session."""
    first = call("hi", "ho", session_id="s")
    second = call("hi", "ho", "and?", "that is all", session_id="s")
    other = call("a new matter", "yes", session_id="s")
    loose = [call("hi", "ho"), call("hi", "ho", "and?", "that is all")]
    file = write_lines(tmp_path / "grown.jsonl", [second, other, first, *loose])
    assert load(home, file).loaded == 5
    assert rows(
        home,
        "select conversation, (select count(*) from messages m where m.trace_uid = t.trace_uid), "
        "(select count(*) from v_llm_calls s where s.trace_uid = t.trace_uid) from traces t order by all",
    ) == [("s", 2, 1), ("s", 4, 2), (None, 2, 1), (None, 4, 1)]


def test_calls_of_one_response_id_are_calls_of_their_own() -> None:
    """A proxy that repeats an id does not make two calls one."""
    spans: list[Span] = []
    for texts in (("a", "b"), ("c", "d")):
        record = call(*texts, trace_id="t")
        fields.table(record["response"])["id"] = "chatcmpl-same"
        spans.extend(read(record).spans)
    assert [one.response_id for one in spans] == ["chatcmpl-same"] * 2
    assert len({one.span_uid for one in spans}) == 2


def test_what_a_call_says_beside() -> None:
    """Parameters, names of tools, tokens of all kinds, cost, the other choices, user and agent."""
    record: JsonObject = {
        "workload_id": "shop.agent", "client_id": "c-1", "timestamp": 1_760_000_000,
        "request": {"model": "m", "temperature": 0.5, "user": "reader-1", "messages": asked("hi"),
                    "tools": [{"type": "function", "function": {"name": "water"}}]},
        "response": {"id": "r", "model": "m-1", "service_tier": "flex",
                     "choices": [{"index": 0, "message": {"content": "ho"}, "finish_reason": "stop"},
                                 {"index": 1, "message": {"content": "hum"}}],
                     "usage": {"prompt_tokens": 9, "completion_tokens": 5, "cost": 0.25,
                               "prompt_tokens_details": {"cached_tokens": 4},
                               "completion_tokens_details": {"reasoning_tokens": 2}}},
    }  # fmt: skip
    found = read(record)
    (span,), trace = found.spans, found.trace
    assert trace is not None
    assert (trace.agent, trace.user_ref, trace.model) == ("shop.agent", "reader-1", "m-1")
    assert orjson.loads(trace.metadata or "") == {"client_id": "c-1", "tools": ["water"]}
    tokens = (span.input_tokens, span.output_tokens, span.cache_read_tokens, span.reasoning_tokens)
    assert (*tokens, span.cost_usd, span.finish_reason) == (9, 5, 4, 2, 0.25, "stop")
    attributes = orjson.loads(span.attributes or "")
    assert {key: attributes[key] for key in ("temperature", "service_tier")} == {
        "temperature": 0.5,
        "service_tier": "flex",
    }
    assert [one["message"]["content"] for one in attributes["choices"]] == ["hum"]
    assert [one.content for one in found.messages] == ["hi", "ho"]


@pytest.mark.parametrize(
    "record",
    [
        {"messages": asked("hi"), "response": "ho"},
        {"messages": asked("hi"), "choices": [{"message": {"role": "assistant", "content": "ho"}}]},
        {"request": {"prompt": "hi", "messages": asked("hi")}, "response": {"message": {"content": "ho"}}},
        {"prompt": "hi", "object": "text_completion", "choices": [{"text": "ho"}]},
    ],
)
def test_spellings_of_a_call(record: JsonObject) -> None:
    """Flat, with the answer as text, as one message, as the older completion."""
    assert chat.matches(record)
    found = read(record)
    assert [(one.role, one.content) for one in found.messages] == [("user", "hi"), ("assistant", "ho")]
    assert [one.status for one in found.spans] == ["ok"]


@pytest.mark.parametrize(
    ("said", "value", "kept", "comment"),
    [
        ({"value": 9}, None, "9", None),
        ({"value": -1}, None, "-1", None),
        ({"value": "good"}, None, '"good"', None),
        ({"rating": "thumbs_down"}, 0.0, '"thumbs_down"', None),
        ({"score": "0.5"}, 0.5, None, None),
        (True, 1.0, None, None),
        ("up", 1.0, '"up"', None),
        ("nice", None, None, "nice"),
    ],
)
def test_what_is_no_share_of_good_is_kept_as_said(
    said: Json, value: float | None, kept: str | None, comment: str | None
) -> None:
    """A value is 0 to 1 or null."""
    (score,) = read({"messages": asked("hi"), "feedback": said}).scores
    assert (score.value, score.said, score.comment) == (value, kept, comment)


def test_scores_by_name_and_by_annotator() -> None:
    """Two people may say the same; a table of numbers is one score each."""
    same: list[Json] = [{"value": 1, "annotator": who} for who in ("reader-1", "reader-2")]
    found = read({"messages": asked("hi"), "feedback": same, "scores": {"tone": 0.5, "depth": 3}})
    assert [(one.name, one.value, one.annotator) for one in found.scores] == [
        ("feedback", 1.0, "reader-1"),
        ("feedback", 1.0, "reader-2"),
        ("tone", 0.5, None),
        ("depth", None, None),
    ]
    assert len({one.score_uid for one in found.scores}) == 4


def test_a_score_that_says_nothing_is_refused_beside_its_trace() -> None:
    """The conversation loads; each bad score is a refusal with its own text."""
    record: JsonObject = {"messages": asked("x"), "feedback": [["nice"]], "scores": [{"value": 1}, {}]}
    found, *refusals = chat.read(record, HERE)
    assert isinstance(found, Rows)
    assert len(found.scores) == 1
    assert [(one.reason, one.part) for one in refusals if isinstance(one, Refusal)] == [
        (Reason.BAD_VALUE, b'["nice"]'),
        (Reason.MISSING_FIELD, b"{}"),
    ]


@pytest.mark.parametrize(
    "record", [{"messages": []}, {"messages": [5, {"content": "x"}]}, {"request": {"messages": []}}]
)
def test_nobody_speaks(record: JsonObject) -> None:
    """A record in which nothing was said is refused."""
    (found,) = chat.read(record, HERE)
    assert isinstance(found, Refusal)
    assert found.reason is Reason.BAD_VALUE


def test_origin_is_what_ingest_says() -> None:
    """Else traffic."""
    for said, expected in ((None, "traffic"), (Origin.DEMO, "demo")):
        found = read({"messages": asked("x")}, Place("n", said, "f", 1, 0))
        assert found.trace is not None
        assert found.trace.origin == expected


@given(mutated(ALL))
def test_damaged_records_never_raise(record: JsonObject) -> None:
    """Whatever is missing or of another type; and the same rows come out again."""
    if chat.matches(record):
        assert chat.read(record, HERE) == chat.read(record, HERE)


@needs_shared
def test_recorded_pairs_and_thumbs() -> None:
    """NVIDIA's fixture has three calls, the thumbs set 150 of each."""
    pairs = orjson.loads(
        (SHARED / "openai_chat" / "data-flywheel.recorded_chat_completion.json").read_bytes()
    )
    assert [len(read(one).spans) for one in pairs] == [1, 1, 1]
    thumbs = orjson.loads((SHARED / "sharegpt" / "llamafactory.kto_en_demo.json").read_bytes())
    values = [score.value for one in thumbs for score in read(one).scores]
    assert (values.count(1.0), values.count(0.0)) == (150, 150)
    assert sum(len(read(one).messages) for one in thumbs) == sum(len(one["messages"]) for one in thumbs)


@needs_shared
def test_six_runs_as_a_log_of_requests(home: Home) -> None:
    """One request a line, each with the whole history: the counts that every format must agree on.

    The last word of the user comes after the last call of the model: one message less than the run has.
    """
    assert load(home, TAU6 / "flywheel_chat_log.jsonl.gz").loaded == 43
    expected = sorted(
        orjson.loads((TAU6 / "EXPECTED.json").read_bytes()), key=lambda one: str(one["trace_id"])
    )
    assert rows(
        home,
        "select native_id, (select count(*) from messages m where m.trace_uid = t.trace_uid), "
        "(select count(*) from v_llm_calls s where s.trace_uid = t.trace_uid), "
        "(select count(*) from tool_calls c where c.trace_uid = t.trace_uid) from traces t order by 1",
    ) == [
        (one["trace_id"], one["n_messages"] - 1, one["n_llm_calls"], one["n_tool_calls"]) for one in expected
    ]


def test_metadata_of_any_place_is_kept_but_for_the_user() -> None:
    """Of the record, the request and the response; a user's id is in its column alone."""
    record = call("hi", "ho", metadata={"garden": "north", "user_id": "reader-1"})
    fields.table(record["request"]).update({"metadata": {"session_id": "s"}, "user": "reader-2"})
    fields.table(record["response"])["metadata"] = {"shelf": "2"}
    found = read(record)
    assert found.trace is not None
    assert orjson.loads(found.trace.metadata or "") == {
        "metadata": {"garden": "north", "session_id": "s", "shelf": "2"}
    }
    assert (found.trace.user_ref, found.session) == ("reader-1", "s")
    assert "reader" not in str((found.trace.metadata, found.spans))
