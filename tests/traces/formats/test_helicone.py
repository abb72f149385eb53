"""Rows of Helicone."""

from hypothesis import given

from rsi.settings import Home
from rsi.traces.detect import detect
from rsi.traces.formats import helicone
from rsi.traces.rows import JsonObject, Place, Reason, Refusal, Rows
from tests.traces.inputs import SAMPLES, load, rows, write_lines
from tests.traces.mutated import mutated, sample

SAMPLE = SAMPLES / "helicone.jsonl"
ALL = sample("helicone.jsonl")
HERE = Place("default", None, "file", 1, 0)


def test_requests_of_a_session_are_one_trace(home: Home) -> None:
    """History is told once, the call of a tool has its result, feedback and scores are there."""
    load(home, SAMPLE)
    assert rows(home, "select input_text, output_text, agent from traces where conversation = 'trip-1'") == [
        ("A train to Linz?", "At ten past nine.", "travel")
    ]
    assert rows(home, "select name, result, status from tool_calls") == [("trains", "9:10", "ok")]
    assert rows(home, "select name, value, source from scores order by name") == [
        ("feedback", 1.0, "end_user"),
        ("polite", 1.0, "human"),
    ]


def test_counts_are_those_of_the_response_else_of_the_proxy(home: Home) -> None:
    """Cost is the proxy's; a row without bodies has its counts, a failed one its error."""
    load(home, SAMPLE)
    assert rows(
        home,
        "select left(s.native_id, 6), s.input_tokens, s.output_tokens, s.cost_usd, s.status from spans s order by 1",
    ) == [
        ("hreq-1", 10, 5, 0.001, "ok"),
        ("hreq-2", 10, 5, 0.001, "ok"),
        ("hreq-3", 3, 2, 0.001, "ok"),
        ("hreq-4", 10, 5, 0.001, "unset"),
        ("hreq-5", None, None, None, "error"),
    ]
    assert rows(home, "select error from traces where native_id = 'hreq-5'") == [("slow down",)]


def test_a_page_of_the_api_is_its_rows(home: Home) -> None:
    """Each is what it is in an export."""
    load(home, SAMPLE)
    totals = load(home, write_lines(home.root / "page.json", [{"data": ALL, "error": None}]))
    assert (totals.read, totals.duplicates) == (5, 5)


def test_bodies_may_be_text_and_streams() -> None:
    """As older exports have them."""
    text = 'data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Yes."}}]}\n\n'
    record: JsonObject = {**ALL[0], "request_body": '{"messages":[{"role":"user","content":"So?"}]}',
                          "response_body": text}  # fmt: skip
    (found,) = helicone.read(record, HERE)
    assert isinstance(found, Rows)
    assert [(one.role, one.content) for one in found.messages] == [("user", "So?"), ("assistant", "Yes.")]


def test_what_says_nothing_is_refused() -> None:
    """A row without an id, and one without bodies and counts."""
    empty = {"request_id": "r", "request_created_at": "2026-04-02T08:00:00Z", "response_status": 200}
    for record, reason in (({**ALL[0], "request_id": None}, Reason.MISSING_FIELD), (empty, Reason.BAD_VALUE)):
        (found,) = helicone.read(dict(record), HERE)
        assert isinstance(found, Refusal)
        assert found.reason is reason
    assert all(detect(one) is helicone for one in ALL)


@given(mutated(ALL))
def test_damaged_rows_never_raise(record: JsonObject) -> None:
    """Whatever is wrong inside, there are rows or a refusal."""
    if helicone.matches(record):
        assert all(isinstance(one, Rows | Refusal) for one in helicone.read(record, HERE))
