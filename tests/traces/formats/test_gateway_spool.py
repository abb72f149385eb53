"""The gateway's spool: requests with both hops, feedback for its own traces and for any."""

from pathlib import Path

import pytest
from hypothesis import given

from rsi.ids import uid
from rsi.records import Origin
from rsi.settings import Home
from rsi.traces.formats import gateway
from rsi.traces.rows import JsonObject, Place, Reason, Refusal, Rows
from tests.traces.inputs import SAMPLES, chat, correction, load, rows, write_lines
from tests.traces.mutated import mutated, sample

HERE = Place("default", None, "file", 1, 0)
ALL = sample("gateway.ndjson")


def read(record: JsonObject, place: Place = HERE) -> Rows:
    (found,) = gateway.read(record, place)
    assert isinstance(found, Rows)
    return found


def test_requests(home: Home) -> None:
    """Route, version, origin, both hops, the failed request and the feedback."""
    load(home, SAMPLES / "gateway.ndjson")
    assert rows(
        home,
        "select native_id[-1:], conversation, route, origin, input_text, output_text, error, model, "
        "end_ns - start_ns, time_state from traces order by native_id",
    ) == [
        ("1", None, "L0", "traffic", "Write a function that counts vowels.", "Vowels are a, e, i, o and u.",
         None, "base", 420_000_000, "exact"),
        ("2", "s-9", "L0", "traffic", "How tall is an oak?", "Up to forty metres.", None, "base", 300_000_000,
         "exact"),
        ("3", None, "L1", "traffic", "Book a table for two tonight.", None, "engine: out of memory",
         "L1-0123456789ab", 50_000_000, "exact"),
        ("4", None, None, "demo", "Say it again.", "It again.", None, "base", 900_000_000, "exact"),
    ]  # fmt: skip
    assert rows(home, "select name, status, count(*) from spans group by all order by all") == [
        ("answer", "error", 1),
        ("answer", "ok", 3),
        ("route", "ok", 3),
    ]
    assert rows(home, "select name, value, correction, source from scores order by all") == [
        ("feedback", 0.0, None, "end_user"),
        ("route", 0.0, "L2", "label"),
        ("route", 1.0, "L0", "label"),
    ]
    assert rows(home, "select outcome, rule from v_outcomes order by all") == [
        ("fail", "error"),
        ("fail", "feedback score"),
        ("fail", "route score"),
        ("pass", "route score"),
    ]


def test_the_hops_say_what_each_did() -> None:
    """The route hop keeps the router's scores; the answer hop has times, tokens and messages."""
    route, answer = read(ALL[0]).spans
    assert (route.native_id, route.start_ns, route.input_messages) == ("route", None, None)
    assert '"logprobs"' in (route.attributes or "")
    assert (answer.native_id, answer.input_tokens, answer.output_tokens) == ("answer", 30, 8)
    assert answer.start_ns == 1_760_000_000_000_000_000
    assert (len(answer.input_messages or []), len(answer.output_messages or [])) == (1, 1)


def test_the_uid_of_a_trace_is_that_of_its_feedback() -> None:
    """Namespace, format and trace id, so that feedback may come first."""
    first, feedback = read(ALL[0]), read(ALL[1])
    assert first.trace_uid == feedback.scores[0].trace_uid
    assert first.trace_uid == uid("default", "gateway", "00000000000000000000000000000001")


def test_feedback_for_any_trace(home: Home, tmp_path: Path) -> None:
    """A label names a trace of another format by its uid, and who labelled; said twice it is one score."""
    folder = tmp_path
    load(home, write_lines(folder / "a.jsonl", [chat("peas")]))
    ((trace_uid,),) = rows(home, "select trace_uid from traces")
    line = correction(
        0, "L2", name="label", score=0.0, annotator="reader-1", basis="page", trace_uid=trace_uid
    )
    del line["trace_id"]
    load(home, write_lines(folder / "b.ndjson", [line, line]))
    assert rows(
        home,
        "select t.input_text, s.name, s.value, s.correction, s.annotator, s.basis "
        "from scores s join traces t using (trace_uid)",
    ) == [("peas", "label", 0.0, "L2", "reader-1", "page")]


def test_a_session_of_feedback_goes_along() -> None:
    """So that it falls on the side of its trace."""
    assert read({**ALL[1], "session": "s-9"}).session == "s-9"


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"schema": "rsi.trace/2", "trace_id": "x"}, Reason.UNKNOWN_FORMAT),
        ({"schema": "rsi.trace/1", "messages": []}, Reason.MISSING_FIELD),
        ({"schema": "rsi.trace/1", "trace_id": "x"}, Reason.MISSING_FIELD),
        ({"schema": "rsi.trace/1", "trace_id": "x", "messages": [], "origin": "mars"}, Reason.BAD_VALUE),
        ({"schema": "rsi.feedback/1", "name": "n", "score": 1}, Reason.MISSING_FIELD),
        ({"schema": "rsi.feedback/1", "trace_id": "x"}, Reason.MISSING_FIELD),
        ({"schema": "rsi.feedback/1", "trace_id": "x", "name": "n", "score": -1}, Reason.BAD_VALUE),
        ({"schema": "rsi.feedback/1", "trace_uid": "x'; drop", "name": "n"}, Reason.BAD_VALUE),
    ],
)
def test_refused_lines(record: JsonObject, reason: Reason) -> None:
    """Each with the reason that names what is wrong."""
    (found,) = gateway.read(record, HERE)
    assert isinstance(found, Refusal)
    assert found.reason is reason


def test_origin_is_the_lines_own() -> None:
    """Whatever whoever ingests it says; a request that nobody said anything in is still one."""
    line: JsonObject = {"schema": "rsi.trace/1", "trace_id": "t", "messages": [], "origin": "probe"}
    found = read(line, Place("n", Origin.DEMO, "f", 1, 0))
    assert found.trace is not None
    assert found.trace.origin == "probe"


@given(mutated(ALL))
def test_damaged_lines_never_raise(record: JsonObject) -> None:
    """Whatever is missing or of another type; and the same rows come out again."""
    if gateway.matches(record):
        assert gateway.read(record, HERE) == gateway.read(record, HERE)


def test_a_run_of_several_turns_tells_its_calls_task_and_what_was_expected() -> None:
    """One line: calls with results, errors among them, tools on offer, and the actions that were wanted."""
    call = {"id": "c1", "type": "function", "function": {"name": "refund", "arguments": '{"order":7}'}}
    found = read(
        {
            "schema": gateway.TRACE,
            "trace_id": "t",
            "agent": "desk",
            "task": "w-1",
            "route": {"role": "L1"},
            "tools": ["refund"],
            "expected": {"actions": [{"name": "refund", "arguments": {"order": 8}}]},
            "messages": [
                {"role": "user", "content": "Refund 8."},
                {"role": "assistant", "content": "refund(7)", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c1", "content": "no order 7", "is_error": True},
            ],
        }
    )

    assert found.trace is not None
    assert (found.trace.agent, found.trace.task_id, found.trace.route) == ("desk", "w-1", "L1")
    assert found.trace.expected == '{"actions":[{"arguments":{"order":8},"name":"refund"}]}'
    assert found.trace.metadata == '{"tools":["refund"]}'
    assert [(one.name, one.arguments, one.status) for one in found.tool_calls] == [
        ("refund", '{"order":7}', "error")
    ]
