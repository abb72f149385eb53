"""Whatever arrives, reading it ends in rows or refusals."""

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rsi.settings import Home
from rsi.traces.decode import decode_record
from rsi.traces.detect import read
from rsi.traces.pieces import pieces
from rsi.traces.rows import Place, Reason, Refusal
from rsi.traces.values import Piece
from tests.traces.inputs import SAMPLES, load, rows

HERE = Place("default", None, "file", 1, 0)
SAMPLE_FILES = sorted(SAMPLES.glob("*.*json*"))
KEY_WORDS = """
    actions answer arguments arrayValue attributes body choices code content correction created error
    eventName events feedback function id info intValue key kvlistValue kwargs label logRecords message
    messages metadata name origin parentSpanId parts request resourceLogs resourceSpans response reward
    reward_info role route schema scopeLogs scopeSpans score scores session spanId spans
    startTimeUnixNano start_ns status stringValue task task_id text timestamp tool_calls tools traceId
    trace_id traj trial type usage value values
"""
KEYS = KEY_WORDS.split()
STRINGS = st.sampled_from(
    [
        "rsi.trace/1",
        "rsi.feedback/1",
        "user",
        "assistant",
        "tool",
        "system",
        "a" * 32,
        "b" * 16,
        "",
        "None",
        "chat",
        "gen_ai.operation.name",
        "gen_ai.input.messages",
        "gen_ai.output.messages",
        "gen_ai.prompt.0.content",
        "NaN",
        "gen_ai.evaluation.result",
        "gen_ai.evaluation.name",
        "gen_ai.choice",
        "execute_tool",
        '{"a": 1}',
        '["x"]',
        '[{"role": "user", "parts": [{"type": "text", "content": 5}]}]',
        "2025-01-01T00:00:00Z",
        "1e400",
        "\x00",
        "gen_ai.completion.0.tool_calls.0.name",
        "gen_ai.tool.name",
        "gen_ai.content.prompt",
        "gen_ai.prompt",
        "9" * 30,
        "Error: x",
    ]
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | STRINGS | st.text(max_size=5)
RECORDS = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6),
    max_leaves=30,
)


def check(piece: Piece) -> None:
    """Something is found, and no reader broke."""
    found = read(piece, HERE)
    assert found
    for one in found:
        assert not (isinstance(one, Refusal) and one.reason is Reason.READER_FAILED), one


@given(st.dictionaries(st.sampled_from(KEYS), RECORDS, min_size=1, max_size=6))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_json_of_known_words_never_breaks_a_reader(record: dict[str, object]) -> None:
    """Fields of any type, in any place."""
    check(Piece(1, 0, json.dumps(record).encode()))


@pytest.mark.parametrize("path", SAMPLE_FILES, ids=lambda path: path.name)
@given(data=st.data())
@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
def test_a_sample_with_one_value_replaced_never_breaks_a_reader(path: Path, data: st.DataObject) -> None:
    """Anything anywhere in a good record."""
    records = [found for one in good(path) if isinstance(found := decode_record(one.body), dict)]
    record = data.draw(st.sampled_from(records))
    where, key = data.draw(st.sampled_from(list(places(record))))
    where[key] = data.draw(RECORDS)  # type: ignore[index]
    check(Piece(1, 0, json.dumps(record).encode()))


@given(
    text=st.binary(max_size=300),
    suffix=st.sampled_from([".json", ".jsonl", ".ndjson.open", ".jsonl.gz", ".json.zst"]),
)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_arbitrary_bytes_never_raise(text: bytes, suffix: str) -> None:
    """In any kind of file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"a{suffix}"
        path.write_bytes(text)
        for piece in pieces(path):
            if isinstance(piece, Piece):
                check(piece)


@given(data=st.data())
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_damaged_samples_never_stop_an_ingest(data: st.DataObject) -> None:
    """Bytes cut out, put in and changed, all the way into the store; the counts add up."""
    text = bytearray(data.draw(st.sampled_from(SAMPLE_FILES)).read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, max(len(text) - 1, 0)))
        text[at : at + data.draw(st.integers(0, 30))] = data.draw(st.binary(max_size=5))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.json"
        path.write_bytes(text)
        home = Home(Path(folder) / "home")
        totals = load(home, path)
        assert totals.read == totals.loaded + totals.duplicates + totals.quarantined
        assert rows(home, "select count(*) from quarantine where reason = 'reader_failed'") == [(0,)]


def good(path: Path) -> list[Piece]:
    """Pieces of a sample that are JSON objects."""
    found = [piece for piece in pieces(path) if isinstance(piece, Piece)]
    refusals = (Reason.NOT_JSON, Reason.NOT_UTF8, Reason.TOO_DEEP, Reason.UNKNOWN_FORMAT, Reason.CUT_LINE)
    return [
        one
        for one in found
        if b"NaN" not in one.body
        and not any(
            isinstance(said, Refusal) and said.reason in refusals and said.part is None
            for said in read(one, HERE)
        )
    ]


def places(value: object) -> "list[tuple[object, object]]":
    """Every (container, key) inside a value."""
    found: list[tuple[object, object]] = []
    if isinstance(value, dict):
        found = [(value, key) for key in value] + [place for one in value.values() for place in places(one)]
    elif isinstance(value, list):
        found = [(value, key) for key in range(len(value))] + [
            place for one in value for place in places(one)
        ]
    return found
