"""Places in a trace that show something."""

import bisect

from rsi.discover.facts import CallFact, TraceFacts
from rsi.records import Evidence


def of_trace(facts: TraceFacts, says: str) -> Evidence:
    """The trace as a whole."""
    return Evidence(trace_uid=facts.trace_uid, says=says)


def of_call(facts: TraceFacts, call: CallFact, says: str) -> Evidence:
    """A call, with the message that asks for it where the conversation is at hand."""
    turns = facts.turns
    at = bisect.bisect_left(turns, call.at, key=lambda turn: turn.at)
    message = turns[at].message_uid if at < len(turns) and turns[at].at == call.at else None
    return Evidence(trace_uid=facts.trace_uid, message_uid=message, call_uid=call.call_uid or None, says=says)


def of_message(facts: TraceFacts, message_uid: str | None, says: str) -> Evidence:
    """A message."""
    return Evidence(trace_uid=facts.trace_uid, message_uid=message_uid, says=says)


def of_span(facts: TraceFacts, span_uid: str, says: str) -> Evidence:
    """A span."""
    return Evidence(trace_uid=facts.trace_uid, span_uid=span_uid, says=says)


def last_answer(facts: TraceFacts) -> str | None:
    """The agent's last message of a failed run."""
    return next((turn.message_uid for turn in reversed(facts.turns) if turn.role == "assistant"), None)
