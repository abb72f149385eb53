"""What was said in a model call, from the spellings that GenAI instrumentations have used so far.

1. ``gen_ai.input.messages``, ``gen_ai.output.messages``, ``gen_ai.system_instructions`` (role and parts), as
   JSON text or structure, on the span or on event ``gen_ai.client.inference.operation.details``;
2. flattened keys ``gen_ai.prompt.N.role`` … ``gen_ai.completion.N.tool_calls.M.name`` (sorted as numbers,
   gaps allowed);
3. ``gen_ai.prompt`` and ``gen_ai.completion``, on the span or on events ``gen_ai.content.prompt`` and
   ``gen_ai.content.completion``, as JSON text of messages or as plain text;
4. one event a message: ``gen_ai.{system,user,assistant,tool}.message`` and ``gen_ai.choice``.

The first that says something is taken; text that was cut and no longer parses says nothing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rsi.traces.formats import conversation, fields
from rsi.traces.formats.conversation import Call, Turn
from rsi.traces.rows import Json, JsonObject

_FLAT = re.compile(r"gen_ai\.(prompt|completion)\.(\d{1,6})\.(role|content|tool_call_id)")
_FLAT_CALL = re.compile(r"gen_ai\.(prompt|completion)\.(\d{1,6})\.tool_calls\.(\d{1,6})\.(id|name|arguments)")
_MESSAGE_EVENT = re.compile(r"gen_ai\.(system|user|assistant|tool)\.message")
_CHOICE = "gen_ai.choice"
_DETAILS = "gen_ai.client.inference.operation.details"


@dataclass(frozen=True)
class Event:
    """A span event, or a log record that belongs to a span; a log's body is merged into the attributes."""

    name: str
    ts_ns: int | None
    attributes: JsonObject


@dataclass(frozen=True)
class Said:
    """A conversation up to the call, and what the model answered."""

    asked: tuple[Turn, ...] = ()
    answered: tuple[Turn, ...] = ()

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All of it, in order."""
        return self.asked + self.answered


def said(attributes: JsonObject, events: Sequence[Event]) -> Said:
    """The conversation of one model call; empty where content was not captured."""
    details = [event.attributes for event in events if event.name == _DETAILS]
    for one in (attributes, *details):
        if (found := _structured(one)).turns:
            return found
    if (found := _flattened(attributes)).turns:
        return found
    blobs = [event.attributes for event in events if event.name.startswith("gen_ai.content.")]
    for one in (attributes, *blobs):
        prompt, completion = one.get("gen_ai.prompt"), one.get("gen_ai.completion")
        found = Said(found.asked + _blob(prompt, "user"), found.answered + _blob(completion, "assistant"))
    return found if found.turns else _by_event(events)


def _structured(attributes: JsonObject) -> Said:
    system = fields.parsed(attributes.get("gen_ai.system_instructions"))
    asked = [turn for one in _several(attributes.get("gen_ai.input.messages")) for turn in _message(one)]
    first = _several(attributes.get("gen_ai.output.messages"))[:1]
    answered = [turn for one in first for turn in _message(one)]
    if system and (asked or answered):
        parts = [system] if isinstance(system, str) else fields.listing(system)
        text = "\n".join(map(conversation.part_text, parts))
        asked.insert(0, Turn("system", text, "full" if text else "empty"))
    return Said(tuple(asked), tuple(answered))


def _several(value: Json) -> list[JsonObject]:
    return fields.tables(fields.parsed(value))


def _message(message: JsonObject) -> list[Turn]:
    """A message with parts as one turn, and one more for each tool result in it."""
    parts = message.get("parts")
    if not isinstance(parts, list):
        return [conversation.turn(message)]
    role = fields.named(message.get("role")) or "assistant"
    texts, calls, results = list[str](), list[Call](), list[Turn]()
    for part in fields.tables(parts):
        kind = part.get("type")
        if kind == "tool_call":
            arguments, state = fields.arguments(part.get("arguments"))
            name = fields.named(part.get("name")) or "unnamed"
            calls.append(Call(fields.named(part.get("id")), name, arguments, state))
        elif kind == "tool_call_response":
            answer = part.get("response", part.get("result"))
            text = answer if isinstance(answer, str) else fields.written(answer)
            state = "absent" if text is None else "full" if text else "empty"
            results.append(Turn("tool", text, state, answers=fields.named(part.get("id"))))
        elif text := conversation.part_text(part):
            texts.append(text)
    if results and not texts and not calls:
        return results
    content = "\n".join(texts) if texts else None
    return [Turn(role, content, "full" if content else "absent", tuple(calls)), *results]


def _flattened(attributes: JsonObject) -> Said:
    sides: dict[str, dict[int, JsonObject]] = {"prompt": {}, "completion": {}}
    calls: dict[tuple[str, int], dict[int, JsonObject]] = {}
    for key, value in attributes.items():
        if found := _FLAT.fullmatch(key):
            sides[found[1]].setdefault(int(found[2]), {})[found[3]] = value
        elif found := _FLAT_CALL.fullmatch(key):
            sides[found[1]].setdefault(int(found[2]), {})
            calls.setdefault((found[1], int(found[2])), {}).setdefault(int(found[3]), {})[found[4]] = value
    for (side, index), ones in calls.items():
        sides[side][index]["tool_calls"] = [ones[place] for place in sorted(ones)]
    asked, answered = (
        tuple(conversation.turn({"role": role, **sides[side][index]}) for index in sorted(sides[side]))
        for side, role in (("prompt", "user"), ("completion", "assistant"))
    )
    return Said(asked, answered[:1])


def _blob(value: Json, role: str) -> tuple[Turn, ...]:
    """JSON text of one message or several, else plain text of one."""
    if value is None or value == "":
        return ()
    inner = fields.parsed(value)
    messages = [inner] if isinstance(inner, dict) else fields.tables(inner)
    spoken = [{"role": role, **one} for one in messages if "role" in one or "content" in one]
    turns = tuple(turn for one in spoken for turn in _message(one))
    if turns or not isinstance(value, str):
        return turns
    return (Turn(role, value, "full"),)


def _by_event(events: Sequence[Event]) -> Said:
    asked, answered = list[Turn](), list[Turn]()
    for event in events:
        if found := _MESSAGE_EVENT.fullmatch(event.name):
            asked.append(_event_turn(event.attributes, found[1]))
        elif event.name == _CHOICE and not answered:
            inner = fields.parsed(event.attributes.get("message"))
            message = inner if isinstance(inner, dict) else event.attributes
            answered.append(_event_turn(message, "assistant"))
    return Said(tuple(asked), tuple(answered))


def _event_turn(message: JsonObject, role: str) -> Turn:
    shaped: JsonObject = {"role": role, **message}
    shaped["tool_calls"] = fields.parsed(message.get("tool_calls"))
    if shaped["role"] == "tool" and "tool_call_id" not in shaped:
        shaped["tool_call_id"] = message.get("id")
    return conversation.turn(shaped)
