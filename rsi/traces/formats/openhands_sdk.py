"""Events of OpenHands since its SDK: each says its `kind`, and keeps the message or call of the model as it was.

They lie one a file (``conversations/ID/events/event-00001-….json``), in lists, in pages of the server's API, and in
the histories of evaluations.
"""

from rsi.traces.formats import fields
from rsi.traces.formats.run import Step, Usage
from rsi.traces.formats.turns import Turn, message_turns, tool_call
from rsi.traces.rows import Json, JsonObject

RUN = "run"
"""The span of the run as a whole, which the state of a conversation tells the tokens of."""
_RESULTS = ("ObservationEvent", "UserRejectObservation", "AgentErrorEvent")
_KINDS = (
    "MessageEvent", "ActionEvent", "SystemPromptEvent", "ConversationStateUpdateEvent", "ConversationErrorEvent",
    "PauseEvent", "InterruptEvent", "Condensation", "CondensationRequest", "CondensationSummaryEvent", "TokenEvent",
    "LLMCompletionLogEvent", *_RESULTS,
)  # fmt: skip
_SOURCES = ("agent", "user", "environment", "hook")


def is_event(event: JsonObject) -> bool:
    """Whether it is of a known kind, or of a newer one that says where it came from."""
    kind = event.get("kind")
    if not isinstance(kind, str) or "traceId" in event:
        return False
    return kind in _KINDS or (kind.endswith("Event") and event.get("source") in _SOURCES)


def conversation(uri: str) -> str | None:
    """The conversation that a file of one event lies in, by the names of its folders."""
    parts = uri.replace("\\", "/").split("/")
    return parts[-3] if len(parts) > 2 and parts[-2] == "events" and parts[-3] else None


def turns(event: JsonObject, name: str) -> tuple[Turn, ...]:
    """What it says, under the event's name; events of the program say nothing."""
    kind = event["kind"]
    found: list[Turn] = []
    if kind == "MessageEvent":
        found = _message(event)
    elif kind == "SystemPromptEvent":
        prompt = event.get("system_prompt")
        content: Json = [prompt] if isinstance(prompt, dict) else prompt
        found = message_turns({"role": "system", "content": content}) if content else []
    elif kind == "ActionEvent":
        found = _action(event)
    elif kind in _RESULTS:
        found = _result(event)
    return tuple(
        one._replace(native_id=f"{name} {place}" if place else name) for place, one in enumerate(found)
    )


def step(event: JsonObject, name: str) -> Step:
    """The call of the model behind an action or a message, the tool behind a result, or just an event."""
    kind = str(event["kind"])
    start, state = fields.moment(event.get("timestamp"))
    timed = Step(native_id=name, kind="event", name=kind, start_ns=start, time_state=state)
    if kind in ("ActionEvent", "MessageEvent") and event.get("source", "agent") == "agent":
        response = fields.named(event.get("llm_response_id"))
        # Several actions of one answer share its call.
        native = f"response {response}" if response else name
        return timed._replace(native_id=native, kind="llm", name="chat", response_id=response)
    if kind in _RESULTS:
        failed = _has_failed(event)
        action = fields.named(event.get("action_id"))
        return timed._replace(
            kind="tool",
            name=fields.named(event.get("tool_name")) or "tool",
            parent_id=f"event {action}" if action else None,
            end_ns=start,
            start_ns=None,
            status="error" if failed else "ok",
            error=_error(event) if failed else None,
        )
    if kind == "ConversationErrorEvent":
        return timed._replace(status="error", error=_error(event))
    if kind == "ConversationStateUpdateEvent" and (used := _used(event)) is not None:
        return timed._replace(native_id=RUN, kind="agent", name="openhands", usage=used)
    return timed


def _message(event: JsonObject) -> list[Turn]:
    """The message as the model saw or said it; what the program added to it stays with it."""
    message = fields.table(event.get("llm_message"))
    role = "assistant" if event.get("source") == "agent" else "user"
    content = message.get("content")
    added = fields.listing(event.get("extended_content"))
    whole: Json = [*content, *added] if isinstance(content, list) else content
    found = message_turns({"role": role, **message, "content": whole})
    sender = fields.named(event.get("sender"))
    return [one._replace(author=sender) for one in found] if sender else found


def _action(event: JsonObject) -> list[Turn]:
    told = fields.table(event.get("tool_call"))
    action = fields.table(event.get("action"))
    inner = fields.table(told.get("function")) or told
    arguments = inner.get("arguments")
    if arguments is None:
        given = fields.table(action.get("data")) or action
        arguments = {key: value for key, value in given.items() if key != "kind"}
    call = tool_call(
        fields.first(event, "tool_call_id") or fields.first(told, "id", "call_id"),
        fields.first(event, "tool_name") or fields.first(inner, "name") or "tool",
        arguments,
    )
    content = event.get("thought") or None
    thinking = fields.tables(event.get("thinking_blocks"))
    reasoning = fields.text(event.get("reasoning_content")) or "\n".join(
        text for one in thinking if (text := fields.text(one.get("thinking")))
    )
    said = message_turns({"role": "assistant", "content": content, "reasoning_content": reasoning or None})
    first = said[0] if said else Turn("assistant", state="absent")
    return [first._replace(calls=(*first.calls, call), content=first.content or None)]


def _result(event: JsonObject) -> list[Turn]:
    observation = fields.table(event.get("observation"))
    content = observation.get("content", observation.get("output"))
    if content is None:
        content = _error(event)
    told = message_turns(
        {"role": "tool", "content": content, "tool_call_id": fields.first(event, "tool_call_id")}
    )
    return [
        one._replace(tool=fields.named(event.get("tool_name")), failed=_has_failed(event)) for one in told[:1]
    ]


def _has_failed(event: JsonObject) -> bool:
    observation = fields.table(event.get("observation"))
    code = fields.whole(observation.get("exit_code"))
    return (
        event["kind"] != "ObservationEvent"
        or observation.get("is_error") is True
        or code not in (None, 0, -1)
    )


def _error(event: JsonObject) -> str | None:
    return fields.first(event, "error", "rejection_reason", "detail", "message", "code")


def _used(event: JsonObject) -> Usage | None:
    """Tokens and cost of all models so far, where a state tells them: the largest is the last."""
    value = fields.table(event.get("value"))
    stats = value if event.get("key") == "stats" else fields.table(value.get("stats"))
    metrics = [one for one in fields.table(stats.get("usage_to_metrics")).values() if isinstance(one, dict)]
    if not metrics:
        return None
    tokens = [fields.table(one.get("accumulated_token_usage")) for one in metrics]

    def total(key: str) -> int | None:
        found = [count for one in tokens if (count := fields.whole(one.get(key))) is not None]
        return min(sum(found), 2**62) if found else None

    costs = sorted(
        cost for one in metrics if (cost := fields.number(one.get("accumulated_cost"))) is not None
    )
    return Usage(
        total("prompt_tokens"),
        total("completion_tokens"),
        total("cache_read_tokens"),
        total("cache_write_tokens"),
        total("reasoning_tokens"),
        sum(costs) if costs else None,
    )
