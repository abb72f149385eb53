"""Rows of a run that one document tells from its beginning to its end: the document orders the conversation."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from rsi.traces.formats.run import Run, Step, rows
from rsi.traces.formats.turns import Turn, last, opening
from rsi.traces.rows import Place, Rows

HISTORY = 256
"""Of what a call was given, the last so many messages are listed: lists of all would grow with the square."""


class Told(NamedTuple):
    """A moment of the run: what was done, and what was said then. Every turn is named."""

    step: Step | None = None
    """Null for what is no operation: a message of the user, copied history."""
    turns: tuple[Turn, ...] = ()
    at_ns: int | None = None


def told_rows(run: Run, told: Sequence[Told], name: str, place: Place, part: bytes | None = None) -> Rows:
    """Rows of a run from its moments, in order. A call of the model was given what was said before it."""
    turns = tuple(turn for one in told for turn in one.turns)
    run = run._replace(
        steps=tuple(one.step._replace(asked=(), answered=()) for one in told if one.step is not None),
        turns=turns,
        input_text=run.input_text or opening(turns, "user"),
        output_text=run.output_text or last(turns, "assistant"),
    )
    found = rows(run, name, place, part)
    uids = [one.message_uid for one in found.messages]
    times: list[int] = []
    listed: dict[str, tuple[list[str], list[str]]] = {}
    now = run.start_ns or 0
    for step, said, at_ns in told:
        # Times that go back do not turn the order that the document gives.
        now = max(now, at_ns or 0)
        before = len(times)
        times += [now] * len(said)
        if step is not None:
            answered = {turn.native_id for turn in step.answered}
            here = zip(uids[before:], said, strict=False)
            listed[step.native_id] = (
                uids[max(before - HISTORY, 0) : before] if step.kind == "llm" else [],
                [uid for uid, turn in here if turn.native_id in answered],
            )
    spans = []
    for span in found.spans:
        given, answers = listed[span.native_id]
        spans.append(span._replace(input_messages=given or None, output_messages=answers or None))
    return replace(
        found,
        spans=tuple(spans),
        messages=tuple(one._replace(at_ns=at) for one, at in zip(found.messages, times, strict=True)),
        tool_calls=tuple(one._replace(at_ns=times[one.seq]) for one in found.tool_calls),
    )
