"""Messages out of a call's whole payload, as instrumentations keep it in one attribute: JSON text or plain text.

Payloads are requests and responses of model APIs, lists of messages, LangChain's prompts and generations, or
just what was said. Text that begins like JSON and does not parse was cut, and stays as it is.
"""

from functools import lru_cache

from rsi.traces.decode import decode_text
from rsi.traces.formats import fields
from rsi.traces.formats.turns import Turn, said, state_of, turns
from rsi.traces.rows import Json, JsonObject

_LISTS = ("messages", "message", "input", "contents", "history", "chat_history")
_OUTPUTS = ("choices", "output", "candidates", "generations", "messages", "message", "content", "kwargs")
_TEXTS = ("prompt", "prompts", "query", "question", "input", "inputs", "text", "output", "answer", "response", "result",
          "completion")  # fmt: skip

_KEPT = 20_000
"""Longer instructions are read each time."""


def told(value: Json, role: str) -> tuple[Turn, ...]:
    """Turns of an attribute known to hold messages: JSON text, structure, or the text of one turn."""
    if isinstance(value, str):
        inner = decode_text(value)
        if not isinstance(inner, (list, dict)):
            return _plain(value, inner, role)
        value = inner
    if isinstance(value, dict):
        value = [value] if value else []
    return turns(value, role) if isinstance(value, list) else ()


def payload(value: Json, role: str) -> tuple[Turn, ...]:
    """Turns of a request (`role` user) or of a response (assistant), whatever its shape."""
    if isinstance(value, str):
        inner = decode_text(value)
        if not isinstance(inner, (list, dict)):
            return _plain(value, inner, role)
        return _turns(inner, role) or (said(role, value),)
    if isinstance(value, (list, dict)) and value:
        return _turns(value, role) or (said(role, fields.written(value)),)
    return ()


def instructions(value: Json) -> tuple[Turn, ...]:
    """The system's turn: text, or parts as structure or JSON text."""
    if isinstance(value, str):
        return _instructions(value) if len(value) < _KEPT else _instructions.__wrapped__(value)
    if isinstance(value, dict):
        value = value.get("parts") or value.get("content") or [value]
    return turns([{"role": "system", "content": value}]) if value else ()


@lru_cache(maxsize=256)
def _instructions(text: str) -> tuple[Turn, ...]:
    """Of text: the same few are said in every call."""
    inner = decode_text(text)
    return instructions(inner) if isinstance(inner, (list, dict)) else _plain(text, inner, "system")


def _plain(text: str, inner: Json, role: str) -> tuple[Turn, ...]:
    """Text that is no JSON list or object: what was said, or what is left of it."""
    start = text.lstrip()[:1]
    if not start or text == "null":
        return ()
    if isinstance(inner, str):
        return (said(role, inner),)
    state = state_of(text)
    return (Turn(role, text, "cut" if state == "full" and start in "[{" else state),)


def _turns(value: list[Json] | JsonObject, role: str) -> tuple[Turn, ...]:
    if isinstance(value, list):
        if len(value) == 1 and isinstance(value[0], list):
            value = value[0]
        return turns(value, role) if any(map(_is_message, value)) else ()
    keys = _LISTS if role == "user" else _OUTPUTS
    system = value.get("system") or value.get("instructions") or value.get("system_instruction")
    found = next((turns_ for key in keys if key in value and (turns_ := _under(key, value, role))), ())
    if not found and _is_message(value):
        found = turns([value], role)
    if not found:
        text = next((fields.text(value[key]) for key in _TEXTS if fields.text(value.get(key))), None)
        found = (said(role, text),) if text else ()
    return (*instructions(system), *found) if system and role == "user" else found


def _under(key: str, value: JsonObject, role: str) -> tuple[Turn, ...]:
    """Turns of one field of a payload."""
    inner = value[key]
    if key in ("choices", "candidates"):
        messages = [one.get("message") or one.get("content") or one for one in fields.tables(inner)]
        return turns(messages, role)
    if key == "generations":
        rows = fields.listing(inner)
        first = fields.tables(rows[0] if rows and isinstance(rows[0], list) else rows)
        messages = [one.get("message") or {"content": one.get("text")} for one in first]
        return turns(messages, role)
    if key == "content":
        return turns([value], role) if isinstance(inner, list) else ()
    if key == "kwargs":
        return turns([value], role)
    if isinstance(inner, dict):
        return turns([inner], role) if _is_message(inner) else ()
    if isinstance(inner, list):
        return _turns(inner, role)
    return ()


def _is_message(value: Json) -> bool:
    return isinstance(value, dict) and any(
        key in value for key in ("role", "content", "parts", "kwargs", "tool_calls", "type", "data")
    )
