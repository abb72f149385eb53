"""Rollout logs of Codex: one record a line, ``{"timestamp", "type", "payload"}``, or the bare items of older files.

A line does not name its session; its file does, by the UUID at its end. The same turn is told twice, as items of
the model's API (`response_item`) and as events of the program (`event_msg`): a message is named by its role, its
text and its minute, so that both are one, and either alone is enough. Each distinct state of the cumulative token
counts is one call of the model. A forked session begins with a copy of its parent's log, at the time of the fork:
what was said there is part of both conversations, and its calls are known by their counts as calls of the parent.
"""

import re
from dataclasses import replace
from typing import NamedTuple

from rsi.ids import digest
from rsi.traces.formats import codex_items as items
from rsi.traces.formats import fields
from rsi.traces.formats.codex_items import Said
from rsi.traces.formats.run import Run, Step, Usage
from rsi.traces.formats.session import SPACING, beside, failed_call, line, of_name
from rsi.traces.formats.turns import said
from rsi.traces.rows import JsonObject, Place, Reason, Refusal, Rows

NAME = "codex"
_LINES = {
    "session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state",
    "inter_agent_communication", "inter_agent_communication_metadata",
}  # fmt: skip
_HEAD = {"id", "timestamp", "instructions", "git"}
_INJECTED = re.compile(r"\s*(?:<[a-z][a-z_]*[ >]|# AGENTS\.md instructions)")
"""How context begins that the program puts under the user's role."""
_INSTRUCTIONS = ("instructions", "base_instructions", "user_instructions", "developer_instructions")
_CONTENT = (
    "type", "last_agent_message", "replacement_history", "item", "stdout", "stderr", "aggregated_output",
    "formatted_output", "output", "content", "encrypted_content", "result", *_INSTRUCTIONS,
)  # fmt: skip
_MINUTE = 60 * 10**9


def matches(record: JsonObject) -> bool:
    """`type` and `payload` of a rollout line; else a bare item, or the head or state of an older file."""
    kind = record.get("type")
    if isinstance(record.get("payload"), dict):
        return isinstance(kind, str) and kind in _LINES
    if kind is None:
        head = {"id", "timestamp", "instructions"} <= record.keys() <= _HEAD
        return head or record.get("record_type") == "state"
    bare = (
        isinstance(kind, str) and kind in items.BARE and not {"model", "usage", "stop_reason"} & record.keys()
    )
    return bare and any(key in record for key in ("role", "call_id", "summary", "action"))


def read(record: JsonObject, place: Place) -> tuple[Rows | Refusal, ...]:
    """Rows of one line."""
    payload = record.get("payload")
    kind = fields.named(record.get("type")) or "session_meta"
    if not isinstance(payload, dict):
        if record.get("record_type") == "state":
            kind = "state"
        elif "type" in record:
            kind = "response_item"
        payload = record
    where = _where(record, place)
    if kind == "response_item":
        return (_item(payload, where, place),)
    if kind == "event_msg":
        return (_event(payload, where, place),)
    if kind in ("session_meta", "turn_context"):
        return (_context(kind, payload, where, place),)
    return (line(_run(where, (_noted(kind, payload, where),)), NAME, place, where.seq),)


class _Where(NamedTuple):
    """Session and moment of a line."""

    native: str
    named: bool
    """Whether the file's name tells the session."""
    start_ns: int | None
    time_state: str
    seq: int
    """Places of lines of the same moment."""
    key: str
    """Names the line where it has no id of its own."""


def _where(record: JsonObject, place: Place) -> _Where:
    session = of_name(place.uri)
    start_ns, state = fields.moment(record.get("timestamp"))
    ordinal = fields.whole(record.get("ordinal"))
    if ordinal is None or not 0 <= ordinal < 2**31:
        # Without a time nothing but its place orders a line.
        ordinal = place.line if start_ns is None else 0
    key = f"{start_ns} {digest(record)[:16]}"
    return _Where(session or place.file_id, session is not None, start_ns, state, ordinal * 10 * SPACING, key)


def _run(where: _Where, steps: tuple[Step, ...] = (), messages: tuple[Said, ...] = ()) -> Run:
    minute = "" if where.start_ns is None else str(where.start_ns // _MINUTE)
    return Run(
        native=where.native,
        family=NAME,
        steps=steps,
        turns=tuple(
            turn._replace(native_id=name if name else f"{kind} {minute} {digest(text)[:16]}")
            for kind, text, name, turn in messages
        ),
        agent=NAME,
        conversation=where.native if where.named else None,
        start_ns=where.start_ns,
        end_ns=where.start_ns,
        time_state=where.time_state,
        session=where.native,
    )


def _context(kind: str, payload: JsonObject, where: _Where, place: Place) -> Rows:
    """What holds for the session or from here on: instructions, folder, model."""
    git = fields.table(payload.get("git"))
    named = fields.first(payload, "id", "session_id")
    if kind == "session_meta" and where.named and named is not None and named.lower() != where.native:
        # The head of the session that this one was forked from.
        return line(_run(where, (_noted(kind, payload, where, f"{kind} {named}"),)), NAME, place, where.seq)
    metadata: JsonObject = {key: payload[key] for key in ("cwd", "originator", "source", "forked_from_id")
                            if payload.get(key) is not None}  # fmt: skip
    if git:
        metadata["git"] = git
    told = [payload.get("instructions"), payload.get("base_instructions")] if kind == "session_meta" else []
    texts = [one if isinstance(one, str) else fields.text(fields.table(one).get("text")) for one in told]
    run = _run(
        where,
        (_noted(kind, payload, where, f"{kind} {named}" if named else None),),
        tuple(Said("system", text, None, said("system", text)) for text in texts if text),
    )._replace(
        model=fields.named(payload.get("model")),
        release=fields.named(payload.get("cli_version")),
        metadata=metadata,
    )
    if not where.named:
        run = run._replace(conversation=named)
    return line(run, NAME, place, where.seq)


def _item(payload: JsonObject, where: _Where, place: Place) -> Rows | Refusal:
    """An item of the model's API."""
    found = items.item(payload)
    if found is None:
        return Refusal(Reason.MISSING_FIELD, "an item that has neither a type nor a role")
    kind = fields.named(payload.get("type")) or "message"
    # An item that nobody said is an event.
    steps = () if found else (_noted(kind, payload, where, fields.first(payload, "id", "call_id")),)
    injected = any(one.turn.role == "user" and _INJECTED.match(one.text) for one in found)
    seq = where.seq + items.RANKS.get(found[0].kind if found else "", 0) * SPACING
    return line(_run(where, steps, found), NAME, place, seq, injected=injected)


def _event(payload: JsonObject, where: _Where, place: Place) -> Rows:
    """An event of the program: a count of tokens, a message told again, or something else that happened."""
    kind = fields.named(payload.get("type")) or "event"
    if kind == "token_count":
        return line(_run(where, (_call(payload, where),)), NAME, place, where.seq)
    found = items.told(kind, payload)
    steps = () if found else (_noted(kind, payload, where),)
    injected = any(one.turn.role == "user" and _INJECTED.match(one.text) for one in found)
    run = _run(where, steps, found)
    if kind in ("task_complete", "turn_complete"):
        run = run._replace(output_text=fields.text(payload.get("last_agent_message")) or None)
    seq = where.seq + items.RANKS.get(found[0].kind if found else "", 0) * SPACING
    rows = line(run, NAME, place, seq, injected=injected)
    failed = items.failed_call(kind, payload)
    if failed is None:
        return rows
    call = failed_call(rows.trace_uid, failed, where.start_ns or 0, seq)
    return replace(rows, tool_calls=(*rows.tool_calls, call))


def _call(payload: JsonObject, where: _Where) -> Step:
    """A call of the model, from its token counts; counts that were told before are the same call."""
    info = fields.table(payload.get("info"))
    last, total = fields.table(info.get("last_token_usage")), fields.table(info.get("total_token_usage"))
    if not last:
        return _noted("token_count", payload, where)
    return Step(
        native_id=f"tokens {digest(total)[:16]}" if total else f"tokens {where.key}",
        kind="llm",
        name="chat",
        start_ns=where.start_ns,
        end_ns=where.start_ns,
        time_state=where.time_state,
        status="ok",
        # Copies in forked sessions keep the counts and nothing else.
        response_id=f"tokens {digest([total, last])[:32]}" if total else None,
        usage=Usage(
            input=_count(last, "input_tokens"),
            output=_count(last, "output_tokens"),
            cache_read=_count(last, "cached_input_tokens"),
            reasoning=_count(last, "reasoning_output_tokens"),
        ),
        attributes={"total_token_usage": total} if total else None,
    )


def _count(counts: JsonObject, key: str) -> int | None:
    found = fields.whole(counts.get(key))
    return found if found is not None and found >= 0 else None


def _noted(kind: str, payload: JsonObject, where: _Where, native: str | None = None) -> Step:
    failed = kind in ("error", "stream_error", "turn_aborted")
    reason = fields.first(payload, "message", "reason") if failed else None
    return Step(
        native_id=native or f"{kind} {where.key}",
        kind="event",
        name=kind,
        start_ns=where.start_ns,
        end_ns=where.start_ns,
        time_state=where.time_state,
        status="error" if failed else "unset",
        error=reason,
        attributes=beside(payload, *_CONTENT),
    )
