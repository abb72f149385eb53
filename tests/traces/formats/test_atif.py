"""Agent trajectories in ATIF."""

import orjson
import pytest
from hypothesis import given

from rsi.settings import Home
from rsi.traces.detect import detect
from rsi.traces.formats import atif
from rsi.traces.formats.told import HISTORY
from rsi.traces.rows import Json, JsonObject, Place, Reason, Refusal, Rows
from tests.traces.inputs import SAMPLES, SHARED, load, rows, write_lines
from tests.traces.mutated import mutated, sample

SAMPLE = SAMPLES / "atif.json"
MAIN, NEXT = sample("atif.json")
HERE = Place("default", None, "file", 1, 0)


def read(record: JsonObject) -> tuple[Rows, ...]:
    """The runs of a document that loads whole."""
    assert detect(record) is atif
    found = atif.read(record, HERE)
    assert all(isinstance(one, Rows) for one in found)
    return tuple(one for one in found if isinstance(one, Rows))


def document(*steps: Json, **more: Json) -> JsonObject:
    """A small trajectory."""
    return {
        "schema_version": "ATIF-v1.4",
        "session_id": "s",
        "agent": {"name": "a"},
        "steps": list(steps),
        **more,
    }


def test_the_conversation_as_the_document_tells_it(home: Home) -> None:
    """System, user (parts and a picture), agent, results in their order, and what the agent thought."""
    load(home, SAMPLE)
    assert rows(
        home,
        "select role, content, reasoning, tool_call_id from v_conversation join traces using (trace_uid) "
        "where native_id = 'run-1-main' order by seq",
    ) == [
        ("system", "You plan evenings.", None, None),
        ("user", "Two seats tonight, please.\n[image]", None, None),
        ("assistant", None, "First look for seats.", None),
        ("tool", "Error: no row has three", None, "c2"),
        ("tool", "row 4", None, "c1"),
        ("assistant", "checked", None, None),
        ("assistant", "Row 4 is yours.", None, None),
    ]
    assert rows(
        home, "select name, native_id, arguments, result, status from tool_calls order by native_id"
    ) == [
        ("find_seats", "c1", '{"count":2}', "row 4", "ok"),
        ("find_seats", "c2", '{"count":3}', "Error: no row has three", "error"),
    ]


def test_each_step_of_the_agent_is_a_call(home: Home) -> None:
    """Unless it says that it asked no model; the whole run is the span above."""
    load(home, SAMPLE)
    assert rows(
        home,
        "select s.native_id, kind, depth, s.model, input_tokens, output_tokens, cache_read_tokens, reasoning_tokens, "
        "cost_usd, len(input_messages), len(output_messages) from spans s join span_links using (span_uid) "
        "join traces t on t.trace_uid = s.trace_uid where t.native_id = 'run-1-main' order by s.native_id",
    ) == [
        ("step 3", "llm", 1, "small-1", 40, 20, 16, 6, 0.001, 2, 1),
        ("step 4", "step", 1, None, None, None, None, None, None, None, 1),
        ("step 5", "llm", 1, None, 70, 8, None, None, None, 6, 1),
        ("trajectory", "agent", 0, None, None, None, None, None, None, None, None),
    ]


def test_trace_columns(home: Home) -> None:
    """Agent, task, trial, times and the reward that stands in `extra`."""
    load(home, SAMPLE)
    assert rows(
        home,
        "select agent, release, model, task_id, trial, end_ns - start_ns, input_text, output_text, conversation, "
        "metadata->>'$.continued_trajectory_ref', metadata->'$.tools' from traces where native_id = 'run-1-main'",
    ) == [
        ("planner", "0.4", "small-1", "evening-3", 0, 2 * 10**9, "Two seats tonight, please.\n[image]",
         "Row 4 is yours.", "run-1", "run-1-next.json", '["find_seats"]'),
    ]  # fmt: skip
    assert rows(home, "select name, value, source from scores") == [("reward", 1.0, "env")]


def test_a_subagent_is_a_trace_of_the_same_session() -> None:
    """It falls on the same side of the split, has its own text, and the totals where its steps count nothing."""
    main, sub = read(MAIN)
    assert main.trace is not None
    assert sub.trace is not None
    assert (sub.trace.native_id, sub.trace.conversation, sub.session) == ("run-1-sub", "run-1", main.session)
    assert main.session == "task evening-3"
    assert sub.part is not None
    assert orjson.loads(sub.part)["trajectory_id"] == "run-1-sub"
    assert main.part is not None
    assert "subagent_trajectories" not in orjson.loads(main.part)
    (whole,) = [one for one in sub.spans if one.kind == "agent"]
    assert (whole.input_tokens, whole.output_tokens, whole.cost_usd) == (12, 3, 0.0002)


def test_copied_steps_are_history() -> None:
    """They are in the conversation, but neither calls of the model nor of tools: those were counted before."""
    (found,) = read(NEXT)
    assert [one.content for one in found.messages] == [
        "Two seats tonight, please.", None, "row 4", "And for tomorrow?", "Row 2."
    ]  # fmt: skip
    assert [one.native_id for one in found.spans if one.kind == "llm"] == ["step 4"]
    assert found.tool_calls == ()
    assert [len(one.input_messages or ()) for one in found.spans if one.kind == "llm"] == [4]


def test_a_trajectory_that_grows_is_one(home: Home) -> None:
    """The first steps, then all of them; and another run under the same id is another trace."""
    shorter: JsonObject = (
        {**MAIN, "steps": (MAIN["steps"] or [])[:3]} if isinstance(MAIN["steps"], list) else {}
    )
    load(home, write_lines(home.root / "a.jsonl", [shorter]), write_lines(home.root / "b.jsonl", [MAIN]))
    assert rows(home, "select count(*) from traces where native_id = 'run-1-main'") == [(1,)]
    assert rows(home, "select sum(output_tokens) from v_llm_calls") == [(28,)]
    other = document({"step_id": 1, "source": "user", "message": "Something else."}, session_id="run-1")
    again = document({"step_id": 1, "source": "user", "message": "And another."}, session_id="run-1")
    assert read(other)[0].trace_uid != read(again)[0].trace_uid


def test_what_a_step_cannot_say() -> None:
    """No times, ids twice, results of no call, an observation without an agent: order and rows stay."""
    steps: list[Json] = [
        {"step_id": 1, "source": "user", "message": "go"},
        {"step_id": 1, "source": "agent", "message": "going"},
        {
            "step_id": 1,
            "source": "agent",
            "message": "going",
            "observation": {"results": [{"content": "it moved"}]},
        },
        {"source": "system", "message": "stop", "observation": {"results": [{"content": "it stopped"}]}},
    ]
    (found,) = read(document(*steps))
    assert [(one.at_ns, one.seq, one.content) for one in found.messages] == [
        (0, 0, "go"), (0, 1, "going"), (0, 2, "going"), (0, 3, "it moved"), (0, 4, "stop"), (0, 5, "it stopped")
    ]  # fmt: skip
    assert found.trace is not None
    assert (found.trace.start_ns, found.trace.time_state) == (None, "missing")


def test_long_trajectories_list_recent_history() -> None:
    """What a call was given is listed to a bound, so that a long run costs no square."""
    steps: list[Json] = [{"step_id": n, "source": "agent", "message": f"{n}"} for n in range(1, 1001)]
    (found,) = read(document(*steps))
    assert max(len(one.input_messages or ()) for one in found.spans) == HISTORY
    assert len(found.messages) == 1000


def test_broken_documents() -> None:
    """Steps that are none are refused, the others load; so is a document without any."""
    (refusal,) = atif.read({"schema_version": "ATIF-v1.5", "steps": {}}, HERE)
    assert isinstance(refusal, Refusal)
    assert refusal.reason is Reason.MISSING_FIELD
    run, part, sub = atif.read(
        document(5, {"source": "user", "message": "hi"}, subagent_trajectories=[{"steps": 1}]), HERE
    )
    assert isinstance(run, Rows)
    assert [one.content for one in run.messages] == ["hi"]
    assert isinstance(part, Refusal)
    assert part.part == b"5"
    assert isinstance(sub, Refusal)


def test_scores_outside_of_0_to_1_are_kept_as_said() -> None:
    """A reward of 12.5 is no rate."""
    (found,) = read(document({"source": "user", "message": "hi"}, extra={"reward": 12.5, "success": True}))
    assert [(one.name, one.value, one.said) for one in found.scores] == [
        ("reward", None, "12.5"),
        ("success", 1.0, None),
    ]


@given(mutated([MAIN, NEXT]))
def test_damaged_documents_never_raise(record: JsonObject) -> None:
    """Whatever is wrong inside, there are rows or a refusal."""
    if atif.matches(record):
        assert all(isinstance(one, Rows | Refusal) for one in atif.read(record, HERE))


@pytest.mark.skipif(not SHARED.exists(), reason="the shared trace files are not here")
def test_counts_agree_with_the_other_renderings(home: Home) -> None:
    """Messages, calls and rewards of the six runs are what every format tells."""
    folder = SHARED / "derived_tau6"
    load(home, *sorted(folder.glob("atif.*.json")))
    counts = ("task_id", "trial", "reward", "n_messages", "n_llm_calls", "n_tool_calls", "n_tool_errors")
    expected = orjson.loads((folder / "EXPECTED.json").read_bytes())
    told = rows(
        home,
        "select task_id::int, trial, (select value from scores s where s.trace_uid = t.trace_uid), "
        "(select count(*) from messages m where m.trace_uid = t.trace_uid), "
        "(select count(*) from v_llm_calls c where c.trace_uid = t.trace_uid), "
        "(select count(*) from v_tool_calls c where c.trace_uid = t.trace_uid), "
        "(select count(*) from v_tool_calls c where c.trace_uid = t.trace_uid and status = 'error') "
        "from traces t order by 1",
    )
    assert told == sorted(tuple(one[key] for key in counts) for one in expected)


@pytest.mark.skipif(not SHARED.exists(), reason="the shared trace files are not here")
def test_shared_trajectories_load_whole(home: Home) -> None:
    """Nothing of the example documents and event streams is refused."""
    totals = load(home, SHARED / "atif")
    assert totals.read
    assert totals.quarantined == 0
    assert rows(home, "select count(*) from traces where format = 'atif' and output_text is not null") == [
        (3,)
    ]
