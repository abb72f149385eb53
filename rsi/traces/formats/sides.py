"""The two sides of an operation as platforms log them: what went in, what came out, in any framework's spelling.

Read are lists of messages (also nested in lists, as LangChain has them), requests and responses of the model
APIs, states that hold messages, results of the Vercel AI SDK, and any of them as JSON text or JSON text of JSON
text. A side is *chat* where somebody is said to speak; a prompt or a completion of plain text is not, and is one
turn; any other data is no turn.
"""

import re
from typing import NamedTuple

from rsi.traces.decode import decode_text
from rsi.traces.formats import answers, fields
from rsi.traces.formats.turns import Turn, message_turns, said, turns
from rsi.traces.rows import Json, JsonObject

_DEEPEST = 3
_SPOKEN = {"human", "ai", "user", "assistant", "system", "tool", "developer", "model"}
_ITEMS = {
    "function_call", "function_call_output", "reasoning", "message", "tool_use", "tool_result", "tool_call",
    "tool_call_response", "mcp_call", "custom_tool_call", "custom_tool_call_output",
}  # fmt: skip
_LISTS = (
    "messages",
    "input_messages",
    "chat_history",
    "history",
    "prompt",
    "input",
    "message",
    "conversation",
)
_AROUND = (
    "kwargs",
    "args",
    "request",
    "llm_request",
    "body",
    "inputs",
    "input",
    "params",
    "state",
    "payload",
)
_SYSTEM = ("system", "instructions", "system_instruction", "systemInstruction", "system_prompt")
_PROMPTS = ("prompt", "prompts", "query", "question", "input", "text", "user_input", "user_message", "message", "args",
            "inputs", "kwargs", "messages")  # fmt: skip
_NOTHING = ("", "null")
_ROLES = ("system", "user", "assistant", "tool")

_PRINTED = re.compile(
    r"""content=('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(?: name='([^']*)')?(?: id='[^']*')? tool_call_id='([^']+)'"""
    r"""(?: artifact=.*?)?(?: status='(\w+)')?""",
    re.DOTALL,
)


class Side(NamedTuple):
    """What was said on one side."""

    turns: tuple[Turn, ...] = ()
    is_chat: bool = False
    """Somebody is said to speak; else it is plain text."""
    envelope: answers.Envelope = answers.Envelope()
    """What the response says of itself."""

    def __bool__(self) -> bool:
        """Whether anything was said."""
        return bool(self.turns)


def opened(value: Json) -> Json:
    """What JSON text, or JSON text of JSON text, holds; any other value and any other text as it is.

    A tool's message that LangChain printed is a message again.
    """
    for _ in range(_DEEPEST):
        if isinstance(value, str) and value.startswith("content="):
            return _printed(value) or value
        if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "[", '"'):
            return value
        inner = decode_text(value)
        if not isinstance(inner, dict | list | str):
            return value
        value = inner
    return value


def _printed(text: str) -> JsonObject | None:
    found = _PRINTED.fullmatch(text)
    content = fields.of_python(found[1]) if found else None
    if found is None or content is None:
        return None
    message: JsonObject = {"type": "tool", "content": content, "tool_call_id": found[3]}
    return message | {
        key: said_ for key, said_ in (("name", found[2]), ("status", found[4])) if said_ is not None
    }


def asked(value: Json) -> Side:
    """What a model, an agent or a chain was given."""
    value = opened(value)
    return _chat(value, 0) or _prompt(value, 0)


def answered(value: Json) -> Side:
    """What it gave back."""
    value = opened(value)
    if isinstance(value, str):
        return Side((said("assistant", value),)) if value.strip() not in _NOTHING else Side()
    envelope = answers.envelope(value)
    spoken = answers.spoken(value)
    if spoken:
        return Side(_settled(turns(spoken, "assistant")), True, envelope)
    found = _chat(value, 0)
    if found:
        return found._replace(envelope=envelope)
    text = answers.text(value)
    return Side((said("assistant", text),) if text else (), False, envelope)


def dumped(value: Json) -> bool:
    """Whether it is state with messages as LangChain dumps its objects (``lc``, ``kwargs``)."""
    value = opened(value)
    if isinstance(value, dict) and "lc" not in value:
        value = value.get("messages") or value.get("output")
    items = value if isinstance(value, list) else [value]
    if items and isinstance(items[0], list):
        items = items[0]
    return any(isinstance(one, dict) and "lc" in one and "kwargs" in one for one in items)


def structured(given: Json) -> tuple[Turn, ...]:
    """An answer that is an object of the caller's own, as its JSON."""
    value = opened(given)
    text = fields.written(value) if isinstance(value, dict | list) and value else None
    return (said("assistant", text),) if text else ()


def outcome(given: Json) -> tuple[str | None, bool]:
    """The text of a tool's result and whether it says that it failed: a message, MCP's content, or any value."""
    value = opened(given)
    if value is None or isinstance(value, str):
        return value, False
    if isinstance(value, dict):
        is_message = "lc" in value or value.get("role") == "tool" or value.get("type") == "tool"
        if is_message or (isinstance(value.get("content"), list) and "role" not in value):
            found = message_turns({**value, "role": "tool"} if "lc" not in value else value)
            if found and found[0].content is not None:
                return found[0].content, found[0].failed or value.get("isError") is True
    return (given if isinstance(given, str) and given[:1] != '"' else fields.written(value) or "{}"), False


def _chat(value: Json, depth: int) -> Side:
    """Messages, or what holds them; nothing where nobody is said to speak."""
    if isinstance(value, list):
        if found := _listed(value):
            return Side(found, True)
        return Side()
    if not isinstance(value, dict) or depth >= _DEEPEST:
        return Side()
    if _speaks(value):
        return Side(_settled(tuple(message_turns(value))), True)
    if "contents" in value and (found := _contents(value["contents"])):
        return Side((*_system(value), *found), True)
    for key in _LISTS:
        inner = opened(value.get(key)) if key in value else None
        found = _listed([inner] if isinstance(inner, dict) else inner if isinstance(inner, list) else [])
        if found:
            more = (
                _prompt({name: value[name] for name in _PROMPTS if name in value}, 0)
                if "history" in key
                else Side()
            )
            return Side((*_system(value, found), *found, *more.turns), True)
    for key in _AROUND:
        inner = opened(value.get(key)) if key in value else None
        for one in inner if key == "args" and isinstance(inner, list) else [inner]:
            if around := _chat(one, depth + 1):
                return around
    return Side()


def _listed(items: list[Json]) -> tuple[Turn, ...]:
    """The messages of a list, or of the one list in it."""
    if len(items) == 1 and isinstance(items[0], list):
        items = items[0]
    messages: list[Json] = []
    for one in items:
        item = opened(one)
        if isinstance(item, dict) and "role" not in item and isinstance(item.get("message"), dict):
            item = item["message"]
        if isinstance(item, dict) and _speaks(item):
            messages.append(item)
    return _settled(turns(messages))


def _speaks(item: JsonObject) -> bool:
    """Whether an object is a message: by its role, its type, or as LangChain dumps one."""
    kind = item.get("type")
    if isinstance(item.get("role"), str):
        offered = fields.table(item.get("content"))
        is_offer = item["role"] == "tool" and offered.get("type") == "function" and "tool_call_id" not in item
        return not is_offer and any(
            key in item
            for key in ("content", "parts", "tool_calls", "toolCalls", "function_call", "reasoning_content")
        )
    if isinstance(kind, str):
        return (kind in _SPOKEN and ("content" in item or "data" in item)) or kind in _ITEMS or (
            kind == "constructor" and isinstance(item.get("kwargs"), dict)
        )  # fmt: skip
    return False


def _settled(found: tuple[Turn, ...]) -> tuple[Turn, ...]:
    """Turns whose role is the name of a tool called before (LangChain's JavaScript logs them so) as the tool's."""
    called: set[str] = set()
    settled = []
    for one in found:
        called.update(call.name for call in one.calls)
        is_tool = one.role not in _ROLES and one.role in called
        settled.append(one._replace(role="tool", tool=one.role) if is_tool else one)
    return tuple(settled)


def _contents(value: Json) -> tuple[Turn, ...]:
    """Gemini's contents: a text, a message, or a list of messages, texts and parts."""
    value = opened(value)
    items = value if isinstance(value, list) else [value]
    shaped: list[Json] = []
    for one in items:
        is_part = isinstance(one, dict) and "text" in one and "parts" not in one
        shaped.append({"parts": [one]} if is_part else one)
    return turns(shaped, "user")


def _system(value: JsonObject, after: tuple[Turn, ...] = ()) -> tuple[Turn, ...]:
    """Instructions that stand beside the messages, unless these begin with the same."""
    config = fields.table(opened(value.get("config")))
    for one in (value, config):
        told = next((opened(one[key]) for key in _SYSTEM if one.get(key)), None)
        if isinstance(told, dict):
            told = told.get("parts", told.get("content"))
        if isinstance(told, str | list):
            found = turns([{"role": "system", "content": told}])
            return () if after and found and after[0].content == found[0].content else found
    return ()


def _prompt(value: Json, depth: int) -> Side:
    """Plain text that was asked, with the instructions beside it."""
    if isinstance(value, str):
        return Side((said("user", value),)) if value.strip() not in _NOTHING else Side()
    if isinstance(value, list):
        if value and all(isinstance(one, str) for one in value):
            return Side(turns(value, "user"))
        if value and all(
            isinstance(one, dict) and "text" in one and isinstance(one.get("type"), str) for one in value
        ):
            return Side(turns([{"role": "user", "content": value}]))
        return Side()
    if isinstance(value, dict) and depth < _DEEPEST:
        for key in _PROMPTS:
            inner = opened(value.get(key)) if key in value else None
            if found := _prompt(inner, depth + 1).turns:
                return Side((*_system(value, found), *found))
    return Side()
