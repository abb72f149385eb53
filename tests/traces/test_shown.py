"""One trace as a person reads it."""

from pathlib import Path

import pytest

from rsi.errors import ContractError
from rsi.settings import Home
from rsi.store.snapshot import open_snapshot, refresh
from rsi.traces.shown import Shown, find, read
from tests.traces.inputs import CLOCK, SAMPLES, correction, load, request, rows, write_lines

TALK = {
    "id": "two-calls",
    "messages": [
        {"role": "user", "content": "weather in both"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "weather", "arguments": '{"city":"Oslo"}'},
                },
                {
                    "id": "c2",
                    "type": "function",
                    "function": {"name": "weather", "arguments": '{"city":"Rome"}'},
                },
            ],
        },
        {"role": "tool", "tool_call_id": "c2", "content": "sun"},
        {"role": "tool", "tool_call_id": "c1", "content": "snow"},
        {"role": "tool", "tool_call_id": "c9", "content": "of no call"},
        {"role": "assistant", "content": "Snow and sun."},
    ],
}


def shown(home: Home, *paths: Path, said: str = "") -> Shown:
    load(home, *paths)
    refresh(home, CLOCK)
    with open_snapshot(home) as connection:
        return read(connection, find(connection, said or rows(home, "select trace_uid from traces")[0][0]))


def test_calls_stand_under_the_message_that_asked(home: Home, tmp_path: Path) -> None:
    """Whatever order the results came in; each result once, with its call."""
    found = shown(home, write_lines(tmp_path / "a.jsonl", [TALK]))

    assert [turn.role for turn in found.turns] == ["user", "assistant", "tool", "tool", "tool", "assistant"]
    assert [[(call.arguments, call.result) for call in turn.calls] for turn in found.turns[:2]] == [
        [], [('{"city":"Oslo"}', "snow"), ('{"city":"Rome"}', "sun")],
    ]  # fmt: skip
    assert [turn.told for turn in found.turns] == [False, False, True, True, False, False]
    assert found.loose == ()


def test_every_call_of_a_run_is_shown_once(home: Home) -> None:
    """Of the example runs: as many as the table has, none of nobody."""
    load(home, SAMPLES / "tau.json")
    refresh(home, CLOCK)
    for (uid,) in rows(home, "select trace_uid from traces"):
        with open_snapshot(home) as connection:
            found = read(connection, str(uid))
        called = [call for turn in found.turns for call in turn.calls]
        assert (
            len(called) == rows(home, f"select count(*) from tool_calls where trace_uid = '{uid}'")[0][0] > 0
        )
        assert found.loose == ()


def test_outcome_scores_and_usage_are_told(home: Home, tmp_path: Path) -> None:
    """With the rule that decided."""
    found = shown(home, write_lines(tmp_path / "a.jsonl", [request(1), correction(1, "L2")]))

    assert found.outcome is not None
    assert (found.outcome.outcome, found.outcome.rule) == ("fail", "route score")
    assert [(one.name, one.correction, one.source) for one in found.scores] == [("route", "L2", "label")]
    assert (found.usage.input_tokens, found.usage.output_tokens) == (3, 2)
    assert found.facts["route"] == "L0"


def test_feedback_without_its_trace_is_shown_as_such(home: Home, tmp_path: Path) -> None:
    """The trace may come later."""
    load(home, write_lines(tmp_path / "a.jsonl", [correction(1, "L2")]))
    refresh(home, CLOCK)
    with open_snapshot(home) as connection:
        found = read(connection, find(connection, str(rows(home, "select trace_uid from scores")[0][0])[:10]))

    assert (found.facts, found.outcome, len(found.scores), found.turns) == ({}, None, 1, ())


def test_a_trace_is_found_by_its_first_digits_or_the_producers_id(home: Home, tmp_path: Path) -> None:
    """None and several are told apart."""
    load(home, write_lines(tmp_path / "a.jsonl", [request(1), request(2)]))
    refresh(home, CLOCK)
    first, second = sorted(str(uid) for (uid,) in rows(home, "select trace_uid from traces"))
    with open_snapshot(home) as connection:
        assert find(connection, first) == find(connection, first[:8]) == first
        native = rows(home, f"select native_id from traces where trace_uid = '{second}'")[0][0]
        assert find(connection, str(native)) == second
        with pytest.raises(ContractError, match="no trace"):
            find(connection, "nothing")
        with pytest.raises(ContractError, match="no trace"):
            find(connection, "")
