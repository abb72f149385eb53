"""OTLP documents: traces, batches, log records, evaluations, damage."""

from pathlib import Path

import orjson
import pytest
from hypothesis import HealthCheck, given, settings

from rsi.settings import Home
from rsi.traces.formats import otlp
from rsi.traces.rows import Json, JsonObject, Place, Reason, Refusal, Rows
from tests.traces.inputs import SAMPLES, SHARED, load, rows, write_lines
from tests.traces.mutated import mutated, sample

HERE = Place("default", None, "file", 1, 0)
TRACE, SPAN = "ab" * 16, "cd" * 8
START = 1_760_000_000_000_000_000


def value(said: Json) -> JsonObject:
    """OTLP's AnyValue."""
    if isinstance(said, bool):
        return {"boolValue": said}
    if isinstance(said, int):
        return {"intValue": str(said)}
    if isinstance(said, float):
        return {"doubleValue": said}
    if isinstance(said, list):
        return {"arrayValue": {"values": [value(one) for one in said]}}
    if isinstance(said, dict):
        return {"kvlistValue": {"values": attributes(said)}}
    return {"stringValue": said}


def attributes(said: JsonObject) -> list[Json]:
    """Attributes as OTLP lists them."""
    return [{"key": key, "value": value(one)} for key, one in said.items()]


def span(said: JsonObject, **more: Json) -> JsonObject:
    """A span with attributes."""
    return {
        "traceId": TRACE, "spanId": SPAN, "name": "chat m", "attributes": attributes(said),
        "startTimeUnixNano": str(START), "endTimeUnixNano": str(START + 5), **more,
    }  # fmt: skip


def document(*spans: JsonObject, logs: list[JsonObject] | None = None) -> JsonObject:
    """A document with spans and log records."""
    found: JsonObject = {}
    if spans:
        found["resourceSpans"] = [{"scopeSpans": [{"scope": {"name": "lib"}, "spans": list(spans)}]}]
    if logs:
        found["resourceLogs"] = [{"scopeLogs": [{"logRecords": list(logs)}]}]
    return found


def log(name: str, said: JsonObject, **more: Json) -> JsonObject:
    """A log record of a span."""
    return {
        "eventName": name, "traceId": TRACE, "spanId": SPAN, "timeUnixNano": str(START + 3),
        "attributes": attributes(said), **more,
    }  # fmt: skip


def read(record: JsonObject) -> Rows:
    """The rows of a document about one trace, nothing refused."""
    (found,) = otlp.read(record, HERE)
    assert isinstance(found, Rows)
    return found


def test_a_document_about_three_traces(home: Home) -> None:
    """Three spellings of content, a tool told by message and by span, evaluations, a span without an id."""
    totals = load(home, SAMPLES / "otlp.json")
    assert (totals.read, totals.loaded, totals.quarantined) == (5, 3, 2)
    assert rows(home, "select reason, detail from quarantine order by all") == [
        ("missing_field", "span 'a span without an id' without a usable spanId"),
        ("unknown_format", "log records that are not about a model: shop.opened 1"),
    ]
    assert rows(
        home,
        "select conversation, agent, release, model, input_text, output_text, error from traces order by start_ns",
    ) == [
        ("c-1", "shop", "2", "garden-1-0925", "Do we have seed potatoes left?", "Yes, 14 kg.", None),
        (None, None, None, "garden-0", "What eats slugs?", "Ducks do.", None),
        (None, None, None, "garden-0", "Plant peas now?", None, "upstream timeout"),
    ]
    assert rows(home, "select kind, count(*), sum(input_tokens) from spans group by all order by all") == [
        ("agent", 1, None),
        ("llm", 4, 118),
        ("tool", 1, None),
    ]
    assert rows(home, "select name, arguments, result, status from tool_calls order by all") == [
        ("calendar", '{"crop":"peas"}', None, "no_result"),
        ("stock", '{"item":"seed potatoes"}', "14 kg", "ok"),
    ]
    assert rows(home, "select name, value, said, source, target, comment from scores order by all") == [
        ("correct", 0.0, '"fail"', "code", "10f067aa0ba902b7", "hedgehogs too"),
        ("helpful", 1.0, None, "code", "00f067aa0ba902b7", "answers the question"),
    ]
    assert rows(
        home,
        "select c.seq, role, content from v_conversation c join traces using (trace_uid) "
        "where agent = 'shop' order by c.seq",
    ) == [
        (0, "system", "You run a shop."),
        (1, "user", "Do we have seed potatoes left?"),
        (2, "assistant", None),
        (3, "tool", "14 kg"),
        (4, "assistant", "Yes, 14 kg."),
    ]


def test_text_that_was_cut_is_a_turn_that_says_so() -> None:
    """Messages that no longer parse stay as they are; tokens and times stay; nothing is stored twice."""
    cut = '[{"role": "user", "parts": [{"ty'
    found = read(
        document(
            span(
                {
                    "gen_ai.operation.name": "chat",
                    "gen_ai.input.messages": cut,
                    "gen_ai.usage.input_tokens": 400,
                }
            )
        )
    )
    assert [(one.role, one.content, one.content_state) for one in found.messages] == [("user", cut, "cut")]
    (told,) = found.spans
    assert (told.kind, told.input_tokens, told.input_messages) == (
        "llm",
        400,
        [found.messages[0].message_uid],
    )
    assert "gen_ai.input.messages" not in orjson.loads(told.attributes or "")


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ('"plain"', ("plain", "full")),
        ("Where is it?", ("Where is it?", "full")),
        ("[REDACTED]", ("[REDACTED]", "redacted")),
        ('[{"role": "user", "parts": []}]', (None, "absent")),
        ('[{"role": "user", "content": ""}]', ("", "empty")),
        ('{"role": "user", "content": "one"}', ("one", "full")),
    ],
)
def test_states_of_content(said: str, expected: tuple[str | None, str]) -> None:
    """Absent, empty, redacted and full are told apart, whatever stands where messages belong."""
    found = read(document(span({"gen_ai.operation.name": "chat", "gen_ai.input.messages": said})))
    assert [(one.content, one.content_state) for one in found.messages] == [expected]


@pytest.mark.parametrize("said", ["", "null", "[]", [], {}, 5, True])
def test_nothing_where_messages_belong(said: Json) -> None:
    """Is nothing that anybody said; the attribute stays where it was."""
    found = read(document(span({"gen_ai.operation.name": "chat", "gen_ai.input.messages": said})))
    assert found.messages == ()
    assert found.spans[0].input_messages is None
    assert "gen_ai.input.messages" in orjson.loads(found.spans[0].attributes or "")


def test_per_message_events_and_base64_ids() -> None:
    """The deprecated event for each message, on a span with base64 ids in a scope list of the old name."""
    events: list[Json] = [
        {"name": "gen_ai.user.message", "attributes": attributes({"content": "Hi?"})},
        {
            "name": "gen_ai.choice",
            "attributes": attributes({"message": '{"content": "Ho."}', "finish_reason": "stop"}),
        },
        {"name": "retry", "timeUnixNano": str(START), "attributes": attributes({"n": 1})},
    ]
    one = span(
        {"gen_ai.request.model": "m"},
        traceId="q6urq6urq6urq6urq6urqw==",
        spanId="zc3Nzc3Nzc0=",
        events=events,
    )
    found = read({"batches": [{"instrumentationLibrarySpans": [{"spans": [one]}]}]})
    assert (found.native, found.spans[0].native_id, found.spans[0].finish_reason) == (TRACE, SPAN, "stop")
    assert [(one.role, one.content) for one in found.messages] == [("user", "Hi?"), ("assistant", "Ho.")]
    kept = orjson.loads(found.spans[0].attributes or "")["span.events"]
    assert kept == [{"name": "retry", "ts_ns": START, "attributes": {"n": 1}}]


def test_tool_spans_that_repeat_an_id_are_calls_of_their_own() -> None:
    """In order of time; what failed says so."""

    def tool(number: int, code: int) -> JsonObject:
        said: JsonObject = {
            "gen_ai.tool.name": "f",
            "gen_ai.tool.call.id": "c",
            "gen_ai.tool.call.result": f"r{number}",
        }
        return span(
            said, spanId=f"{number:016x}", name="execute_tool f", status={"code": code},
            startTimeUnixNano=str(START + number),
        )  # fmt: skip

    found = read(document(tool(2, 2), tool(1, 1)))
    assert [(one.result, one.status) for one in found.tool_calls] == [("r1", "ok"), ("r2", "error")]
    assert len({one.call_uid for one in found.tool_calls}) == 2


def test_parts_hold_only_their_trace() -> None:
    """A document about several traces is kept apart by trace, so that one of them can be held out."""
    (record,) = sample("otlp.json")
    found = [one for one in otlp.read(record, HERE) if isinstance(one, Rows)]
    assert len(found) == 3
    for one in found:
        assert one.part is not None
        assert one.native.encode() in one.part
        assert not any(other.native.encode() in one.part for other in found if other is not one)
        again = [row for row in otlp.read(orjson.loads(one.part), HERE) if isinstance(row, Rows)]
        assert [(row.trace, row.spans, row.messages, row.scores) for row in again] == [
            (one.trace, one.spans, one.messages, one.scores)
        ]


def test_batches_in_any_order_are_one_trace(home: Home) -> None:
    """Spans of one trace in documents of their own, children first, give what one document gives."""
    (record,) = sample("otlp.json")
    outer = record["resourceSpans"][0]  # type: ignore[index, call-overload]
    spans = outer["scopeSpans"][0]["spans"]  # type: ignore[index, call-overload]
    apart = [{"resourceSpans": [{**outer, "scopeSpans": [{"spans": [one]}]}]} for one in reversed(spans)]  # type: ignore[dict-item, arg-type]
    load(home, write_lines(home.root / "apart.jsonl", apart))
    assert rows(home, "select parts, input_text, output_text, conversation from traces") == [
        (4, "Do we have seed potatoes left?", "Yes, 14 kg.", "c-1")
    ]
    assert rows(home, "select role from v_conversation order by seq") == [
        ("system",), ("user",), ("assistant",), ("tool",), ("assistant",)
    ]  # fmt: skip
    assert rows(home, "select name, arguments, result, status from tool_calls") == [
        ("stock", '{"item":"seed potatoes"}', "14 kg", "ok")
    ]


def test_log_records_belong_to_their_span_in_this_batch_or_another() -> None:
    """What a span lacks its logs tell, as one span with one id; the span itself says when it was."""
    details = log(
        "gen_ai.client.inference.operation.details",
        {
            "gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": "Hi?"}]}],
            "gen_ai.output.messages": [{"role": "assistant", "parts": [{"type": "text", "content": "Ho."}]}],
            "gen_ai.usage.input_tokens": 7,
        },
    )
    plain = span({"gen_ai.operation.name": "chat"})
    together, alone = read(document(plain, logs=[details])), read(document(logs=[details]))
    assert [(one.role, one.content) for one in together.messages] == [("user", "Hi?"), ("assistant", "Ho.")]
    assert {one.message_uid for one in together.messages} == {one.message_uid for one in alone.messages}
    assert together.spans[0].span_uid == alone.spans[0].span_uid
    assert (together.spans[0].start_ns, alone.spans[0].start_ns) == (START, None)
    assert (alone.spans[0].kind, alone.spans[0].input_tokens, alone.messages[0].at_ns) == (
        "llm",
        7,
        START + 3,
    )


def test_log_records_of_no_span_are_the_traces_own() -> None:
    """Messages without a span id are its conversation; a whole call is named by its response."""
    said = log("gen_ai.user.message", {"content": "Hi?"}, spanId="")
    call: JsonObject = {
        "gen_ai.response.id": "r-1",
        "gen_ai.output.messages": '[{"role": "assistant", "content": "Ho."}]',
    }
    found = read(document(logs=[said, log("gen_ai.client.inference.operation.details", call, spanId=None)]))
    assert [(one.role, one.content) for one in found.messages] == [("assistant", "Ho."), ("user", "Hi?")]
    assert [one.native_id for one in found.spans] == ["r-1"]


def test_evaluations_name_what_they_are_about() -> None:
    """The span they hang on, in this batch or another, else the response; without a name they are refused."""
    result, score = "gen_ai.evaluation.result", "gen_ai.evaluation.score.value"
    name: JsonObject = {"gen_ai.evaluation.name": "relevance"}
    event: Json = {"name": result, "attributes": attributes({**name, score: 0.5})}
    loose_said: JsonObject = {**name, score: 4, "gen_ai.response.id": "r-1"}
    on_span = read(document(span({}, events=[event])))
    alone = read(document(logs=[log(result, {**name, "gen_ai.evaluation.score.label": "pass"})]))
    loose = read(document(logs=[log(result, loose_said, spanId="")]))
    scores = [one for found in (on_span, alone, loose) for one in found.scores]
    assert [(one.value, one.said, one.target) for one in scores] == [
        (0.5, None, SPAN),
        (1.0, '"pass"', SPAN),
        (None, "4", "r-1"),
    ]
    assert alone.trace is None
    (refused,) = otlp.read(document(logs=[log(result, {})]), HERE)
    assert isinstance(refused, Refusal)
    assert (refused.reason, refused.part) == (Reason.MISSING_FIELD, b"{}")


def test_the_error_of_a_trace_is_that_of_its_root_or_agent() -> None:
    """A failed call inside is no failure of the run; an exception tells what the status does not."""
    failed: JsonObject = {"code": 2}
    inner = span({"error.type": "timeout"}, spanId="1" * 16, parentSpanId=SPAN)
    thrown: Json = [{"name": "exception", "attributes": attributes({"exception.message": "out of memory"})}]
    fine, root = (
        read(document(span({}), inner)),
        read(document(span({}, status=failed, events=thrown), inner)),
    )
    agent = span(
        {"gen_ai.operation.name": "invoke_agent"},
        parentSpanId="9" * 16,
        status={"code": "STATUS_CODE_ERROR", "message": "gave up"},
    )
    errors = [one.trace.error if one.trace else None for one in (fine, root, read(document(agent)))]
    assert errors == [None, "out of memory", "gave up"]
    assert {one.native_id[0]: (one.status, one.error) for one in fine.spans} == {
        "c": ("unset", None),
        "1": ("error", "timeout"),
    }


def test_times_that_are_none() -> None:
    """No start, zeros, an end before the start, halves of a number: null with the reason, never 1970."""

    def times(start: Json, end: Json) -> tuple[int | None, int | None, str]:
        (one,) = read(document(span({}, startTimeUnixNano=start, endTimeUnixNano=end))).spans
        return one.start_ns, one.end_ns, one.time_state

    assert times(None, None) == (None, None, "missing")
    assert times("0", 0) == (None, None, "missing")
    assert times(START, START - 1) == (START, None, "exact")
    assert times({"low": 1, "high": 409_000_000}, [1_760_000_000, 5]) == (
        (409_000_000 << 32) + 1,
        START + 5,
        "exact",
    )
    assert times("9" * 19, "soon") == (None, None, "invalid")
    assert times("2025-10-09T08:53:20Z", None) == (START, None, "exact")


def test_a_span_without_any_meaning_for_models_is_a_span() -> None:
    """Kind other, with its attributes, resource beside; an HTTP call named "chat" is no call of a model."""
    record = document(span({"http.method": "GET"}, name="chat"))
    record["resourceSpans"][0]["resource"] = {"attributes": attributes({"service.version": "7"})}  # type: ignore[index, call-overload]
    found = read(record)
    assert [(one.kind, one.name, one.instrumentation, one.attributes) for one in found.spans] == [
        ("other", "chat", "lib", '{"http.method":"GET"}')
    ]
    assert found.trace is not None
    assert (found.trace.release, found.trace.metadata) == ("7", '{"resource":{"service.version":"7"}}')


def test_an_agents_own_messages_come_behind_those_of_its_calls(home: Home) -> None:
    """An agent tells again what its calls were told: once stored, in the order of the calls."""
    asked = {"role": "user", "parts": [{"type": "text", "content": "Hi?"}]}
    answer = {"role": "assistant", "parts": [{"type": "text", "content": "Ho."}]}
    agent = span(
        {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.input.messages": [asked],
            "gen_ai.output.messages": [answer],
        },
        endTimeUnixNano=str(START + 90),
    )
    call = span(
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.system_instructions": "Be kind.",
            "gen_ai.input.messages": orjson.dumps([asked]).decode(),
            "gen_ai.output.messages": orjson.dumps([answer]).decode(),
        },
        spanId="1" * 16,
        parentSpanId=SPAN,
        startTimeUnixNano=str(START + 2),
    )
    for number, records in enumerate(([document(agent, call)], [document(agent), document(call)])):
        other = Home(home.root / str(number))
        load(other, write_lines(home.root / f"{number}.jsonl", records))
        assert rows(other, "select role, content from v_conversation order by seq") == [
            ("system", "Be kind."),
            ("user", "Hi?"),
            ("assistant", "Ho."),
        ]


def test_a_call_that_history_repeats_is_told_once_without_and_once_with_its_result() -> None:
    """Ten calls of the model bring the same call of a tool ten times: two rows, at their earliest."""
    call: Json = {"type": "tool_call", "id": "c", "name": "f", "arguments": {"a": 1}}
    answer: Json = {"type": "tool_call_response", "id": "c", "response": "done"}
    asked: list[Json] = [{"role": "user", "parts": [{"type": "text", "content": "Hi?"}]}]
    history: list[Json] = [
        *asked,
        {"role": "assistant", "parts": [call]},
        {"role": "tool", "parts": [answer]},
    ]

    def model(number: int, given: list[Json], said: Json) -> JsonObject:
        content: JsonObject = {
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": orjson.dumps(given).decode(),
            "gen_ai.output.messages": orjson.dumps([{"role": "assistant", "parts": [said]}]).decode(),
        }
        return span(content, spanId=f"{number:016x}", startTimeUnixNano=str(START + number))

    text: Json = {"type": "text", "content": "Ho."}
    found = read(document(model(1, asked, call), *(model(number, history, text) for number in range(2, 11))))
    assert [(one.result, one.at_ns, one.seq) for one in found.tool_calls] == [
        (None, START + 1, 1),
        ("done", START + 2, 1),
    ]
    assert len({one.call_uid for one in found.tool_calls}) == 1
    assert [one.role for one in found.messages] == ["user", "assistant", "tool", "assistant"]
    assert [len(one.input_messages or ()) for one in found.spans] == [1] + [3] * 9


@pytest.mark.parametrize("given_dict", [False, True])
def test_reading_leaves_the_record_as_it_was(given_dict: bool) -> None:
    """Keys that clash with a value that is an object do not end in it."""
    said: JsonObject = {
        "gen_ai.request.model": "m",
        "gen_ai.prompt.0.content": {"kept": 1},
        "gen_ai.prompt.0.content.deep": 2,
        "gen_ai.completion.0.content": "Ho.",
    }
    one = span(said)
    if given_dict:
        one["attributes"] = dict(said)
    record = document(one)
    before = orjson.dumps(record)
    first = otlp.read(record, HERE)
    assert orjson.dumps(record) == before
    assert otlp.read(record, HERE) == first


def test_an_answer_told_to_the_span_around_is_no_call(home: Home, tmp_path: Path) -> None:
    """Libraries that stream tell the answer when the call's span has ended: the span around stays what it is."""
    outer = span({}, name="run")
    inner = span(
        {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}, spanId="ef" * 8, parentSpanId=SPAN
    )
    asked = log("gen_ai.user.message", {"content": "Warm?"}, spanId="ef" * 8)
    choice: JsonObject = {"index": 0, "message": {"role": "assistant", "content": "No."}}
    late = log("gen_ai.choice", {}, body=value(choice))
    path = write_lines(tmp_path / "run.jsonl", [document(outer, inner), document(logs=[asked, late])])
    load(home, path)
    assert rows(home, "select name, kind from spans order by name") == [("chat m", "llm"), ("run", "other")]
    assert rows(home, "select count(*) from v_llm_calls") == [(1,)]
    assert rows(home, "select role, content from v_conversation order by role") == [
        ("assistant", "No."),
        ("user", "Warm?"),
    ]


@given(mutated([*sample("otlp.json"), document(logs=[log("gen_ai.user.message", {"content": "x"})])]))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_damaged_documents_never_raise(record: JsonObject) -> None:
    """Anything anywhere ends in rows or refusals."""
    if otlp.matches(record):
        assert otlp.read(record, HERE)


@pytest.mark.skipif(not SHARED.is_dir(), reason=f"no shared trace files at {SHARED}")
def test_documents_of_other_projects() -> None:
    """The examples of the protocol, and an attribute that was cut."""
    names = ("otlp_json/opentelemetry-proto.trace.json", "hostile/13_truncated_attribute_json.json")
    for name in names:
        found = read(orjson.loads((SHARED / name).read_bytes()))
        assert found.native == "5b8efff798038103d269b633813fc60c"
    assert [one.content_state for one in found.messages] == ["cut"]
    (refused, *_) = otlp.read(
        orjson.loads((SHARED / "otlp_json/opentelemetry-proto.events.json").read_bytes()), HERE
    )
    assert isinstance(refused, Refusal)
    assert refused.detail == "log record without a usable traceId"
