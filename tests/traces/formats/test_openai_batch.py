"""Batch files: input and output joined by custom id, whichever file comes first."""

from pathlib import Path

import pytest
from hypothesis import given

from rsi.settings import Home
from rsi.traces.formats import openai_batch
from rsi.traces.rows import JsonObject, Place, Reason, Refusal, Rows
from tests.traces.inputs import SHARED, load, rows, write_lines
from tests.traces.mutated import mutated, records, sample

HERE = Place("default", None, "file", 1, 0)
ALL = sample("openai_batch.jsonl")
INPUTS = [one for one in ALL if "body" in one or "params" in one]
OUTPUTS = [one for one in ALL if one not in INPUTS]
EXPECTED = [
    ("m-1", "Name a herb.", "Thyme.", None, "garden-c", "ok", 7, "llm"),
    ("q-1", "Best month for bulbs?", "October.", None, "garden-1-0925", "ok", 18, "llm"),
    ("q-2", "Best month for peas?", "March.", None, "garden-1-0925", "ok", 14, "llm"),
    ("q-3", "a pear tree", None, None, "garden-embed", "ok", 3, "embedding"),
    ("q-4", "Hello?", None, "no model garden-9", "garden-9", "error", None, "llm"),
    ("q-5", None, None, "not run within a day", None, "error", None, "llm"),
]


@pytest.mark.parametrize("files", [(INPUTS, OUTPUTS), (OUTPUTS, INPUTS), (ALL,), (ALL[::-1],)])
def test_input_and_output_are_one_trace(
    home: Home, tmp_path: Path, files: tuple[list[JsonObject], ...]
) -> None:
    """In any order, in one file or two: prompt and answer, one span with what each line knows."""
    for number, lines in enumerate(files):
        load(home, write_lines(tmp_path / f"{number}.jsonl", lines))
    found = rows(
        home,
        "select t.native_id, t.input_text, t.output_text, t.error, s.model, s.status, s.input_tokens, s.kind "
        "from traces t join spans s using (trace_uid) order by 1",
    )
    # The model of the answer is more exact than that of the request; either is right where parts are joined.
    assert [(*one[:4], *one[5:]) for one in found] == [(*one[:4], *one[5:]) for one in EXPECTED]
    assert rows(
        home,
        "select role, content from messages join traces using (trace_uid) "
        "where native_id = 'q-1' order by at_ns, seq",
    ) == [("system", "One word."), ("user", "Best month for bulbs?"), ("assistant", "October.")]  # fmt: skip


@pytest.mark.parametrize("record", ALL)
def test_parts_share_their_ids(record: JsonObject) -> None:
    """Trace and span are named by the custom id alone."""
    assert openai_batch.matches(record)
    (found,) = openai_batch.read(record, HERE)
    (first,) = openai_batch.read({"custom_id": record["custom_id"], "error": {"message": "x"}}, HERE)
    assert isinstance(found, Rows)
    assert isinstance(first, Rows)
    assert found.trace_uid == first.trace_uid
    assert found.session is None
    assert [one.span_uid for one in found.spans] == [one.span_uid for one in first.spans]


@pytest.mark.parametrize(
    ("record", "error"),
    [
        ({"response": {"status_code": 500, "body": {}}}, "HTTP 500"),
        ({"response": None, "error": {"code": "batch_expired"}}, "batch_expired"),
        (
            {"result": {"type": "errored", "error": {"type": "error", "error": {"message": "too long"}}}},
            "too long",
        ),
        ({"result": {"type": "expired"}}, "expired"),
        ({"error": "no"}, "no"),
    ],
)
def test_errors(record: JsonObject, error: str) -> None:
    """Of the line, of the body, of the result, of the status."""
    (found,) = openai_batch.read({"custom_id": "x", **record}, HERE)
    assert isinstance(found, Rows)
    assert found.trace is not None
    assert found.trace.error == error
    assert [one.status for one in found.spans] == ["error"]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"custom_id": None, "body": {}}, Reason.MISSING_FIELD),
        ({"custom_id": "x", "body": {}}, Reason.MISSING_FIELD),
        ({"custom_id": "x", "body": {"model": "m"}, "url": "/v1/moderations"}, Reason.BAD_VALUE),
        (
            {"custom_id": "x", "response": {"status_code": 200, "body": {"object": "moderation"}}},
            Reason.BAD_VALUE,
        ),
    ],
)
def test_refused_lines(record: JsonObject, reason: Reason) -> None:
    """Without a name, without content, of another API."""
    (found,) = openai_batch.read(record, HERE)
    assert isinstance(found, Refusal)
    assert found.reason is reason


@given(mutated(ALL))
def test_damaged_records_never_raise(record: JsonObject) -> None:
    """Whatever is missing or of another type; and the same rows come out again."""
    if openai_batch.matches(record):
        assert openai_batch.read(record, HERE) == openai_batch.read(record, HERE)


@pytest.mark.skipif(not SHARED.is_dir(), reason=f"no shared trace files at {SHARED}")
def test_a_recorded_input() -> None:
    """Four requests, each with instructions and an input that is JSON as text, and stays text."""
    for one in records(SHARED / "openai_batch" / "cookbook.nightly_support_qa_batch.4of10.jsonl"):
        (found,) = openai_batch.read(one, HERE)
        assert isinstance(found, Rows)
        assert [message.role for message in found.messages] == ["system", "user"]
        assert (found.messages[1].content or "").startswith('{"ticket_id"')
