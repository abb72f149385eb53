"""What ``codex exec --json`` prints, and the SDKs of Codex hand on: events of a thread, one a line.

The first event alone names the thread: lines that lie together are one record (`rsi.traces.streams`), which is a
trace, or what a resumed run adds to one. An item is told when it begins, as it changes and when it is done; the last
stands. Tokens are counted from the beginning of the thread, so that the largest count is the whole of it, and orders
the runs. There are no times, and what the user asked is not told.
"""

from dataclasses import replace

from rsi.ids import digest
from rsi.traces.formats import fields
from rsi.traces.formats.run import Run, Step, Usage
from rsi.traces.formats.session import of_name
from rsi.traces.formats.told import Told, told_rows
from rsi.traces.formats.turns import Call, Turn, message_turns, said, state_of, tool_call
from rsi.traces.rows import Json, JsonObject, Place, Reason, Refusal, Rows

NAME = "codex_exec"
AGENT = "codex"
_ITEM_EVENTS = ("item.started", "item.updated", "item.completed")
_EVENTS = ("thread.started", "turn.started", "turn.completed", "turn.failed")
_FAILED = ("failed", "declined")
_FARTHEST = 2**40
_CALLS = {
    "command_execution": ("shell", ("command",)),
    "file_change": ("file_change", ("changes",)),
    "web_search": ("web_search", ("query", "action")),
    "collab_tool_call": ("collab", ("tool", "prompt", "receiver_thread_ids")),
    "todo_list": ("todo_list", ("items",)),
}
"""Kind of item: the tool, and its arguments."""


def is_event(event: JsonObject) -> bool:
    """An event of a thread, an error between them included."""
    kind = event.get("type")
    if kind in _ITEM_EVENTS:
        return isinstance(event.get("item"), dict)
    if kind == "error":
        return isinstance(event.get("message"), str) and len(event) == 2
    return kind in _EVENTS


def matches(record: JsonObject) -> bool:
    """Events of a thread under `chunks`, or one event."""
    chunks = fields.tables(record.get("chunks"))
    return is_event(chunks[0]) if chunks else record.get("type") != "error" and is_event(record)


def read(record: JsonObject, place: Place) -> tuple[Rows | Refusal, ...]:
    """One trace, or what the events add to one."""
    chunks = fields.tables(record.get("chunks"))
    events = [one for one in (chunks or [record]) if is_event(one)]
    named = (fields.named(one.get("thread_id")) for one in events if one["type"] == "thread.started")
    thread = next((one for one in named if one is not None), None) or of_name(place.uri)
    used = next((one["usage"] for one in reversed(events) if isinstance(one.get("usage"), dict)), None)
    told = _told(events, fields.table(used))
    if not told and thread is None:
        return (
            Refusal(
                Reason.MISSING_FIELD, "events of a thread that is not named, of which none says anything"
            ),
        )
    failure = next((one for event in reversed(events) if (one := _error(event))), None)
    run = Run(
        native=thread or place.uri or place.file_id,
        family=NAME,
        conversation=thread,
        session=thread,
        agent=AGENT,
        error=failure if events[-1]["type"] in ("turn.failed", "error") else None,
    )
    found = told_rows(run, told, NAME, place)
    behind = min(_count(fields.table(used), "input_tokens") or 0, _FARTHEST)
    return (
        replace(
            found,
            messages=tuple(one._replace(seq=one.seq + behind) for one in found.messages),
            tool_calls=tuple(one._replace(seq=one.seq + behind) for one in found.tool_calls),
        ),
    )


def _told(events: list[JsonObject], used: JsonObject) -> list[Told]:
    """Items in the order in which they began, each as it was told last, and the tokens of the thread."""
    items: dict[str, JsonObject] = {}
    problems: list[Told] = []
    for number, event in enumerate(events):
        item = fields.table(event.get("item"))
        if item:
            items[fields.named(item.get("id")) or f"place {number}"] = item
        elif (error := _error(event)) is not None:
            name = f"error {digest(error)[:16]}"
            problems.append(Told(Step(name, "event", "error", status="error", error=error)))
    found = [_item(key, item) for key, item in items.items()]
    if used:
        found.append(Told(_thread(used)))
    return found + list({one.step.native_id: one for one in problems if one.step}.values())


def _thread(used: JsonObject) -> Step:
    """All calls of the model so far: counts of one thread meet in one span, and the largest stand."""
    return Step(
        native_id="thread",
        kind="llm",
        name="thread",
        status="ok",
        provider="openai",
        usage=Usage(
            input=_count(used, "input_tokens"),
            output=_count(used, "output_tokens"),
            cache_read=_count(used, "cached_input_tokens"),
            cache_write=_count(used, "cache_write_input_tokens"),
            reasoning=_count(used, "reasoning_output_tokens"),
        ),
    )


def _item(key: str, item: JsonObject) -> Told:
    """What an item tells; a resumed run numbers its items from the beginning again, so that the content names it."""
    kind = fields.named(item.get("type")) or "item"
    name = f"{key} {digest(item)[:16]}"
    text = fields.text(item.get("text"))
    if kind == "reasoning" and text:
        return Told(turns=(Turn("assistant", reasoning=text, native_id=name),))
    if kind in ("agent_message", "plan") and text is not None:
        return Told(turns=(said("assistant", text)._replace(native_id=name),))
    if kind in _CALLS or kind == "mcp_tool_call":
        return _called(kind, name, item)
    error = fields.text(item.get("message")) if kind == "error" else None
    step = Step(
        name, "event", kind, status="unset" if error is None else "error", error=error, attributes=item
    )
    return Told(step)


def _called(kind: str, name: str, item: JsonObject) -> Told:
    """A call with its result; one that is still in progress has none."""
    call, result, failed = _call(kind, name, item), _result(item), _has_failed(item)
    done = fields.named(item.get("status")) not in (None, "in_progress") or result is not None
    turns = [Turn("assistant", calls=(call,), native_id=f"call {name}")]
    if done:
        turns.append(
            Turn("tool", result, state_of(result), answers=name, failed=failed, native_id=f"result {name}")
        )
    step = Step(
        native_id=name,
        kind="tool",
        name=call.name,
        status="error" if failed else "ok" if done else "unset",
        error=_error(item) if failed else None,
        attributes={key: item[key] for key in ("exit_code", "status", "server") if item.get(key) is not None},
    )
    return Told(step, tuple(turns))


def _call(kind: str, name: str, item: JsonObject) -> Call:
    if kind == "mcp_tool_call":
        return tool_call(name, fields.named(item.get("tool")) or "mcp", item.get("arguments"))
    tool, keys = _CALLS[kind]
    given: JsonObject = {key: item[key] for key in keys if item.get(key) is not None}
    return tool_call(name, tool, given)


def _result(item: JsonObject) -> str | None:
    output = item.get("aggregated_output")
    if isinstance(output, str):
        return output
    result = item.get("result")
    content: Json = fields.table(result).get("content", result)
    told = message_turns({"role": "tool", "content": content}) if content is not None else []
    return (told[0].content if told else None) or _error(item)


def _has_failed(item: JsonObject) -> bool:
    code = fields.whole(item.get("exit_code"))
    return fields.named(item.get("status")) in _FAILED or code not in (None, 0)


def _error(told: JsonObject) -> str | None:
    """The message of an error, under `error` or at the top."""
    inner = told.get("error", told if told.get("type") == "error" else None)
    return fields.text(inner) if isinstance(inner, str) else fields.text(fields.table(inner).get("message"))


def _count(counts: JsonObject, key: str) -> int | None:
    found = fields.whole(counts.get(key))
    return found if found is not None and found >= 0 else None
