"""Simulations of tau2-bench: both sides speak and call tools, every check is a score, ticks are a conversation."""

import copy
from pathlib import Path

import orjson
from hypothesis import given

from rsi.settings import Home
from rsi.traces.formats import tau2
from rsi.traces.rows import JsonObject, Place, Reason, Refusal, Rows, Score
from tests.traces.inputs import load, rows, write_lines
from tests.traces.mutated import mutated, sample

HERE = Place("default", None, "file", 1, 0)
RESULTS, INDEX, ALONE = sample("tau2.json")
TEXT, VOICE = RESULTS["simulations"]


def read(record: JsonObject) -> list[Rows]:
    found = tau2.read(record, HERE)
    assert all(isinstance(one, Rows) for one in found)
    return [one for one in found if isinstance(one, Rows)]


def scores(found: Rows) -> dict[str, list[Score]]:
    named: dict[str, list[Score]] = {}
    for one in found.scores:
        named.setdefault(one.name, []).append(one)
    return named


def test_each_simulation_is_a_trace() -> None:
    """With the models and the task that stand beside the simulations, and its own text."""
    text, voice = read(RESULTS)
    assert text.trace is not None
    assert (text.trace.native_id, text.trace.task_id, text.trace.trial) == ("sim-a", "lamp_0", 0)
    assert (text.trace.agent, text.trace.model) == ("llm_agent", "lamp-agent")
    assert (text.trace.end_ns or 0) - (text.trace.start_ns or 0) == 8_500_000_000
    assert text.trace.time_state == "assumed_utc"
    assert text.trace.input_text == "My lamp L7 blinks."
    assert orjson.loads(text.trace.metadata or "")["domain"] == "lamps"
    assert text.session == voice.session == "task lamp_0"
    assert orjson.loads(text.part or b"")["simulations"] == [TEXT]
    assert read(orjson.loads(voice.part or b""))[0].spans == voice.spans


def test_messages_with_grouped_results_and_calls_of_the_user() -> None:
    """Results in one message are several; the user calls tools as well; a tool says that it failed."""
    text = read(RESULTS)[0]
    assert [(one.role, one.tool_call_id) for one in text.messages] == [
        ("assistant", None), ("user", None), ("assistant", None), ("tool", "c1"), ("tool", "c2"), ("assistant", None),
        ("user", None), ("tool", "u1"), ("user", None),
    ]  # fmt: skip
    assert [(one.name, one.requestor, one.status, one.result) for one in text.tool_calls] == [
        ("get_lamp", "assistant", "ok", '{"state": "blinking"}'),
        ("get_lamp", "assistant", "error", "no such lamp"),
        ("press_button", "user", "ok", "It is steady now."),
    ]
    assert text.messages[2].reasoning == "Look it up."


def test_calls_of_models() -> None:
    """A scripted greeting is none; those of the simulated user are not the agent's."""
    text = read(RESULTS)[0]
    calls = {one.native_id: one for one in text.spans if one.kind == "llm"}
    assert sorted(calls) == ["message 2", "message 5"]
    first = calls["message 2"]
    assert (first.model, first.input_tokens, first.output_tokens, first.cost_usd) == (
        "lamp-agent-2026",
        200,
        20,
        0.001,
    )
    assert (first.end_ns or 0) - (first.start_ns or 0) == 800_000_000
    assert first.finish_reason == "tool_calls"
    assert {one.model for one in text.spans if one.kind == "other"} == {"lamp-user"}


def test_without_usage_every_message_of_the_assistant_is_a_call() -> None:
    """Older files do not tell greetings from answers."""
    bare = copy.deepcopy(TEXT)
    for message in bare["messages"]:
        for key in ("usage", "cost", "raw_data"):
            message.pop(key, None)
    (found,) = read(bare)
    assert [one.native_id for one in found.spans if one.kind == "llm"] == [
        "message 0",
        "message 2",
        "message 5",
    ]


def test_every_check_is_a_score_beside_the_reward() -> None:
    """A reward of 1 stands although an action and the database check failed: they are not its basis."""
    named = scores(read(RESULTS)[0])
    (reward,) = named["reward"]
    assert (reward.value, reward.basis, reward.source) == (1.0, "ENV_ASSERTION+COMMUNICATE", "env")
    assert [(one.basis, one.value) for one in named["breakdown"]] == [
        ("ENV_ASSERTION", 1.0),
        ("COMMUNICATE", 1.0),
    ]
    assert [one.value for one in named["db_check"]] == [0.0]
    assert [(one.basis, one.value) for one in named["action_check"]] == [
        ("get_lamp", 1.0),
        ("press_button", 0.0),
    ]
    assert [(one.basis, one.value) for one in named["env_assertion"]] == [("assert_steady", 1.0)]
    (talked,) = named["communicate_check"]
    assert (talked.basis, talked.value, talked.comment) == ("five seconds", 1.0, "Said in turn 4.")
    (judged,) = named["nl_assertion"]
    assert (judged.value, judged.source) == (1.0, "llm")
    (review,) = named["review"]
    assert (review.value, review.source, review.comment) == (0.0, "llm", "One slip.")
    assert not [name for name in named if name.endswith("_reward")]


def test_two_equal_checks_are_two_scores() -> None:
    """A task may expect an action twice."""
    twice = copy.deepcopy(TEXT)
    twice["reward_info"]["action_checks"] = [twice["reward_info"]["action_checks"][0]] * 2
    (found,) = read(twice)
    assert len({one.score_uid for one in found.scores if one.name == "action_check"}) == 2


def test_ticks_are_a_conversation() -> None:
    """Chunks of an utterance are one turn where it began; tools of both sides have their results."""
    voice = read(RESULTS)[1]
    assert [(one.role, one.content) for one in voice.messages] == [
        ("assistant", "Hello, who is there?"),
        ("user", "My lamp L7 blinks."),
        ("assistant", None),
        ("tool", '{"state": "blinking"}'),
        ("assistant", "One moment."),
        ("user", None),
        ("tool", "nothing happens"),
    ]
    assert [(one.name, one.requestor, one.status) for one in voice.tool_calls] == [
        ("get_lamp", "assistant", "ok"),
        ("press_button", "user", "error"),
    ]
    assert voice.trace is not None
    assert voice.trace.error == "max_steps"
    assert orjson.loads(voice.trace.metadata or "")["user_transcript"] == "My lamb L7 blinks."


def test_expected_actions_say_who_should_act() -> None:
    """Of the task; from the checks where the task is not at hand."""
    wanted = orjson.loads((read(RESULTS)[0].trace or RESULTS).expected)
    assert [(one["name"], one["requestor"]) for one in wanted["actions"]] == [
        ("get_lamp", "assistant"),
        ("press_button", "user"),
    ]
    assert (wanted["outputs"], wanted["nl_assertions"]) == (["five seconds"], ["The agent stays friendly."])
    trace = read(TEXT)[0].trace
    assert trace is not None
    again = orjson.loads(trace.expected or "")
    assert (again["actions"], again["outputs"]) == (wanted["actions"], wanted["outputs"])


def test_a_simulation_alone_and_the_index_are_parts_of_one_trace() -> None:
    """One has what was said and why it broke, the other the task and the models."""
    (alone,), (index,) = read(ALONE), read(INDEX)
    assert alone.trace_uid == index.trace_uid
    assert alone.trace is not None
    assert index.trace is not None
    assert alone.trace.error == "infrastructure_error: the line dropped"
    assert (alone.trace.model, index.trace.model) == (None, "lamp-agent")
    assert (len(alone.messages), len(index.messages)) == (2, 0)
    assert index.trace.expected is not None
    assert (index.scores, alone.scores) == ((), ())


def test_recorded_speech_is_its_script() -> None:
    """The sound itself is no text."""
    spoken = copy.deepcopy(ALONE)
    spoken["messages"][1].update(is_audio=True, content="QUJD" * 100, audio_script_gold="My lamp blinks.")
    spoken["messages"][0].update(is_audio=True, content="QUJD" * 100)
    assert [one.content for one in read(spoken)[0].messages] == ["[audio]", "My lamp blinks."]


def test_a_simulation_without_id_is_named_by_its_content() -> None:
    """Task and trial repeat over files."""
    bare = {key: value for key, value in TEXT.items() if key != "id"}
    other = {**bare, "duration": 1.0}
    assert read(bare)[0].trace_uid == read(copy.deepcopy(bare))[0].trace_uid != read(other)[0].trace_uid


def test_results_without_a_simulation_are_refused() -> None:
    """And of several, one that is no object."""
    (empty,) = tau2.read({**RESULTS, "simulations": []}, HERE)
    assert isinstance(empty, Refusal)
    assert empty.reason is Reason.MISSING_FIELD
    first, second = tau2.read({**RESULTS, "simulations": [5, TEXT]}, HERE)
    assert isinstance(first, Refusal)
    assert (first.reason, first.part) == (Reason.BAD_VALUE, b"5")
    assert isinstance(second, Rows)


def test_parts_in_the_store(home: Home, tmp_path: Path) -> None:
    """The index in one file and the simulation in another, in either order: one trace with all of both."""
    index, alone = (
        write_lines(tmp_path / "results.jsonl", [INDEX]),
        write_lines(tmp_path / "sim.jsonl", [ALONE]),
    )
    question = (
        "select native_id, model, error, expected is not null, input_text, parts, "
        "(select count(*) from messages m where m.trace_uid = t.trace_uid) from traces t"
    )
    wanted = [
        ("sim-c", "lamp-agent", "infrastructure_error: the line dropped", True, "My lamp L7 blinks.", 2, 2)
    ]
    load(home, index, alone)
    assert rows(home, question) == wanted
    other = Home(tmp_path / "other")
    load(other, alone, index)
    assert rows(other, question) == wanted


@given(mutated([RESULTS, INDEX, ALONE, TEXT, VOICE]))
def test_damaged_simulations(record: JsonObject) -> None:
    """Nothing raises."""
    if tau2.matches(record):
        tau2.read(record, HERE)
