"""Each reader on its sample, and the table of readers."""

from pathlib import Path

import orjson
import pytest

from rsi.ids import uid
from rsi.records import Origin, Trace
from rsi.settings import Home
from rsi.traces.detect import detect, read
from rsi.traces.formats import FORMATS, fields
from rsi.traces.formats.conversation import call_rows, message_rows, turns
from rsi.traces.pieces import pieces
from rsi.traces.rows import Place, Reason, Refusal, Rows
from rsi.traces.values import Piece
from tests.traces.inputs import SAMPLES, load, rows

SAMPLE_OF = {"gateway": "gateway.ndjson", "otlp": "otlp.json", "tau": "tau.json", "chat": "chat.jsonl"}
HERE = Place("default", None, "file", 1, 0)


def sample(name: str) -> list[Rows | Refusal]:
    """What the readers make of a sample file."""
    cut = pieces(SAMPLES / SAMPLE_OF[name])
    return [one for piece in cut if isinstance(piece, Piece) for one in read(piece, HERE)]


@pytest.mark.parametrize("format_", FORMATS, ids=lambda one: one.NAME)
def test_every_format_takes_its_sample(format_: object) -> None:
    """Each record of the sample goes to the format's reader, which refuses no record as a whole."""
    name = next(one.NAME for one in FORMATS if one is format_)
    for piece in pieces(SAMPLES / SAMPLE_OF[name]):
        assert isinstance(piece, Piece)
        assert detect(orjson.loads(piece.body)) is format_
        assert any(isinstance(one, Rows) for one in read(piece, HERE))


@pytest.mark.parametrize("format_", FORMATS, ids=lambda one: one.NAME)
def test_reading_twice_gives_the_same_rows(format_: object) -> None:
    """Ids come from content and place in it, nothing else."""
    name = next(one.NAME for one in FORMATS if one is format_)
    assert sample(name) == sample(name)


def traces_of(name: str) -> dict[str, Trace]:
    return {one.native: one.trace for one in sample(name) if isinstance(one, Rows) and one.trace}


def test_gateway_requests(home: Home) -> None:
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


def test_the_uid_of_a_gateway_trace_is_that_of_its_feedback() -> None:
    """Namespace, format and trace id, so that feedback may come first."""
    first, feedback, *_ = sample("gateway")
    assert isinstance(first, Rows)
    assert isinstance(feedback, Rows)
    assert first.trace_uid == feedback.scores[0].trace_uid
    assert first.trace_uid == uid("default", "gateway", "00000000000000000000000000000001")


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"schema": "rsi.trace/2", "trace_id": "x"}, Reason.UNKNOWN_FORMAT),
        ({"schema": "rsi.trace/1", "messages": []}, Reason.MISSING_FIELD),
        ({"schema": "rsi.trace/1", "trace_id": "x"}, Reason.MISSING_FIELD),
        ({"schema": "rsi.trace/1", "trace_id": "x", "messages": [], "origin": "mars"}, Reason.BAD_VALUE),
        ({"schema": "rsi.feedback/1", "trace_id": "x"}, Reason.MISSING_FIELD),
        ({"schema": "rsi.feedback/1", "trace_id": "x", "name": "n", "score": -1}, Reason.BAD_VALUE),
        ({"traj": {}, "reward": 1}, Reason.BAD_VALUE),
        ({"messages": []}, Reason.BAD_VALUE),
        ({"resourceSpans": []}, Reason.MISSING_FIELD),
    ],
)
def test_refused_records(record: object, reason: Reason) -> None:
    """Each with the reason that names what is wrong."""
    (found,) = read(Piece(1, 0, orjson.dumps(record)), HERE)
    assert isinstance(found, Refusal)
    assert found.reason is reason


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


def test_chat_times_say_how_sure_they_are(home: Home) -> None:
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


def test_chat_content_parts_and_empty_answers(home: Home) -> None:
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
    one = {"id": "x", "messages": [{"role": "user", "content": "a"}]}
    other = {"id": "x", "messages": [{"role": "user", "content": "b"}]}
    judged = {**one, "feedback": [{"value": 1}]}
    uids = [read(Piece(1, 0, orjson.dumps(record)), HERE)[0] for record in (one, other, judged)]
    assert all(isinstance(found, Rows) for found in uids)
    first, second, third = (found.trace_uid for found in uids if isinstance(found, Rows))
    assert first != second
    assert first == third


def test_otlp(home: Home) -> None:
    """Three spellings of content, a tool told by message and by span, evaluations, a span without an id."""
    totals = load(home, SAMPLES / "otlp.json")
    assert (totals.read, totals.loaded, totals.quarantined) == (5, 3, 2)
    assert rows(home, "select reason, detail from quarantine order by all") == [
        ("missing_field", "span 'a span without an id' without a usable spanId"),
        ("unknown_format", "log records that are not about a model: shop.opened 1"),
    ]
    assert rows(
        home,
        "select conversation, agent, model, input_text, output_text, error from traces order by start_ns",
    ) == [
        ("c-1", "shop", "garden-1-0925", "Do we have seed potatoes left?", "Yes, 14 kg.", None),
        (None, None, "garden-0", "What eats slugs?", "Ducks do.", None),
        (None, None, "garden-0", "Plant peas now?", None, "upstream timeout"),
    ]
    assert rows(home, "select kind, count(*), sum(input_tokens) from spans group by all order by all") == [
        ("agent", 1, None),
        ("llm", 4, 118),
        ("tool", 1, None),
    ]
    assert rows(home, "select name, arguments, result, status, seq from tool_calls order by all") == [
        ("calendar", '{"crop":"peas"}', None, "no_result", 2),
        ("stock", '{"item":"seed potatoes"}', "14 kg", "ok", 2),
    ]
    assert rows(home, "select name, value, basis, comment from scores order by all") == [
        ("correct", 0.0, "label fail", "hedgehogs too"),
        ("helpful", 1.0, None, "answers the question"),
    ]
    assert rows(
        home,
        "select seq, role, content from messages join traces using (trace_uid) "
        "where agent = 'shop' order by seq",
    ) == [
        (0, "system", "You run a shop."),
        (1, "user", "Do we have seed potatoes left?"),
        (2, "assistant", None),
        (3, "tool", "14 kg"),
        (4, "assistant", "Yes, 14 kg."),
    ]


def test_otlp_text_that_was_cut_leaves_the_span(home: Home, tmp_path: Path) -> None:
    """Messages that no longer parse are not invented; tokens and times stay."""
    attributes = [
        {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
        {"key": "gen_ai.input.messages", "value": {"stringValue": '[{"role": "user", "parts": [{"ty'}},
        {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "400"}},
    ]
    span = {"traceId": "ab" * 16, "spanId": "cd" * 8, "name": "chat", "attributes": attributes}
    path = tmp_path / "cut.json"
    path.write_bytes(orjson.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}))
    assert load(home, path).loaded == 1
    assert rows(home, "select kind, input_tokens from spans") == [("llm", 400)]
    assert rows(home, "select count(*) from messages") == [(0,)]


def test_otlp_per_message_events_and_base64_ids() -> None:
    """The deprecated event for each message, on a span with base64 ids in a scope list of the old name."""
    events = [
        {"name": "gen_ai.user.message", "attributes": [{"key": "content", "value": {"stringValue": "Hi?"}}]},
        {
            "name": "gen_ai.choice",
            "attributes": [{"key": "message", "value": {"stringValue": '{"content": "Ho."}'}}],
        },
    ]
    span = {
        "traceId": "q6urq6urq6urq6urq6urqw==", "spanId": "zc3Nzc3Nzc0=", "name": "chat m", "events": events,
        "attributes": [{"key": "gen_ai.request.model", "value": {"stringValue": "m"}}],
    }  # fmt: skip
    record = {"batches": [{"instrumentationLibrarySpans": [{"spans": [span]}]}]}
    (found,) = read(Piece(1, 0, orjson.dumps(record)), HERE)
    assert isinstance(found, Rows)
    assert found.native == "ab" * 16
    assert [(one.role, one.content) for one in found.messages] == [("user", "Hi?"), ("assistant", "Ho.")]


def test_otlp_tool_spans_that_repeat_an_id_are_calls_of_their_own() -> None:
    """In order of time; what failed says so."""

    def tool(number: int, **status: object) -> dict[str, object]:
        said = {"gen_ai.tool.name": "f", "gen_ai.tool.call.id": "c", "gen_ai.tool.call.result": f"r{number}"}
        attributes = [{"key": key, "value": {"stringValue": value}} for key, value in said.items()]
        return {
            "traceId": "ab" * 16, "spanId": f"{number:016x}", "name": "execute_tool f",
            "attributes": attributes, "status": status,
            "startTimeUnixNano": str(1_760_000_000_000_000_000 + number),
        }  # fmt: skip

    record = {"resourceSpans": [{"scopeSpans": [{"spans": [tool(2, code=2), tool(1, code=1)]}]}]}
    (found,) = read(Piece(1, 0, orjson.dumps(record)), HERE)
    assert isinstance(found, Rows)
    assert [(one.result, one.status) for one in found.tool_calls] == [("r1", "ok"), ("r2", "error")]
    assert len({one.call_uid for one in found.tool_calls}) == 2


def test_otlp_parts_hold_only_their_trace() -> None:
    """A document about several traces is kept apart by trace, so that one of them can be held out."""
    found = [one for one in sample("otlp") if isinstance(one, Rows)]
    for one in found:
        assert one.part is not None
        others = {other.native for other in found} - {one.native}
        assert one.native.encode() in one.part
        assert not any(other.encode() in one.part for other in others)
        again = read(Piece(1, 0, one.part), HERE)
        assert [row.trace for row in again if isinstance(row, Rows)] == [one.trace]


def test_tau(home: Home) -> None:
    """Reward, expected actions, calls with results although an id is used twice, calls of the model."""
    load(home, SAMPLES / "tau.json")
    assert rows(home, "select task_id, trial, input_text, output_text from traces order by trial") == [
        ("0", 0, "Please renew B1 and B2, my card is R12.", "Both are renewed for three weeks."),
        ("0", 1, "Please renew B1 and B2.", "B1 is renewed; B2 could not be."),
    ]
    assert rows(
        home,
        "select trial, name, status, arguments, outcome from v_tool_calls order by trial, seq",
    ) == [
        (0, "get_reader", "ok", '{"card":"R12"}', "pass"),
        (0, "renew", "ok", '{"book":"B1","weeks":3}', "pass"),
        (0, "renew", "ok", '{"book":"B2","weeks":3}', "pass"),
        (1, "renew", "ok", '{"book":"B1","weeks":2}', "fail"),
        (1, "renew", "error", '{"book":"B2","weeks":9}', "fail"),
    ]
    assert rows(home, "select name, source, basis, value from scores order by value") == [
        ("reward", "env", "r_actions", 0.0),
        ("reward", "env", "r_actions", 1.0),
    ]
    ((expected,),) = rows(home, "select distinct expected from traces")
    assert [one["name"] for one in orjson.loads(str(expected))["actions"]] == ["get_reader", "renew", "renew"]


def test_origin_is_the_records_own_or_what_ingest_says() -> None:
    """The gateway's records carry theirs; others take what is given, else traffic."""
    record = {"messages": [{"role": "user", "content": "x"}]}
    for said, expected in ((None, Origin.TRAFFIC), (Origin.DEMO, Origin.DEMO)):
        (found,) = read(Piece(1, 0, orjson.dumps(record)), Place("n", said, "f", 1, 0))
        assert isinstance(found, Rows)
        assert found.trace is not None
        assert found.trace.origin is expected
    line = {"schema": "rsi.trace/1", "trace_id": "t", "messages": [], "origin": "probe"}
    (found,) = read(Piece(1, 0, orjson.dumps(line)), Place("n", Origin.DEMO, "f", 1, 0))
    assert isinstance(found, Rows)
    assert found.trace is not None
    assert found.trace.origin is Origin.PROBE


@pytest.mark.parametrize(
    ("value", "nanoseconds", "state"),
    [
        (1_760_000_000, 1_760_000_000_000_000_000, "exact"),
        (1_760_000_000.25, 1_760_000_000_250_000_000, "exact"),
        (1_760_000_000_123, 1_760_000_000_123_000_000, "exact"),
        (1_760_000_000_123_456, 1_760_000_000_123_456_000, "exact"),
        ("1760000000123456789", 1_760_000_000_123_456_789, "exact"),
        ("2025-10-09T10:53:20+02:00", 1_760_000_000_000_000_000, "exact"),
        ("2025-10-09 08:53:20", 1_760_000_000_000_000_000, "assumed_utc"),
        ("2025-10-09T08:53:20.000000001Z", 1_760_000_000_000_000_001, "exact"),
        (None, None, "missing"),
        ("", None, "missing"),
        (0, None, "missing"),
        ("yesterday", None, "invalid"),
        (-5, None, "invalid"),
        (True, None, "invalid"),
        (1e300, None, "invalid"),
        ({"low": 1, "high": 2}, None, "invalid"),
    ],
)
def test_times(value: object, nanoseconds: int | None, state: str) -> None:
    """Every spelling to nanoseconds, with what is known about it."""
    assert fields.moment(value) == (nanoseconds, state)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": 1}, ('{"a":1}', "object")),
        ('{"b": 2, "a": 1}', ('{"a":1,"b":2}', "object")),
        ('"{\\"a\\": 1}"', ('{"a":1}', "object")),
        ("{}", ("{}", "object")),
        ("", (None, "missing")),
        (None, (None, "missing")),
        ("{'a': 1}", (None, "invalid")),
        ("[1]", (None, "invalid")),
    ],
)
def test_arguments_of_tools(value: object, expected: tuple[str | None, str]) -> None:
    """Object, text, text of text; what is none of them is said to be."""
    assert fields.arguments(value) == expected  # type: ignore[arg-type]


def test_history_is_stored_once_and_repetition_is_kept() -> None:
    """A longer conversation includes the messages of a shorter one; saying "yes" twice is two messages."""
    yes = {"role": "user", "content": "yes"}
    short = message_rows("t", turns([yes, {"role": "assistant", "content": "?"}]))
    long = message_rows("t", turns([yes, {"role": "assistant", "content": "?"}, yes]))
    assert {one.message_uid for one in short} < {one.message_uid for one in long}
    assert len({one.message_uid for one in long}) == 3


def test_results_find_their_calls_when_ids_repeat() -> None:
    """The first unanswered call with the id takes the result."""

    def call(book: str) -> dict[str, object]:
        return {
            "role": "assistant",
            "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": {"b": book}}}],
        }

    said = [call("1"), {"role": "tool", "tool_call_id": "c", "content": "one"}, call("2"),
            {"role": "tool", "tool_call_id": "c", "content": "Error: two"}]  # fmt: skip
    found = call_rows("t", turns(said))  # type: ignore[arg-type]
    assert [(one.arguments, one.result, one.status) for one in found] == [
        ('{"b":"1"}', "one", "ok"),
        ('{"b":"2"}', "Error: two", "error"),
    ]
    assert len({one.call_uid for one in found}) == 2


def test_scores_that_say_nothing_readable_are_refused_beside_their_trace() -> None:
    """The conversation loads; each bad score is a refusal with its own text."""
    record = {
        "messages": [{"role": "user", "content": "x"}],
        "feedback": "nice",
        "scores": [{"value": 9}, {}],
    }
    rows_, *refusals = read(Piece(1, 0, orjson.dumps(record)), HERE)
    assert isinstance(rows_, Rows)
    assert rows_.scores == ()
    assert [(one.reason, one.part) for one in refusals if isinstance(one, Refusal)] == [
        (Reason.BAD_VALUE, b'"nice"'),
        (Reason.BAD_VALUE, b'{"value":9}'),
        (Reason.MISSING_FIELD, b"{}"),
    ]
