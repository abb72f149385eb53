"""The conversation of a whole trace, with each call under the turn that asked for it and its result behind it.

The store keeps calls beside messages. What a message does not tell (the id of a call, the result that only a
tool's span had) is put back here, so that other tools find what they expect: a call, then its answer.
"""

from bisect import bisect_right
from typing import NamedTuple

from rsi.traces.export.whole import Whole
from rsi.traces.formats.calls import status
from rsi.traces.rows import Message, Span, ToolCall


class Asked(NamedTuple):
    """A call of the conversation."""

    id: str
    """Its own in the conversation: producers leave it out, or repeat it."""
    call: ToolCall


class Turn(NamedTuple):
    """What somebody said."""

    message: Message
    calls: tuple[Asked, ...] = ()
    """What it asks for."""
    answers: Asked | None = None
    """The call that a tool's message answers."""
    told: bool = True
    """Whether the store has this message; else only its calls, or only the result."""


def conversation(whole: Whole) -> tuple[Turn, ...]:
    """The turns in order."""
    asked = _named(whole.calls)
    by_turn, before = _by_turn(whole.messages, asked)
    found: list[Turn] = []
    waiting: list[Asked] = []
    for place, message in enumerate(whole.messages):
        for one in before.get(place, ()):
            found.append(_asking(one))
            waiting.append(one)
        calls = tuple(by_turn.get(place, ()))
        if message.role != "tool":
            found.append(Turn(message, calls))
            waiting += calls
            continue
        answers = next((one for one in waiting if _answers(message, one)), None)
        if answers is not None:
            waiting.remove(answers)
        found.append(Turn(message, (), answers))
    for one in before.get(len(whole.messages), ()):
        found.append(_asking(one))
        waiting.append(one)
    return _with_results(found, waiting)


def failed(call: ToolCall) -> bool:
    """Whether its result does not say by itself that the tool failed."""
    return call.status == "error" and status(call.result) != "error"


def owners(whole: Whole) -> dict[str, Span]:
    """The call of a model that each message of it came from, by `message_uid`.

    A span lists what it answered; a message of the assistant within its time is its own as well. A call that
    answered nothing of the sort has the first such message since the call before it: some logs count tokens
    apart from what was said.
    """
    spans = [one for one in whole.spans if one.kind == "llm" and one.span_uid not in whole.doubles]
    found: dict[str, Span] = {}
    for span in spans:
        for uid in span.output_messages or ():
            found.setdefault(uid, span)
    said = [one for one in whole.messages if one.role == "assistant" and one.message_uid not in found]
    timed = [one for one in spans if one.start_ns is not None and one.end_ns is not None]
    free = []
    at = 0
    for message in said:
        while at < len(timed) and (timed[at].end_ns or 0) < message.at_ns:
            at += 1
        within = at < len(timed) and (timed[at].start_ns or 0) <= message.at_ns
        if within and message.message_uid not in (timed[at].input_messages or ()):
            found[message.message_uid] = timed[at]
        else:
            free.append(message)
    return found | _left(spans, free, {one.span_uid for one in found.values()})


def _left(spans: list[Span], free: list[Message], taken: set[str]) -> dict[str, Span]:
    """Messages between two calls of a model belong to the second, where that has none."""
    found: dict[str, Span] = {}
    at = 0
    for span in spans:
        end = span.end_ns or span.start_ns
        if end is None:
            continue
        mine = []
        while at < len(free) and free[at].at_ns <= end:
            mine.append(free[at].message_uid)
            at += 1
        if span.span_uid not in taken:
            found.update(dict.fromkeys(mine, span))
    return found


def _named(calls: tuple[ToolCall, ...]) -> list[Asked]:
    seen: set[str] = set()
    found = []
    for number, call in enumerate(calls, 1):
        name = call.native_id or f"call_{number}"
        name = f"{name}.{number}" if name in seen else name
        seen.add(name)
        found.append(Asked(name, call))
    return found


def _by_turn(
    messages: tuple[Message, ...], asked: list[Asked]
) -> tuple[dict[int, list[Asked]], dict[int, list[Asked]]]:
    """Calls by the place of the message that asked, and those of no message by the place they stand before.

    It is the message that stands where the call was made; else the last one before the call's answer, or before
    the call, else the next. Whoever records calls and messages apart does not always give them the same moment.
    """
    places = {(one.role, one.at_ns, one.seq): place for place, one in enumerate(messages)}
    answers = {one.tool_call_id: place for place, one in enumerate(messages) if one.role == "tool"}
    moments = [(one.at_ns, one.seq) for one in messages]
    by_turn: dict[int, list[Asked]] = {}
    before: dict[int, list[Asked]] = {}
    for one in asked:
        call = one.call
        place = places.get((call.requestor, call.at_ns, call.seq))
        if place is None:
            here = bisect_right(moments, (call.at_ns, call.seq))
            behind = answers.get(call.native_id, here) if call.native_id is not None else here
            nearest = (*range(behind - 1, -1, -1), *range(behind, len(messages)))
            place = next((at for at in nearest if messages[at].role == call.requestor), None)
            if place is None:
                before.setdefault(here, []).append(one)
                continue
        by_turn.setdefault(place, []).append(one)
    return by_turn, before


def _asking(one: Asked) -> Turn:
    """A call that only its tool tells, as a turn of who asked."""
    call = one.call
    message = Message(
        call.call_uid, call.trace_uid, call.at_ns, call.seq, call.requestor, content_state="absent"
    )
    return Turn(message, (one,), None, told=False)


def _answers(message: Message, one: Asked) -> bool:
    if message.tool_call_id is not None and one.call.native_id is not None:
        return message.tool_call_id == one.call.native_id
    return message.content == one.call.result


def _with_results(turns: list[Turn], waiting: list[Asked]) -> tuple[Turn, ...]:
    """Results that no message tells, right behind the call."""
    missing = {one.id for one in waiting if one.call.status != "no_result"}
    found = []
    for turn in turns:
        found.append(turn)
        for one in turn.calls:
            if one.id in missing:
                call = one.call
                message = Message(
                    f"{call.call_uid} result", call.trace_uid, call.at_ns, call.seq, "tool", None, call.result,
                    "absent" if call.result is None else "full", None, one.id,
                )  # fmt: skip
                found.append(Turn(message, (), one, told=False))
    return tuple(found)
