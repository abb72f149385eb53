"""Events of the ATOF stream."""

from hypothesis import given

from rsi.settings import Home
from rsi.traces.formats import atof
from rsi.traces.rows import JsonObject, Place, Refusal, Rows
from tests.traces.inputs import SAMPLES, load, rows, write_lines
from tests.traces.mutated import mutated, sample

SAMPLE = SAMPLES / "atof.jsonl"
EVENTS = sample("atof.jsonl")
HERE = Place("default", None, "file", 1, 0)


def test_start_and_end_are_one_scope(home: Home) -> None:
    """In whatever order they come."""
    load(home, write_lines(home.root / "turned.jsonl", EVENTS[::-1]))
    assert rows(
        home,
        "select native_id, kind, name, status, (end_ns - start_ns) // 1000000000, output_tokens, depth "
        "from spans join span_links using (span_uid) order by start_ns",
    ) == [
        ("agent-1", "agent", "counter", "ok", 6, None, 0),
        ("llm-1", "llm", "small-1", "ok", 1, 7, 1),
        ("tool-1", "tool", "times", "ok", 1, None, 1),
        ("mark-1", "guardrail", "output_check", "unset", 0, None, 1),
    ]
    assert rows(
        home, "select native_id, conversation, agent, model, input_text, output_text from traces"
    ) == [("s-7", "s-7", "counter", "small-1", "How many eggs are twelve dozen?", "144 eggs.")]


def test_a_call_told_by_model_and_tool_is_one(home: Home) -> None:
    """The model asks, the tool starts and ends."""
    load(home, SAMPLE)
    assert rows(home, "select name, arguments, result, status from v_tool_calls") == [
        ("times", '{"a":12,"b":12}', "144", "ok")
    ]
    assert rows(home, "select role from v_conversation order by seq") == [("user",), ("assistant",)]


def test_events_without_a_session_are_one_run_of_their_file() -> None:
    """Nothing else says what belongs together."""
    bare: list[JsonObject] = [{**one, "metadata": None} for one in EVENTS]
    found = [one for event in bare for one in atof.read(event, HERE)]
    assert {one.native for one in found if isinstance(one, Rows)} == {"file"}
    (refusal,) = atof.read({**EVENTS[0], "uuid": ""}, HERE)
    assert isinstance(refusal, Refusal)


@given(mutated(EVENTS))
def test_damaged_events_never_raise(record: JsonObject) -> None:
    """Whatever is wrong inside, there are rows or a refusal."""
    if atof.matches(record):
        assert all(isinstance(one, Rows | Refusal) for one in atof.read(record, HERE))
