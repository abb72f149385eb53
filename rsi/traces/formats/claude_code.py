"""Session logs of Claude Code: one record a line, or the whole session in one document (`loglines`).

A message of the model comes as several lines (one for each block, with growing usage), and again under another
session when that was resumed: the call is the span named by `message.id`, and a block is named by its message
and its own id. Side conversations (sub-agents) are traces of their own. Lines of the streamed output of
``claude -p`` are read as well.
"""

from collections import Counter
from dataclasses import replace
from typing import NamedTuple

import orjson

from rsi.ids import digest
from rsi.traces.formats import fields
from rsi.traces.formats.run import Run, Step, Usage
from rsi.traces.formats.session import SPACING, beside, joined, line, of_name
from rsi.traces.formats.turns import Turn, message_turns
from rsi.traces.formats.usage import usage
from rsi.traces.rows import Json, JsonObject, Place, Reason, Refusal, Rows

NAME = "claude_code"
AGENT = "claude-code"
_SYNTHETIC = "<synthetic>"
"""Model of messages that the program wrote itself, such as errors of the API."""
_RANKS = {"thinking": 0, "redacted_thinking": 0, "text": 1}
_CALL_RANK, _RESULT_RANK = 2, 3
_DOCUMENT_SPACING = 10 * SPACING
_DELTAS = ("stream_event", "partial")
"""Pieces of messages that come whole in a later line."""
_STREAMED = ("user", "assistant", "system", "result", *_DELTAS)
_METADATA = ("cwd", "gitBranch", "slug", "entrypoint", "agentId", "parent_tool_use_id", "forkedFrom")
_ENVELOPE = (
    "type", "subtype", "message", "timestamp", "sessionId", "session_id", "toolUseResult", "tool_use_result",
    "version", "userType", "isSidechain", "snapshot", *_METADATA,
)  # fmt: skip


def matches(record: JsonObject) -> bool:
    """A line with `type` and its session (or the leaf or snapshot it is about), or a document of `loglines`."""
    if isinstance(record.get("loglines"), list):
        return True
    kind = record.get("type")
    if not isinstance(kind, str) or kind != kind.lower() or "traceId" in record or "trace_id" in record:
        return False
    if "payload" in record or "role" in record or isinstance(record.get("message"), str):
        return False
    streamed = "session_id" in record and kind in _STREAMED
    return (
        "sessionId" in record
        or "leafUuid" in record
        or streamed
        or {"messageId", "snapshot"} <= record.keys()
    )


def read(record: JsonObject, place: Place) -> tuple[Rows | Refusal, ...]:
    """Rows of one line, or of each conversation of a document."""
    if isinstance(record.get("loglines"), list):
        return _document(record, place)
    where = _where(record, place)
    if where.start_ns is None:
        # Streamed output has no times: nothing but its place orders it.
        where = where._replace(seq=place.line * _DOCUMENT_SPACING)
    return (_line(record, place, where),)


class _Where(NamedTuple):
    """The conversation that a line belongs to."""

    native: str
    session: str | None
    """Null where nothing names it."""
    start_ns: int | None
    time_state: str
    key: str
    """Names the line: its uuid, else its time and content."""
    seq: int = 0


def _where(record: JsonObject, place: Place, fallback: str | None = None, seq: int = 0) -> _Where:
    session = fields.first(record, "sessionId", "session_id") or of_name(place.uri) or fallback
    aside = fields.named(record.get("parent_tool_use_id"))
    if record.get("isSidechain") is True:
        aside = fields.named(record.get("agentId")) or "sidechain"
    start_ns, state = fields.moment(record.get("timestamp"))
    key = fields.first(record, "uuid", "messageId", "leafUuid") or f"{start_ns} {digest(record)[:16]}"
    native = session or f"line {key}"
    return _Where(f"{native}/{aside}" if aside else native, session, start_ns, state, key, seq)


def _line(record: JsonObject, place: Place, where: _Where) -> Rows | Refusal:
    kind = fields.named(record.get("type")) or "line"
    message = record.get("message")
    rank = 0
    if kind in ("user", "assistant"):
        if not isinstance(message, dict):
            return Refusal(Reason.MISSING_FIELD, f"a line of type {kind} has no object `message`")
        run, rank = (_said if kind == "assistant" else _heard)(record, message, where)
    elif kind in _DELTAS:
        run = _run(record, where)
    else:
        run = _noted(record, kind, where)
    injected = record.get("isMeta") is True or record.get("isCompactSummary") is True
    found = line(run, NAME, place, where.seq + rank * SPACING, injected=injected)
    if where.session is None:
        # Nothing says whose line it is: what it tells is kept, but makes no trace.
        return Rows(found.trace_uid, found.namespace, found.native, spans=found.spans)
    return found


def _run(
    record: JsonObject, where: _Where, steps: tuple[Step, ...] = (), turns: tuple[Turn, ...] = ()
) -> Run:
    metadata: JsonObject = {key: record[key] for key in _METADATA if record.get(key) is not None}
    return Run(
        native=where.native,
        family=NAME,
        steps=steps,
        turns=turns,
        conversation=where.session,
        agent=AGENT,
        release=fields.named(record.get("version")),
        start_ns=where.start_ns,
        end_ns=where.start_ns,
        time_state=where.time_state,
        metadata=metadata,
    )


def _said(record: JsonObject, message: JsonObject, where: _Where) -> tuple[Run, int]:
    """A call of the model, or the part of it that is in this line, with the calls of tools it asks for."""
    native = fields.named(message.get("id"))
    blocks = message.get("content")
    turns = _blocks(blocks, native) if native else _named(message_turns(message, "assistant"), where.key)
    model = fields.named(message.get("model"))
    broken = record.get("isApiErrorMessage") is True
    own = broken or model == _SYNTHETIC
    text = next((one.content for one in turns if one.content), None)
    call = Step(
        native_id=native or fields.named(record.get("requestId")) or where.key,
        kind="event" if own else "llm",
        name="message" if own else "chat",
        start_ns=where.start_ns,
        end_ns=where.start_ns,
        time_state=where.time_state,
        status="error" if broken else "unset" if own else "ok",
        error=text if broken else None,
        model=None if own else model,
        response_id=None if own else native,
        finish_reason=fields.named(message.get("stop_reason")),
        usage=_usage(record, message) if not own else Usage(),
        answered=turns,
        attributes=beside(record, *_ENVELOPE),
    )
    kinds = [fields.named(one.get("type")) or "" for one in fields.tables(blocks)]
    rank = min((_RANKS.get(one, _CALL_RANK) for one in kinds), default=_RANKS["text"])
    return _run(record, where, (call, *_asked_tools(turns, call.native_id, where))), rank


def _usage(record: JsonObject, message: JsonObject) -> Usage:
    told = usage(message.get("usage"))
    cost = fields.number(record.get("costUSD"))
    return told if cost is None else told._replace(cost_usd=cost)


def _blocks(content: Json, native: str) -> tuple[Turn, ...]:
    """A turn for each block, named so that snapshots of it share the name; texts, by their first letter."""
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    seen: Counter[str] = Counter()
    found = []
    for block in fields.tables(content):
        for turn in message_turns({"role": "assistant", "content": [block]}):
            if not (turn.content or turn.calls or turn.reasoning):
                continue
            kind = fields.named(block.get("type")) or "text"
            name = fields.first(block, "id", "tool_use_id") or (turn.content or turn.reasoning or "")[:1]
            label = f"{native} {kind} {name}"
            found.append(turn._replace(native_id=f"{label} {seen[label]}"))
            seen[label] += 1
    return tuple(found)


def _named(turns: list[Turn], key: str) -> tuple[Turn, ...]:
    """Turns named by their line, results of tools by their call."""
    return tuple(
        one._replace(
            native_id=f"result {one.answers}" if one.role == "tool" and one.answers else f"{key} {place}"
        )
        for place, one in enumerate(turns)
    )


def _asked_tools(turns: tuple[Turn, ...], parent: str, where: _Where) -> tuple[Step, ...]:
    return tuple(
        Step(
            native_id=call.native_id,
            kind="tool",
            name=call.name,
            parent_id=parent,
            start_ns=where.start_ns,
            time_state=where.time_state,
        )
        for one in turns
        for call in one.calls
        if call.native_id is not None
    )


def _heard(record: JsonObject, message: JsonObject, where: _Where) -> tuple[Run, int]:
    """What a user said, or what tools answered."""
    turns = _named(message_turns(message, "user"), where.key)
    results = [one for one in turns if one.role == "tool" and one.answers is not None]
    told = record.get("toolUseResult", record.get("tool_use_result"))
    attributes = beside(record, *_ENVELOPE)
    if isinstance(told, dict) and len(results) == 1:
        attributes["toolUseResult"] = beside(told, "content", "stdout", "stderr", "file", "originalFile")
    steps = tuple(
        Step(
            native_id=one.answers or "",
            kind="tool",
            end_ns=where.start_ns,
            time_state=where.time_state,
            status="error" if one.failed else "ok",
            error=(one.content or "").strip().partition("\n")[0][:200] or None if one.failed else None,
            attributes=attributes,
        )
        for one in results
    )
    return _run(record, where, steps, turns), _RESULT_RANK if results else 0


def _noted(record: JsonObject, kind: str, where: _Where) -> Run:
    """A line that is no part of the conversation: a summary, a snapshot of files, an event of the program."""
    subtype = fields.named(record.get("subtype"))
    failed = record.get("is_error") is True or subtype == "api_error" or record.get("level") == "error"
    error = (
        (fields.text(record.get("error")) or fields.text(record.get("content")) or subtype)
        if failed
        else None
    )
    final = kind == "result"
    step = Step(
        native_id=where.key,
        kind="event",
        name=f"{kind} {subtype}" if subtype else kind,
        start_ns=where.start_ns,
        end_ns=where.start_ns,
        time_state=where.time_state,
        status="error" if failed else "unset",
        error=error,
        usage=Usage(cost_usd=fields.number(record.get("total_cost_usd"))) if final else Usage(),
        attributes=beside(record, "result", *_ENVELOPE),
    )
    run = _run(record, where, (step,))
    if final:
        run = run._replace(output_text=fields.text(record.get("result")), error=error)
    return run


def _document(record: JsonObject, place: Place) -> tuple[Rows | Refusal, ...]:
    """The lines of a session in one record, joined by conversation."""
    lines = fields.listing(record["loglines"])
    if not lines:
        return (Refusal(Reason.MISSING_FIELD, "loglines is empty"),)
    # The first line stays the first when the session goes on.
    session = fields.first(record, "session_id", "sessionId", "id", "uuid") or digest(lines[0])[:32]
    found: dict[str, list[Rows]] = {}
    texts: dict[str, list[Json]] = {}
    refusals = []
    for number, one in enumerate(lines):
        if not isinstance(one, dict):
            refusals.append(Refusal(Reason.BAD_VALUE, f"loglines[{number}] is no object", orjson.dumps(one)))
            continue
        where = _where(one, place, session, number * _DOCUMENT_SPACING)
        rows = _line(one, place, where)
        if isinstance(rows, Refusal):
            refusals.append(Refusal(rows.reason, f"loglines[{number}]: {rows.detail}", orjson.dumps(one)))
        else:
            found.setdefault(rows.trace_uid, []).append(rows)
            texts.setdefault(rows.trace_uid, []).append(one)
    whole = [joined(parts) for parts in found.values()]
    if len(whole) > 1:
        whole = [replace(one, own=orjson.dumps({"loglines": texts[one.trace_uid]})) for one in whole]
    return (*whole, *refusals)
