"""Events that ``codex exec --json`` prints."""

from hypothesis import given

from rsi.settings import Home
from rsi.traces.detect import detect
from rsi.traces.formats import codex_exec
from rsi.traces.pieces import pieces
from rsi.traces.rows import JsonObject, Place, Refusal, Rows
from rsi.traces.streams import joined
from rsi.traces.values import Piece
from tests.traces.inputs import SAMPLES, load, rows, write_lines
from tests.traces.mutated import mutated, sample

SAMPLE = SAMPLES / "codex_exec.jsonl"
EVENTS = sample("codex_exec.jsonl")
RUNS: list[JsonObject] = [{"chunks": list(part)} for part in (EVENTS[:12], EVENTS[12:16], EVENTS[16:])]
THREAD = EVENTS[0]["thread_id"]
HERE = Place("default", None, "file", 1, 0, "out.jsonl")


def test_a_run_is_one_record() -> None:
    """From the event that names the thread to the next such, errors of the connection included."""
    found = list(joined(pieces(SAMPLE)))
    assert [one.body.count(b'"type":"t') for one in found if isinstance(one, Piece)] == [6, 3, 3]
    assert [one.line for one in found if isinstance(one, Piece)] == [1, 13, 17]


def test_a_thread_is_a_trace(home: Home) -> None:
    """A resumed run adds to it; what failed says why."""
    load(home, SAMPLE)
    assert rows(home, "select native_id, conversation, agent, output_text, error from traces order by 1") == [
        (THREAD, THREAD, "codex", "All tests pass.", None),
        (str(THREAD)[:-1] + "4", str(THREAD)[:-1] + "4", "codex", None, "You've hit your usage limit."),
    ]
    assert rows(
        home,
        "select role, coalesce(content, reasoning) from v_conversation "
        f"where trace_uid = (select trace_uid from traces where native_id = '{THREAD}') "
        "and coalesce(content, reasoning) is not null order by seq",
    ) == [
        ("assistant", "**Looking for the test**"),
        ("tool", "1 failed\n"),
        ("tool", "nothing found"),
        ("assistant", "The sign in sums.py is mended."),
        ("assistant", "All tests pass."),
    ]


def test_calls_have_arguments_results_and_how_they_ended(home: Home) -> None:
    """Each once, as it was told last."""
    load(home, SAMPLE)
    assert rows(home, "select name, arguments, result, status from tool_calls order by name") == [
        ("file_change", '{"changes":[{"kind":"update","path":"sums.py"}]}', None, "ok"),
        ("search", '{"q":"sums"}', "nothing found", "ok"),
        ("shell", '{"command":"bash -lc \'pytest -q\'"}', "1 failed\n", "error"),
        ("todo_list", '{"items":[{"completed":true,"text":"mend the sign"}]}', None, "no_result"),
    ]


def test_tokens_are_those_of_the_thread(home: Home) -> None:
    """They are counted from its beginning, also in a run that resumes it."""
    load(home, SAMPLE)
    assert rows(
        home,
        "select input_tokens, cache_read_tokens, output_tokens, reasoning_tokens from v_llm_calls",
    ) == [(8000, 6500, 150, 70)]


def test_one_event_alone_is_a_part_of_what_its_file_names() -> None:
    """By a thread's id in the file's name, else by the file."""
    event = EVENTS[10]
    assert detect(event) is codex_exec
    for uri, native in ((f"/x/{THREAD}.jsonl", THREAD), ("out.jsonl", "out.jsonl")):
        (found,) = codex_exec.read(event, Place("default", None, "file", 1, 0, uri))
        assert isinstance(found, Rows)
        assert (found.native, [one.content for one in found.messages]) == (
            native,
            ["The sign in sums.py is mended."],
        )


def test_runs_in_any_order_and_again(home: Home) -> None:
    """The same rows."""
    load(home, SAMPLE)
    tables = ("traces", "spans", "messages", "tool_calls")
    queries = [
        f"select * exclude (ordinal, file_id, line, byte_offset) from {one} order by 2, 1" for one in tables
    ]
    before = [rows(home, query) for query in queries]
    other = Home(home.root / "other")
    load(other, write_lines(home.root / "a.jsonl", [*EVENTS[16:], *EVENTS[12:16], *EVENTS[:12]]))
    load(other, SAMPLE)
    assert [rows(other, query) for query in queries] == before


def test_events_of_others_are_not_taken() -> None:
    """Errors of APIs, and items of other programs."""
    assert not codex_exec.matches({"type": "error", "message": "x"})
    assert not codex_exec.matches({"type": "item.completed", "payload": {}})
    assert not codex_exec.matches({"chunks": [{"type": "response.created"}]})


@given(mutated([*EVENTS, *RUNS]))
def test_damaged_events_never_raise(record: JsonObject) -> None:
    """Whatever is wrong inside, there are rows or a refusal."""
    if codex_exec.matches(record):
        assert all(isinstance(one, Rows | Refusal) for one in codex_exec.read(record, HERE))
