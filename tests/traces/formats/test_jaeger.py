"""Jaeger's query JSON: tags, references, processes, several traces; the recorded files of kagent."""

from collections import Counter

import orjson
import pytest
from hypothesis import HealthCheck, given, settings

from rsi.settings import Home
from rsi.traces.formats import jaeger, otlp
from rsi.traces.rows import JsonObject, Place, Reason, Refusal, Rows
from tests.traces.inputs import SAMPLES, SHARED, load, rows
from tests.traces.mutated import mutated, sample

HERE = Place("default", None, "file", 1, 0)
(PAGE,) = sample("jaeger.json")
FOLDER = SHARED / "jaeger_json"


def read(record: JsonObject) -> list[Rows]:
    return [one for one in jaeger.read(record, HERE) if isinstance(one, Rows)]


def test_a_page_of_traces(home: Home) -> None:
    """Both instrumentations of a call are spans; their conversation is one; short ids have all their digits."""
    totals = load(home, SAMPLES / "jaeger.json")
    assert (totals.read, totals.loaded, totals.quarantined) == (3, 2, 1)
    assert rows(home, "select reason, detail from quarantine") == [
        ("missing_field", "span 'a span without an id' without a usable spanID")
    ]
    assert rows(
        home,
        "select native_id, conversation, agent, release, environment, input_text from traces order by native_id",
    ) == [
        ("0" * 28 + "7081", None, None, None, None, None),
        ("1a2b3c4d5e6f70811a2b3c4d5e6f7081", "ctx-1", "gardener", "3.1", "test", "Is the greenhouse warm?"),
    ]
    assert rows(
        home,
        "select kind, name, split_part(instrumentation, '.', 3), native_parent_id[-2:], (end_ns - start_ns) // 1000, "
        "status, error, finish_reason, input_tokens, output_tokens, cache_read_tokens from spans "
        "where kind <> 'other' order by start_ns",
    ) == [
        ("agent", "invoke_agent gardener", "agent", "a1", 890000, "ok", None, None, None, None, None),
        ("llm", "call_llm", "agent", "a2", 300000, "unset", None, "STOP", 40, 8, None),
        ("llm", "openai.chat", "openai", "a3", 290000, "unset", None, "tool_calls", 40, 8, 16),
        ("tool", "execute_tool thermometer", "agent", "a3", 20000, "unset", None, None, None, None, None),
        ("llm", "call_llm", None, "a2", 300000, "error", "the stream broke", "stop", 60, 5, None),
    ]  # fmt: skip
    assert rows(home, "select role, content, content_state from v_conversation order by seq") == [
        ("system", "You watch a garden.", "full"),
        ("user", "Is the greenhouse warm?", "full"),
        ("assistant", None, "absent"),
    ]
    assert rows(home, "select name, arguments, result, status from tool_calls") == [
        ("thermometer", '{"place":"greenhouse"}', "9 degrees", "ok")
    ]
    assert rows(home, "select name from v_duplicates") == [("openai.chat",)]


def test_a_trace_or_a_span_a_record() -> None:
    """Without the page around it; a span brings its process, and tags whose keys have no dots."""
    trace = PAGE["data"][0]  # type: ignore[index, call-overload]
    (whole,) = read({"data": [trace]})
    assert jaeger.matches(trace)  # type: ignore[arg-type]
    assert read(trace) == [whole]  # type: ignore[arg-type]
    span: JsonObject = {
        **trace["spans"][1],
        "process": {"serviceName": "s"},
        "tag": {"gen_ai@task@id": "t-1"},
    }  # type: ignore[index, dict-item, call-overload]
    assert jaeger.matches(span)
    (alone,) = read(span)
    assert alone.spans[0].span_uid == whole.spans[1].span_uid
    assert orjson.loads(alone.spans[0].attributes or "")["gen_ai.task.id"] == "t-1"


def test_parts_hold_only_their_trace() -> None:
    """And read the same again."""
    for one in read(PAGE):
        assert one.part is not None
        assert [(again.trace, again.spans, again.messages) for again in read(orjson.loads(one.part))] == [
            (one.trace, one.spans, one.messages)
        ]


def test_a_trace_exported_from_two_stores_is_one() -> None:
    """The same ids in OTLP name the same trace and spans."""
    (health,) = [one for one in read(PAGE) if one.native.endswith("7081") and one.native.startswith("0")]
    span: JsonObject = {"traceId": health.native, "spanId": "00000000000000b1", "name": "GET /health"}
    (other,) = otlp.read({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}, HERE)
    assert isinstance(other, Rows)
    assert (other.trace_uid, other.spans[0].span_uid) == (health.trace_uid, health.spans[0].span_uid)


def test_references() -> None:
    """The parent is the child-of of the same trace; others are links; a start of zero is missing."""
    span: JsonObject = {
        "traceID": "a1", "spanID": "2", "operationName": "x", "startTime": 0, "duration": 5,
        "references": [{"refType": "FOLLOWS_FROM", "traceID": "a1", "spanID": "9"},
                       {"refType": "CHILD_OF", "traceID": "b2", "spanID": "8"},
                       {"refType": "CHILD_OF", "traceID": "a1", "spanID": "7"}],
    }  # fmt: skip
    (found,) = read({"data": [{"traceID": "a1", "spans": [span], "processes": {}}]})
    assert (found.spans[0].native_parent_id, found.spans[0].time_state) == ("0" * 15 + "7", "missing")
    assert len(orjson.loads(found.spans[0].attributes or "")["span.links"]) == 2


def test_pages_without_spans_are_refused() -> None:
    """With the reason."""
    (found,) = jaeger.read({"data": [{"traceID": "a", "spans": []}]}, HERE)
    assert isinstance(found, Refusal)
    assert found.reason is Reason.MISSING_FIELD


@given(mutated([PAGE]))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_damaged_pages_never_raise(record: JsonObject) -> None:
    """Anything anywhere ends in rows or refusals."""
    if jaeger.matches(record):
        assert jaeger.read(record, HERE)


@pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no shared trace files at {FOLDER}")
@pytest.mark.parametrize("name", ["helm", "k8s"])
def test_recorded_traces(home: Home, name: str) -> None:
    """Every span is there, each call of a model twice, and once in the views; each message once."""
    path = FOLDER / f"{name}.json"
    spans = [span for trace in orjson.loads(path.read_bytes())["data"] for span in trace["spans"]]
    names = Counter(span["operationName"] for span in spans)
    assert load(home, path).quarantined == 0
    assert rows(home, "select count(*), count(distinct span_uid) from spans") == [(len(spans), len(spans))]
    calls = names["openai.chat"]
    assert names["call_llm"] == calls
    assert rows(home, "select count(*) from spans where kind = 'llm'") == [(2 * calls,)]
    assert rows(home, "select count(*) from v_llm_calls") == [(calls,)]
    assert rows(home, "select count(*) from tool_calls") == [(names["execute_tool helm_list_releases"],)]
    assert rows(
        home, "select count(*), count(distinct content) filter (role <> 'assistant') from messages"
    ) == [(2 * calls + 1, calls + 1)]
    known = {span["spanID"] for span in spans}
    orphans = [one for span in spans for one in span["references"] if one["spanID"] not in known]
    assert rows(home, "select count(*) from v_trace_tree where link_state = 'orphan'") == [(len(orphans),)]
