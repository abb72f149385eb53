"""Conversations for training: ShareGPT turns, and messages whose parts have a `value`.

- ``{"conversations": [{"from": "human", "value": …}, …], "system": …, "tools": "[…]"}``, with the turns
  `function_call` (JSON of a call, or of several) and `observation`, or with calls and results in tags;
- ``{"messages": [{"role": …, "content": [{"type": "text", "value": …}]}]}`` with parts `reasoning` and `tool_call`.

A set has no ids as a rule: a conversation is named by what was said, and by its id if it has one.
"""

import re

from rsi.ids import digest
from rsi.traces.formats import fields
from rsi.traces.formats.logged import Named, framed, logged
from rsi.traces.formats.run import rows
from rsi.traces.formats.turns import Turn, last, said, turns
from rsi.traces.rows import Json, JsonObject, Place, Reason, Refusal, Rows

NAME = "sharegpt"
_LISTS = ("conversations", "conversation", "items", "messages")
_CALLS = ("function_call", "function-call", "tool_call", "tool_calls", "function")
_RESULTS = (
    "observation",
    "tool",
    "function_response",
    "tool_response",
    "tool_result",
    "ipython",
    "environment",
)
_ASSISTANT = ("gpt", "chatgpt", "assistant", "bot", "bard", "bing", "claude", "model", "ai", "output")
_USER = ("human", "user", "input", "instruction", "prompter")
_TAGGED_CALL = re.compile(r"<tool_call>\s*(.*?)\s*</tool_call>", re.DOTALL)
_TAGGED_RESULT = re.compile(r"<tool_response>\s*(.*?)\s*</tool_response>", re.DOTALL)
_THOUGHT = re.compile(r"\A\s*<think>\s*(.*?)\s*</think>\s*", re.DOTALL)


def matches(record: JsonObject) -> bool:
    """A list of turns with `from`, or messages with a part that has a value and no text."""
    if "chosen" in record or "rejected" in record:
        return False
    return any(_is_turn(one) for key in _LISTS[:3] for one in fields.tables(record.get(key))[:1]) or any(
        _has_values(one) for one in fields.tables(record.get("messages"))[:4]
    )


def read(record: JsonObject, place: Place) -> tuple[Rows | Refusal, ...]:
    """One conversation, with its scores."""
    key = next((key for key in _LISTS if isinstance(record.get(key), list)), _LISTS[0])
    heard = conversation(fields.listing(record.get(key)), record.get("system"))
    if not heard:
        return (Refusal(Reason.BAD_VALUE, f"{key} holds no turn that says who speaks"),)
    outer = {name: one for name, one in record.items() if name not in (*_LISTS, "system", "tools")}
    frame = logged(outer, {"tools": record.get("tools")}, {})
    content: list[Json] = [record.get(key), record.get("system")]
    name = Named(frame.trace_id or frame.record_id or "", None if frame.trace_id else digest(content))
    made = framed(frame, NAME, name)._replace(
        turns=heard, model=fields.first(record, "model"), input_text=last(heard, "user")
    )
    return (rows(made, NAME, place), *frame.refusals)


def conversation(listed: list[Json], system: Json = None) -> tuple[Turn, ...]:
    """The turns of a conversation in either spelling, behind its system prompt."""
    opening = (said("system", system),) if isinstance(system, str) and system else ()
    return opening + tuple(turn for one in fields.tables(listed) for turn in _turns(one))


def _is_turn(one: JsonObject) -> bool:
    speaker = one.get("from", one.get("role"))
    return isinstance(speaker, str) and ("value" in one or "content" in one)


def _has_values(message: JsonObject) -> bool:
    parts = fields.tables(message.get("content"))
    return any("value" in one and "text" not in one and "type" in one for one in parts[:2])


def _turns(one: JsonObject) -> tuple[Turn, ...]:
    """A turn of ShareGPT becomes a message of the chat API; one of that is read as it is."""
    speaker = (fields.first(one, "from", "role") or "").lower()
    content = one.get("value", one.get("content"))
    if isinstance(content, list):
        return _of_parts(one, content)
    if "from" not in one and not isinstance(content, str):
        return turns([one])
    text = content if isinstance(content, str) else fields.written(content)
    if speaker in _CALLS:
        return turns([{"role": "assistant", "content": None, "tool_calls": _calls(text)}])
    if speaker in _RESULTS:
        return _results(text)
    if speaker in _ASSISTANT:
        return _tagged(text, one)
    role = "user" if speaker in _USER else speaker
    return (
        turns(
            [{**{key: value for key, value in one.items() if key != "from"}, "role": role, "content": text}]
        )
        if role
        else ()
    )


def _tagged(text: str | None, one: JsonObject) -> tuple[Turn, ...]:
    """What a model said, with calls and thoughts in tags taken out of it."""
    found = _TAGGED_CALL.findall(text or "")
    thought = _THOUGHT.match(text or "")
    message: JsonObject = {**one, "role": "assistant", "content": text}
    message.pop("from", None)
    message.pop("value", None)
    if thought:
        message["reasoning"] = thought[1]
        message["content"] = _THOUGHT.sub("", text or "")
    if found:
        message["tool_calls"] = [call for one in found for call in _calls(one)]
        message["content"] = _TAGGED_CALL.sub("", str(message["content"])).strip() or None
    return turns([message])


def _of_parts(one: JsonObject, parts: list[Json]) -> tuple[Turn, ...]:
    """A message of parts: calls are JSON text under `value`, several results a JSON list in one text."""
    role = fields.first(one, "role", "from") or "user"
    texts = [fields.text(part.get("value", part.get("text"))) for part in fields.tables(parts)]
    if role in _RESULTS and len(texts) == 1 and texts[0] is not None:
        return _results(texts[0])
    content: list[Json] = []
    calls: list[Json] = []
    for part in fields.listing(parts):
        if isinstance(part, dict) and part.get("type") in _CALLS and "value" in part:
            calls.extend(_calls(part["value"]))
        else:
            content.append(part)
    message: JsonObject = {**one, "role": role, "content": content or None}
    return turns([{**message, "tool_calls": calls} if calls else message])


def _calls(given: Json) -> list[Json]:
    """Calls out of JSON text: one, or a list; text that is none is kept as what a call without a name was given."""
    told = fields.parsed(given)
    listed = told if isinstance(told, list) else [told]
    found: list[Json] = [
        one for one in listed if isinstance(one, dict) and ("name" in one or "function" in one)
    ]
    return found or [{"name": None, "arguments": given}]


def _results(text: str | None) -> tuple[Turn, ...]:
    """One result, or several: in tags, or as a list of objects that name their tool or call."""
    tagged = _TAGGED_RESULT.findall(text or "")
    if tagged:
        return tuple(turn for one in tagged for turn in turns([{"role": "tool", "content": one}]))
    told = fields.parsed(text) if text and text.lstrip().startswith("[") else None
    listed = fields.tables(told)
    if listed and all("content" in one and ("tool_call_id" in one or "name" in one) for one in listed):
        return turns({**one, "role": "tool"} for one in listed)
    return turns([{"role": "tool", "content": text}])
