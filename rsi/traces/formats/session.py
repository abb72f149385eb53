"""Rows of one line of a session log: a small part of a long run, which has to stand alone.

What a line cannot know is left to the views: a call and its result come in two lines and share the id of the
call; lines of one moment are ordered by what they are, since their order in the file is not theirs to keep.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

import orjson

from rsi.ids import uid
from rsi.traces.formats.calls import UNNAMED, status
from rsi.traces.formats.run import Run, rows
from rsi.traces.formats.turns import Turn
from rsi.traces.rows import Json, JsonObject, Place, Rows, ToolCall, Trace

SPACING = 1000
"""Turns of one line have places of their own between those of the lines before and behind."""
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_LONGEST = 4000


def line(run: Run, name: str, place: Place, seq: int = 0, *, injected: bool = False) -> Rows:
    """Rows of one line; `seq` orders lines of the same moment. Calls are named by their id alone.

    `injected` says that what stands under the user's role was put there by the program: no request of a user.
    """
    found = rows(run, name, place)
    trace = found.trace
    if trace is not None and injected:
        trace = trace._replace(input_text=None)
    calls = [_by_id(one)._replace(seq=one.seq + seq) for one in found.tool_calls]
    said = [turn for step in run.steps for turn in step.turns] + list(run.turns)
    at_ns = run.start_ns or 0
    calls += [_result(found.trace_uid, one, at_ns, seq) for one in said if one.role == "tool" and one.answers]
    return replace(
        found,
        trace=trace,
        messages=tuple(one._replace(seq=one.seq + seq) for one in found.messages),
        tool_calls=tuple(calls),
    )


def failed_call(trace_uid: str, native_id: str, at_ns: int, seq: int = 0) -> ToolCall:
    """What a line tells of a call of which it says only that it failed."""
    return ToolCall(
        call_uid=uid(trace_uid, "call", native_id),
        trace_uid=trace_uid,
        at_ns=at_ns,
        seq=seq,
        native_id=native_id,
        name=UNNAMED,
        arguments_state="missing",
        status="error",
    )


def joined(parts: Sequence[Rows]) -> Rows:
    """The rows of one trace from several lines of it, in their order."""
    traces = [one.trace for one in parts if one.trace is not None]
    return replace(
        parts[0],
        trace=_one(traces) if traces else None,
        spans=tuple(row for one in parts for row in one.spans),
        messages=tuple(row for one in parts for row in one.messages),
        tool_calls=tuple(row for one in parts for row in one.tool_calls),
    )


def of_name(uri: str) -> str | None:
    """The session that a file is named after: the last UUID in its name."""
    found = _UUID.findall(uri.replace("\\", "/").rpartition("/")[2])
    return found[-1].lower() if found else None


def beside(record: JsonObject, *without: str) -> JsonObject:
    """What else a record says; what is long stays in the raw text."""
    return {key: value for key, value in record.items() if key not in without and not _is_long(value)}


def _by_id(call: ToolCall) -> ToolCall:
    if call.native_id is None:
        return call
    return call._replace(call_uid=uid(call.trace_uid, "call", call.native_id))


def _result(trace_uid: str, turn: Turn, at_ns: int, seq: int) -> ToolCall:
    row = failed_call(trace_uid, turn.answers or "", at_ns, seq)
    return row._replace(
        name=turn.tool or UNNAMED, result=turn.content, status=status(turn.content, turn.failed)
    )


def _one(traces: Sequence[Trace]) -> Trace:
    """The first that is known of each column, the last of what was answered."""
    known = {
        name: [found for one in traces if (found := getattr(one, name)) is not None] for name in Trace._fields
    }
    timed = next((one for one in traces if one.start_ns is not None), traces[0])
    return Trace._make(known[name][0] if known[name] else None for name in Trace._fields)._replace(
        start_ns=min(known["start_ns"], default=None),
        end_ns=max(known["end_ns"], default=None),
        output_text=known["output_text"][-1] if known["output_text"] else None,
        time_state=timed.time_state,
    )


def _is_long(value: Json) -> bool:
    if value is None or isinstance(value, bool | int | float):
        return value is None
    if isinstance(value, str):
        return len(value) > _LONGEST
    return len(orjson.dumps(value)) > _LONGEST
