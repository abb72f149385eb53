"""Runs to rows: names that stay, history once, results with their calls."""

import pytest

from rsi.ids import uid
from rsi.traces.formats.run import Judgement, Run, Step, ToolUse, rows, score
from rsi.traces.formats.turns import Call, turns
from rsi.traces.rows import Json, Place, Rows

HERE = Place("default", None, "file", 1, 0)


def of_steps(*steps: Step) -> Rows:
    return rows(Run(native="t", family="test", steps=steps), "test", HERE)


def of_turns(messages: list[Json]) -> Rows:
    return rows(Run(native="t", family="test", turns=turns(messages)), "test", HERE)


def said(role: str, content: str) -> Json:
    return {"role": role, "content": content}


def test_names() -> None:
    """Of the namespace, the family and the native id, and of the content where that is weak."""
    assert of_turns([said("user", "hi")]).trace_uid == uid("default", "test", "t")
    weak = rows(Run(native="", weak="c" * 64, family="test", turns=turns([said("user", "hi")])), "test", HERE)
    assert weak.trace_uid == uid("default", "test", "", "c" * 64)
    assert weak.native == weak.trace_uid
    assert weak.trace is not None
    assert weak.trace.native_id == "c" * 64


def test_history_is_stored_once_and_repetition_is_kept() -> None:
    """A longer conversation includes the messages of a shorter one; saying "yes" twice is two messages."""
    yes, what = said("user", "yes"), said("assistant", "?")
    short, long = of_turns([yes, what]), of_turns([yes, what, yes])
    assert {one.message_uid for one in short.messages} < {one.message_uid for one in long.messages}
    assert len({one.message_uid for one in long.messages}) == 3


def test_the_calls_of_a_run_share_their_history() -> None:
    """Two steps that see the same words hold the same messages, each at its first time."""
    yes, what = said("user", "yes"), said("assistant", "?")
    first = Step("1", "llm", start_ns=10, asked=turns([yes]), answered=turns([what]))
    second = Step("2", "llm", start_ns=20, asked=turns([yes, what]), answered=turns([said("assistant", "!")]))
    found = of_steps(second, first)
    assert [(one.content, one.at_ns, one.seq) for one in found.messages] == [
        ("yes", 10, 0),
        ("?", 10, 1),
        ("!", 20, 2),
    ]
    one, other = sorted(found.spans, key=lambda span: span.native_id)
    assert other.input_messages == [*(one.input_messages or []), *(one.output_messages or [])]


def test_results_find_their_calls_when_ids_repeat() -> None:
    """The first unanswered call with the id takes the result."""

    def call(book: str) -> Json:
        return {
            "role": "assistant",
            "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": {"b": book}}}],
        }

    def result(text: str) -> Json:
        return {"role": "tool", "tool_call_id": "c", "content": text}

    found = of_turns([call("1"), result("one"), call("2"), result("Error: two")]).tool_calls
    assert [(one.arguments, one.result, one.status) for one in found] == [
        ('{"b":"1"}', "one", "ok"),
        ('{"b":"2"}', "Error: two", "error"),
    ]
    assert len({one.call_uid for one in found}) == 2


def test_a_call_told_by_a_message_and_by_its_tool_is_one() -> None:
    """They have its id in common."""
    asked = turns(
        [{"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]}]
    )
    tool = ToolUse(Call("c", "f", "{}", "object"), "done")
    found = of_steps(Step("1", "llm", answered=asked), Step("2", "tool", tool=tool, status="ok"))
    assert len({one.call_uid for one in found.tool_calls}) == 1
    assert {one.result for one in found.tool_calls} == {None, "done"}


@pytest.mark.parametrize(
    "change", [{"annotator": "b"}, {"value": 0.0}, {"comment": "x"}, {"target": "s"}, {"ts_ns": 5}]
)
def test_what_tells_scores_apart(change: dict[str, object]) -> None:
    """All that was said and who said it; the producer's id, where there is one, alone."""
    one = Judgement("tone", 1.0, annotator="a")
    other = one._replace(**change)  # type: ignore[arg-type]
    assert score("t", one).score_uid != score("t", other).score_uid
    assert (
        score("t", one._replace(native_id="n")).score_uid
        == score("t", other._replace(native_id="n")).score_uid
    )
