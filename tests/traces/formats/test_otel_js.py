"""Dumps of the JavaScript SDK: one span a record, lists under keys, the console exporter."""

import orjson
import pytest
from hypothesis import HealthCheck, given, settings

from rsi.settings import Home
from rsi.traces.formats import otel_js
from rsi.traces.rows import JsonObject, Place, Refusal, Rows
from tests.traces.inputs import SAMPLES, SHARED, load, rows
from tests.traces.mutated import mutated, records, sample

HERE = Place("default", None, "file", 1, 0)
ALL = sample("otel_js.json")
FOLDER = SHARED / "otel_js_vercel_spans"


def test_its_records_are_its_own() -> None:
    """By their context, alone or in lists; others are not."""
    assert all(map(otel_js.matches, ALL))
    for other in ({}, {"spans": []}, {"spanContext": {}}, {"messages": [{"role": "user"}]}, {"a": [5]}):
        assert not otel_js.matches(other)


def test_spans_one_by_one(home: Home) -> None:
    """A run of the Vercel SDK: the outer span, two calls and a tool are one conversation in its order."""
    assert load(home, SAMPLES / "otel_js.json").quarantined == 0
    assert rows(
        home,
        "select conversation, user_ref is null, release, input_text, output_text from traces "
        "where native_id like '0123%'",
    ) == [("s-1", False, "9", "How much are peas?", "2 euros a bag.")]
    assert rows(
        home,
        "select role, content, content_state from v_conversation join traces using (trace_uid) "
        "where native_id like '0123%' order by seq",
    ) == [
        ("system", "You sell seeds.", "full"),
        ("user", "How much are peas?", "full"),
        ("assistant", None, "absent"),
        ("tool", '{"euros":2}', "full"),
        ("assistant", "2 euros a bag.", "full"),
    ]
    assert rows(home, "select name, native_id, arguments, result, status from tool_calls") == [
        ("price", "c1", '{"item":"peas"}', '{"euros":2}', "ok")
    ]
    assert rows(
        home,
        "select kind, name, native_parent_id is null, instrumentation, input_tokens, cache_read_tokens, finish_reason, "
        "start_ns from spans where native_id like '%c_' order by start_ns",
    ) == [
        ("step", "ai.generateText", True, "ai", 95, None, "stop", 1770000100_000000000),
        ("llm", "ai.generateText.doGenerate", False, "ai", 40, None, "tool-calls", 1770000100_100000000),
        ("tool", "ai.toolCall", False, "ai", None, None, None, 1770000101_100000000),
        ("llm", "ai.generateText.doGenerate", False, "ai", 55, 32, "stop", 1770000102_000000000),
    ]
    assert rows(home, "select sum(input_tokens) from v_llm_calls where name like 'ai.%'") == [(95,)]


def test_the_console_exporter_and_a_list(home: Home) -> None:
    """Microseconds with fractions, text that was cut, errors by number, an embedding."""
    load(home, SAMPLES / "otel_js.json")
    assert rows(
        home,
        "select kind, start_ns, end_ns - start_ns, status from spans "
        "where native_id like '%_1' and native_id not like '%c1' order by kind",
    ) == [
        ("embedding", 1770000200_000000000, 9_000_000, "unset"),
        ("llm", 1770000400_000000000, 1_500_250, "ok"),
        ("other", 1770000300_000000000, 1_000_000, "error"),
    ]
    assert rows(home, "select error from traces where native_id like '%f2'") == [("socket hang up",)]
    assert rows(
        home, "select content_state, count(*) from messages where content like '[{%' group by all"
    ) == [("cut", 1)]


def test_parts_hold_only_their_trace() -> None:
    """A document with lists is kept apart by trace."""
    (grouped,) = [one for one in ALL if "fetch" in one]
    found = [one for one in otel_js.read(grouped, HERE) if isinstance(one, Rows)]
    assert len(found) == 2
    for one in found:
        (again,) = otel_js.read(orjson.loads(one.part or b"{}"), HERE)
        assert isinstance(again, Rows)
        assert (again.trace, again.spans) == (one.trace, one.spans)


def test_a_span_without_an_id_is_refused() -> None:
    """Alone."""
    (found,) = otel_js.read({"spanContext": {"traceId": "ab" * 16}, "name": "x"}, HERE)
    assert isinstance(found, Refusal)
    assert found.detail == "span 'x' without a usable spanId"


@given(mutated(ALL))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_damaged_spans_never_raise(record: JsonObject) -> None:
    """Anything anywhere ends in rows or refusals."""
    if otel_js.matches(record):
        assert otel_js.read(record, HERE)


@pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no shared trace files at {FOLDER}")
def test_recorded_spans_in_both_groupings() -> None:
    """Ten spans of ten traces, with their messages, the same whether listed or grouped by operation."""
    listed = [one for record in records(FOLDER / "all-spans.json") for one in otel_js.read(record, HERE)]
    (record,) = records(FOLDER / "spans-by-operation.json")
    grouped = list(otel_js.read(record, HERE))
    assert all(isinstance(one, Rows) for one in listed + grouped)
    assert len(listed) == 10

    def told(found: list[Rows | Refusal]) -> list[tuple[object, ...]]:
        ones = [one for one in found if isinstance(one, Rows)]
        return sorted((one.trace_uid, one.trace, one.spans, one.messages) for one in ones)

    assert told(listed) == told(grouped)
    calls = [
        one
        for one in listed
        if isinstance(one, Rows) and one.spans[0].kind in ("llm", "step") and one.messages
    ]
    assert len(calls) == 8
    assert all(one.trace is not None and one.trace.input_text and one.trace.output_text for one in calls)
