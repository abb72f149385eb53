"""What was said and done in a tau2-bench simulation: messages in turn, or the ticks of a spoken conversation.

Agent and simulated user both speak and both call tools. In full duplex each tick has a chunk of what either says:
chunks of one utterance become one turn, which stands where it began.
"""

from collections.abc import Iterator
from typing import NamedTuple

from rsi.traces.formats import fields
from rsi.traces.formats.run import Step, Usage
from rsi.traces.formats.turns import Turn, message_turns, said
from rsi.traces.rows import JsonObject

_SIDES = (("assistant", "agent"), ("user", "user"))
_SPOKEN = "[audio]"


class Models(NamedTuple):
    """Who speaks for either side."""

    agent: str | None
    user: str | None


class Told(NamedTuple):
    """The conversation, and the calls of models that it names."""

    turns: tuple[Turn, ...]
    steps: tuple[Step, ...]


def told(simulation: JsonObject, models: Models) -> Told:
    """Messages where there are any, else what the ticks hold."""
    messages = list(_flat(simulation))
    if not messages:
        return Told(tuple(_ticked(fields.tables(simulation.get("ticks")))), ())
    turns = tuple(turn for one in messages for turn in message_turns(_plain(one)))
    metered = any(_metered(one) for one in messages)
    steps = (_step(seq, one, models) for seq, one in enumerate(messages) if _metered(one) or not metered)
    return Told(turns, tuple(one for one in steps if one is not None))


def _flat(simulation: JsonObject) -> Iterator[JsonObject]:
    """Messages; results of several calls at once are grouped in one."""
    for one in fields.tables(simulation.get("messages")):
        grouped = one.get("tool_messages")
        yield from fields.tables(grouped) if isinstance(grouped, list) else (one,)


def _plain(message: JsonObject) -> JsonObject:
    """A message as the others write it: the id of a tool's message is that of the call."""
    if message.get("role") == "tool":
        return {"tool_call_id": message.get("id"), **message}
    raw = fields.table(fields.table(message.get("raw_data")).get("message"))
    thought = fields.text(raw.get("reasoning_content"))
    return {"reasoning_content": thought, **message, "content": _words(message)}


def _words(message: JsonObject) -> str | None:
    """The text; of recorded speech its script, never the sound."""
    content = fields.text(message.get("content"))
    if message.get("is_audio") is not True:
        return content
    script = fields.text(message.get("audio_script_gold"))
    is_sound = content is not None and len(content) > 200 and " " not in content[:200]
    return script or (_SPOKEN if is_sound else content)


def _metered(message: JsonObject) -> bool:
    """Whether a model wrote it: greetings are scripts and have no usage."""
    return bool(message.get("usage") or message.get("raw_data") or fields.number(message.get("cost")))


def _step(seq: int, message: JsonObject, models: Models) -> Step | None:
    """The call that wrote a message; what the simulated user costs is no call of the agent."""
    role = message.get("role")
    if role not in ("assistant", "user"):
        return None
    usage, raw = fields.table(message.get("usage")), fields.table(message.get("raw_data"))
    end, state = fields.moment(message.get("timestamp"))
    seconds = fields.number(message.get("generation_time_seconds"))
    is_agent = role == "assistant"
    rest: JsonObject = {
        key: message[key]
        for key in ("generation_time_seconds", "context_truncation", "turn_idx")
        if message.get(key) is not None
    }
    return Step(
        native_id=f"message {seq}",
        kind="llm" if is_agent else "other",
        name="chat" if is_agent else "user_simulator",
        start_ns=end - round(seconds * 1e9) if end is not None and seconds else None,
        end_ns=end,
        time_state=state,
        model=fields.named(raw.get("model")) or (models.agent if is_agent else models.user),
        response_id=fields.named(raw.get("id")),
        finish_reason=fields.named(raw.get("finish_reason")),
        usage=Usage(
            fields.whole(usage.get("prompt_tokens")),
            fields.whole(usage.get("completion_tokens")),
            cost_usd=fields.number(message.get("cost")),
        ),
        attributes=rest,
    )


class _Utterance:
    """One side's words over several ticks."""

    def __init__(self, role: str, at: int) -> None:
        self.role, self.at = role, at
        self.parts: list[str] = []
        self.ids: set[str] = set()

    def goes_on(self, ids: set[str]) -> bool:
        """Whether a chunk with these ids belongs to it; chunks need not name their utterance."""
        return not ids or not self.ids or bool(ids & self.ids)


def _ticked(ticks: list[JsonObject]) -> Iterator[Turn]:
    """Turns by the tick in which they began; within a tick the agent comes first."""
    found: list[tuple[int, list[Turn] | _Utterance]] = []
    open_: dict[str, _Utterance] = {}
    for at, tick in enumerate(ticks):
        for role, side in _SIDES:
            chunk = fields.table(tick.get(f"{side}_chunk"))
            _heard(role, at, chunk, open_, found)
            calls = fields.listing(tick.get(f"{side}_tool_calls")) or fields.listing(chunk.get("tool_calls"))
            if calls:
                open_.pop(role, None)
                found.append((at, message_turns({"role": role, "tool_calls": calls})))
            for result in fields.tables(tick.get(f"{side}_tool_results")):
                found.append((at, message_turns(_plain({**result, "role": "tool"}))))
    for _, one in found:
        yield from [said(one.role, "".join(one.parts))] if isinstance(one, _Utterance) else one


def _heard(
    role: str,
    at: int,
    chunk: JsonObject,
    open_: dict[str, _Utterance],
    found: list[tuple[int, list[Turn] | _Utterance]],
) -> None:
    words = _words(chunk)
    ids = {one for one in fields.listing(chunk.get("utterance_ids")) if isinstance(one, str)}
    current = open_.get(role)
    if not words:
        if chunk.get("contains_speech") is False and not ids:
            open_.pop(role, None)
        return
    if current is None or not current.goes_on(ids):
        current = open_[role] = _Utterance(role, at)
        found.append((at, current))
    current.parts.append(words)
    current.ids |= ids
