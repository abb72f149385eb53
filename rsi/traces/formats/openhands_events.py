"""Events of OpenHands, as turns and steps: what somebody did (`action`) and what came of it (`observation`).

Newer events have ids, times, the id of their cause, and the model's answer that asked for the action; the oldest
have none of these, and an observation follows its action. Those of its SDK are read by `openhands_sdk`.
"""

from rsi.traces.formats import fields, openhands_sdk
from rsi.traces.formats.run import Step, ToolUse, Usage
from rsi.traces.formats.turns import Turn, message_turns, tool_call
from rsi.traces.rows import JsonObject

_QUIET = {"null", "agent_state_changed", "change_agent_state", "recall", "condensation"}
"""Events of the program itself."""
_ACTION = {"action", "thought", "keep_prompt", "is_confirmed", "confirmation_state", "action_risk", "kernel_init_code",
           "hidden", "blocking", "security_risk", "wait_for_response", "images_urls", "image_urls", "id", "timestamp",
           "source", "message", "cause", "timeout", "tool_call_metadata", "llm_metrics"}  # fmt: skip


def is_event(value: JsonObject) -> bool:
    """Whether it says what was done or seen."""
    old = isinstance(value.get("action"), str) or isinstance(value.get("observation"), str)
    return old or openhands_sdk.is_event(value)


def key(event: JsonObject, at: int) -> str:
    """What names an event in its run: its id, else its place."""
    named = fields.named(event.get("id"))
    return f"event {named}" if named is not None else f"place {at}"


def turns(event: JsonObject, name: str) -> tuple[Turn, ...]:
    """What it says; events of the program say nothing."""
    if openhands_sdk.is_event(event):
        return openhands_sdk.turns(event, name)
    kind = fields.named(event.get("action"))
    if kind is not None:
        found = () if kind in _QUIET else _acted(event, kind)
    else:
        found = _observed(event)
    return tuple(one._replace(native_id=one.native_id or name) for one in found)


def step(event: JsonObject, name: str) -> Step:
    """The call of the model behind an action, the tool behind an observation, or just an event."""
    if openhands_sdk.is_event(event):
        return openhands_sdk.step(event, name)
    kind = fields.named(event.get("action"))
    start, state = fields.moment(event.get("timestamp"))
    cause = fields.named(event.get("cause"))
    timed = Step(
        native_id=name,
        kind="event",
        name=kind or fields.named(event.get("observation")) or "event",
        parent_id=f"event {cause}" if cause is not None else None,
        start_ns=start,
        time_state=state,
    )
    if kind is None:
        return _tool(timed, event)
    by_agent = event.get("source") == "agent" or ("source" not in event and kind != "message")
    return _call(timed, event) if by_agent and kind not in _QUIET else timed


def _call(timed: Step, event: JsonObject) -> Step:
    response = _response(event)
    usage = fields.table(response.get("usage"))
    details = fields.table(usage.get("prompt_tokens_details"))
    choice = next(iter(fields.tables(response.get("choices"))), {})
    return timed._replace(
        kind="llm",
        model=fields.named(response.get("model")),
        response_id=fields.named(response.get("id")),
        finish_reason=fields.named(choice.get("finish_reason")),
        usage=Usage(
            fields.whole(usage.get("prompt_tokens")),
            fields.whole(usage.get("completion_tokens")),
            fields.whole(details.get("cached_tokens")),
            fields.whole(usage.get("cache_creation_input_tokens")),
        ),
    )


def _tool(timed: Step, event: JsonObject) -> Step:
    """What a tool did, where its call has an id; else the conversation alone tells of it."""
    if event.get("observation") in _QUIET:
        return timed
    call_id, name = _called(event)
    failed = _failed(event)
    extras = fields.table(event.get("extras"))
    use = None
    if call_id is not None:
        use = ToolUse(tool_call(call_id, name, None), fields.text(event.get("content")), failed)
    return timed._replace(
        kind="tool",
        name=name,
        end_ns=timed.start_ns,
        start_ns=None,
        status="error" if failed else "ok",
        tool=use,
        attributes={
            one: extras[one] for one in ("exit_code", "metadata", "path", "error_id") if extras.get(one)
        },
    )


def _acted(event: JsonObject, kind: str) -> list[Turn]:
    """The model's own answer where it is kept; else the action as a call, a message, or the system's word."""
    given = fields.table(event.get("args")) or {
        one: value for one, value in event.items() if one not in _ACTION
    }
    if kind in ("message", "system"):
        role = "system" if kind == "system" else "assistant" if event.get("source") == "agent" else "user"
        return message_turns({"role": role, "content": given.get("content")})
    response = _response(event)
    choice = next(iter(fields.tables(response.get("choices"))), {})
    if told := fields.table(choice.get("message")):
        # Several actions of one answer all bring it.
        said = message_turns({**told, "role": "assistant"})
        return [one._replace(native_id=fields.named(response.get("id"))) for one in said]
    call_id, name = _called(event)
    arguments = {one: value for one, value in given.items() if one not in _ACTION}
    thought = fields.text(fields.table(event.get("args")).get("thought")) or fields.text(event.get("thought"))
    by_user = event.get("source") == "user"
    calls = (tool_call(call_id, name, arguments),)
    return [Turn("user" if by_user else "assistant", thought, "full" if thought else "absent", calls)]


def _observed(event: JsonObject) -> list[Turn]:
    kind = fields.named(event.get("observation"))
    if kind in _QUIET:
        return []
    call_id, name = _called(event)
    told = message_turns({"role": "tool", "content": event.get("content"), "tool_call_id": call_id})[0]
    return [told._replace(tool=None if call_id else name, failed=_failed(event))]


def _called(event: JsonObject) -> tuple[str | None, str]:
    """Id and name of the call; without the model's, the id of the action gives one."""
    told = fields.table(event.get("tool_call_metadata"))
    name = fields.named(told.get("function_name")) or fields.named(event.get("action"))
    name = name or fields.named(event.get("observation")) or "tool"
    if native := fields.named(told.get("tool_call_id")):
        return native, name
    of = event.get("cause") if "observation" in event else event.get("id")
    named = fields.named(of)
    return (f"event {named}" if named is not None else None), name


def _failed(event: JsonObject) -> bool:
    return event.get("success") is False or event.get("observation") == "error"


def _response(event: JsonObject) -> JsonObject:
    return fields.table(fields.table(event.get("tool_call_metadata")).get("model_response"))
