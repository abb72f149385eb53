"""Phoenix's spans: flat, nested, as columns, in pages; annotations; what Python's console exporter prints."""

import json

import orjson
import pytest
from hypothesis import HealthCheck, given, settings

from rsi.settings import Home
from rsi.traces.formats import phoenix
from rsi.traces.rows import JsonObject, Place, Refusal, Rows
from tests.traces.inputs import SAMPLES, load, rows
from tests.traces.mutated import mutated, sample

HERE = Place("default", None, "file", 1, 0)
ALL = sample("phoenix.jsonl")


@pytest.mark.parametrize("record", ALL)
def test_its_records_are_its_own(record: JsonObject) -> None:
    """By their context or columns, alone or in a page."""
    assert phoenix.matches(record)


@pytest.mark.parametrize(
    "record", [{}, {"context": {"trace_id": "a"}}, {"data": []}, {"data": [5]}, {"name": "x", "span_id": "y"}]
)
def test_other_records_are_not(record: JsonObject) -> None:
    """Half of the keys is not enough."""
    assert not phoenix.matches(record)


def test_a_run_in_five_spans(home: Home) -> None:
    """One trace of records of its own: flat with shuffled and gapped indexes, nested, a tool, a retriever."""
    totals = load(home, SAMPLES / "phoenix.jsonl")
    assert totals.read == totals.loaded + totals.quarantined
    assert rows(home, "select detail from quarantine order by detail") == [
        ("annotation without a trace id; export the spans with their annotations",),
        ("span 'no id' without a usable span_id",),
    ]
    assert rows(
        home,
        "select conversation, user_ref is null, agent, input_text, output_text from traces where native_id like '%01'",
    ) == [("s-7", False, "helper", "Which soil for roses?", "Loam.")]
    assert rows(
        home,
        "select role, content from v_conversation join traces using (trace_uid) "
        "where native_id like '%01' order by seq",
    ) == [
        ("system", "You know gardens."),
        ("user", "Which soil for roses?"),
        ("assistant", None),
        ("tool", "Error: the book is lent out"),
        ("assistant", "Loam."),
    ]
    assert rows(home, "select name, arguments, result, status from tool_calls") == [
        ("lookup", '{"about":"roses"}', "Error: the book is lent out", "error")
    ]
    assert rows(
        home,
        "select kind, name, provider, s.model, input_tokens, output_tokens, cache_read_tokens, reasoning_tokens, "
        "cost_usd from spans s join traces t using (trace_uid) where t.native_id like '%01' order by s.start_ns, name",
    ) == [
        ("agent", "helper", None, None, None, None, None, None, None),
        ("llm", "ChatCompletion", "openai", "small-1", 30, 9, 10, 2, 0.0003),
        ("tool", "lookup", None, None, None, None, None, None, None),
        ("retrieval", "search", None, None, None, None, None, None, None),
        ("llm", "ChatCompletion", None, "small-1", 60, 3, None, None, None),
    ]


def test_annotations_are_scores(home: Home) -> None:
    """Of a person on a span, of a model on its own scale, of code on the whole trace."""
    load(home, SAMPLES / "phoenix.jsonl")
    assert rows(home, "select name, value, said, source, target[-1:], comment from scores order by name") == [
        ("correctness", 1.0, '"correct"', "human", "1", "as in the book"),
        ("resolved", 0.5, None, "code", None, "half"),
        ("tone", None, "4", "llm", "5", None),
    ]


def test_feedback_in_attributes() -> None:
    """OpenInference's own: about the span, the trace or the session; what says nothing is left where it is."""
    said: JsonObject = {
        "openinference.span.kind": "CHAIN",
        "evaluations.0.evaluation.name": "relevance", "evaluations.0.evaluation.score": 0.25,
        "evaluations.0.evaluation.annotator_kind": "LLM", "evaluations.0.evaluation.identifier": "judge-2",
        "trace.annotations.0.annotation.name": "quality", "trace.annotations.0.annotation.label": "good",
        "session.annotations.0.annotation.name": "mood", "session.annotations.0.annotation.score": 1,
        "annotations.0.annotation.name": "empty",
    }  # fmt: skip
    record: JsonObject = {
        "name": "x",
        "context": {"trace_id": "ab" * 16, "span_id": "cd" * 8},
        "attributes": said,
    }
    (found,) = phoenix.read(record, HERE)
    assert isinstance(found, Rows)
    assert [
        (one.name, one.value, one.source, one.annotator, one.basis, one.target) for one in found.scores
    ] == [
        ("relevance", 0.25, "llm", "judge-2", None, "cd" * 8),
        ("quality", 1.0, "code", None, "trace", None),
        ("mood", 1.0, "code", None, "session", None),
    ]
    assert list(json.loads(found.spans[0].attributes or "")) == [
        "annotations.0.annotation.name",
        "openinference.span.kind",
    ]


def test_columns_the_console_exporter_and_rows(home: Home) -> None:
    """Epoch times and messages in columns; ids with 0x, a status with a description, events as messages; ids beside."""
    load(home, SAMPLES / "phoenix.jsonl")
    assert rows(
        home,
        "select native_id[-2:], input_text, output_text, error, start_ns, time_state from traces "
        "where native_id[-2:] > '01' order by native_id",
    ) == [
        ("02", "Say hi.", "Hi.", None, 1770026406_000000000, "exact"),
        ("03", "Still there?", None, "TimeoutError: too slow", 1770026460_000001000, "exact"),
        ("04", "One more?", "No.", None, 1770026520_000000000, "exact"),
        ("05", "And a row?", "Yes.", None, 1770026580_000000000, "exact"),
    ]
    assert rows(
        home, "select instrumentation, s.status, release from spans s join traces using (trace_uid) "
        "where instrumentation = 'table'",
    ) == [("table", "ok", "4")]  # fmt: skip


def test_a_page_in_parts() -> None:
    """Each trace's own spans, read the same again; what has no id is refused with its own text."""
    (page,) = [one for one in ALL if "next_cursor" in one]
    found, refused = phoenix.read(page, HERE)
    assert isinstance(found, Rows)
    assert isinstance(refused, Refusal)
    assert refused.part is not None
    (again,) = phoenix.read(orjson.loads(found.part or b"{}"), HERE)
    assert isinstance(again, Rows)
    assert (again.trace, again.spans, again.messages) == (found.trace, found.spans, found.messages)


@given(mutated(ALL))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_damaged_records_never_raise(record: JsonObject) -> None:
    """Anything anywhere ends in rows or refusals."""
    if phoenix.matches(record):
        assert phoenix.read(record, HERE)
