"""Exports of the OpenAI Agents SDK."""

from hypothesis import given

from rsi.settings import Home
from rsi.traces.detect import detect
from rsi.traces.formats import openai_agents
from rsi.traces.rows import JsonObject, Place, Reason, Refusal, Rows
from tests.traces.inputs import SAMPLES, load, rows, write_lines
from tests.traces.mutated import mutated, sample

SAMPLE = SAMPLES / "openai_agents.jsonl"
ALL = sample("openai_agents.jsonl")
HERE = Place("default", None, "file", 1, 0)
FIRST = "trace_00000000000000000000000000000001"


def test_a_batch_is_told_whole(home: Home) -> None:
    """What was said, once; the tool's own span is the call that the model made; a span without id is refused."""
    totals = load(home, SAMPLE)
    assert (totals.loaded, totals.quarantined) == (6, 1)
    assert rows(home, "select input_text, output_text, conversation, agent, user_ref[:6] from traces "
                      f"where native_id = '{FIRST}'") == [
        ("Rain in Graz?", "No rain in Graz.", "thread-9", "Forecaster", "<user:")
    ]  # fmt: skip
    assert rows(
        home,
        "select role, content from v_conversation join traces using (trace_uid) "
        f"where native_id = '{FIRST}' and content is not null order by seq",
    ) == [
        ("system", "You tell the weather."),
        ("user", "Rain in Graz?"),
        ("tool", "dry"),
        ("assistant", "No rain in Graz."),
    ]
    assert rows(home, "select native_id, name, arguments, result, status from tool_calls order by name") == [
        (None, "refund", '{"order":7}', "Error running tool", "error"),
        ("call_1", "weather", '{"town":"Graz"}', "dry", "ok"),
    ]


def test_calls_tell_tokens_and_response(home: Home) -> None:
    """Where the response itself is not there, its id is."""
    load(home, SAMPLE)
    assert rows(
        home,
        "select name, model, response_id, input_tokens, output_tokens from v_llm_calls order by start_ts",
    ) == [
        ("generation", "example-model", None, 40, 8),
        ("generation", "example-model", None, 60, 6),
        ("response", None, "resp_agents1", 90, 11),
    ]
    assert rows(home, "select kind, name, status, link_state from spans join span_links using (span_uid) "
                      "where spans.native_id in ('span_h1', 'span_f2', 'span_b') order by 2") == [
        ("agent", "Desk", "ok", "root"), ("step", "Manager", "ok", "linked"), ("tool", "refund", "error", "linked"),
    ]  # fmt: skip


def test_rows_in_any_order_and_again(home: Home) -> None:
    """The same rows."""
    load(home, SAMPLE)
    # A user's pseudonym is another in another deployment.
    place = "ordinal, file_id, line, byte_offset"
    queries = [f"select * exclude ({place}, user_ref) from traces order by 1"]
    queries += [
        f"select * exclude ({place}) from {one} order by 1" for one in ("spans", "messages", "tool_calls")
    ]
    before = [rows(home, query) for query in queries]
    other = Home(home.root / "other")
    load(other, write_lines(home.root / "a.jsonl", ALL[::-1]))
    load(other, SAMPLE)
    assert [rows(other, query) for query in queries] == before


def test_other_objects_are_not_taken() -> None:
    """Of APIs, of pages of them, and traces of other tools."""
    for record in (
        {"object": "list", "data": [{"object": "response"}]},
        {"object": "trace", "id": "x"},
        {"object": "trace.span", "id": "x"},
        {"data": [5]},
    ):
        assert not openai_agents.matches(record)
    assert all(detect(one) is openai_agents for one in ALL)


def test_a_batch_without_ids_is_refused_row_by_row() -> None:
    """Each with its own text."""
    record: JsonObject = {"data": [{"object": "trace.span", "span_data": {}}, 5]}
    found = openai_agents.read(record, HERE)
    assert [(one.reason, one.part) for one in found if isinstance(one, Refusal)] == [
        (Reason.MISSING_FIELD, b'{"object":"trace.span","span_data":{}}'),
        (Reason.MISSING_FIELD, b"5"),
    ]


@given(mutated(ALL))
def test_damaged_rows_never_raise(record: JsonObject) -> None:
    """Whatever is wrong inside, there are rows or a refusal."""
    if openai_agents.matches(record):
        assert all(isinstance(one, Rows | Refusal) for one in openai_agents.read(record, HERE))
