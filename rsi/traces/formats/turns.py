"""What somebody said, from the spellings in use: one function for messages of every producer.

Read are messages of the OpenAI chat API (also the older function call), items of the Responses API, content
blocks of Anthropic, Gemini's parts, the parts of the GenAI conventions, Vercel's parts and LangChain's dumped
messages. A message that carries results of tools becomes one turn for each. What has none of these shapes is
nothing that anybody said.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from rsi.traces.formats import fields, ui_messages
from rsi.traces.rows import Json, JsonObject

_ROLES = {
    "human": "user", "ai": "assistant", "model": "assistant", "bot": "assistant", "gpt": "assistant",
    "agent": "assistant", "developer": "system", "function": "tool", "tool_response": "tool", "observation": "tool",
    "toolresult": "tool", "environment": "tool", "HumanMessage": "user", "AIMessage": "assistant",
    "AIMessageChunk": "assistant", "SystemMessage": "system", "ToolMessage": "tool", "FunctionMessage": "tool",
    "HumanMessageChunk": "user", "MessageRole.USER": "user", "MessageRole.ASSISTANT": "assistant",
    "MessageRole.SYSTEM": "system", "MessageRole.TOOL": "tool", "ChatMessage": "user",
}  # fmt: skip
"""Other names of the four roles."""
_TEXT = {"text", "input_text", "output_text", "refusal", "markdown"}
_THOUGHT = {"reasoning", "thinking", "thought", "redacted_thinking", "summary_text", "reasoning_text"}
_CALL = {"tool_use", "tool_call", "tool-call", "function_call", "server_tool_use", "server_tool_call", "mcp_call",
         "mcp_tool_use", "custom_tool_call", "functionCall"}  # fmt: skip
_RESULT = {"tool_result", "tool_call_response", "tool-result", "function_call_output", "server_tool_call_response",
           "mcp_tool_result", "custom_tool_call_output", "functionResponse"}  # fmt: skip
_SERVED = "_tool_result"
"""Ends the types of results of tools that the provider runs; their content is objects of its own."""
_WRAPPED = ("functionCall", "functionResponse", "function_call", "function_response", "toolUse", "toolResult")
"""Keys of parts that say what they are by their only key."""
_MCP_RESULT = {"content", "isError", "_meta", "meta", "structuredContent"}
_REDACTED = re.compile(
    r"[\W_]*(?:redacted|masked|removed|scrubbed|hidden)(?:[ -]by[ -][\w .-]{1,40})?[\W_]*", re.IGNORECASE
)
_CUT = re.compile(r"(?:\.\.\.|…)?\s*[\[(<](?:truncated|cut)\b[^\])>]{0,60}[\])>]\s*\Z", re.IGNORECASE)


class Call(NamedTuple):
    """A tool call as the model wrote it."""

    native_id: str | None
    name: str
    arguments: str | None = None
    """Canonical JSON of an object."""
    state: str = "missing"
    """object, invalid or missing."""
    raw: str | None = None
    """What stood there, where that is no object."""


class Turn(NamedTuple):
    """One message."""

    role: str
    """system, user, assistant or tool, or what the producer says."""
    content: str | None = None
    state: str = "absent"
    """full, empty, absent, redacted or cut."""
    calls: tuple[Call, ...] = ()
    answers: str | None = None
    """Id of the call that this message answers."""
    tool: str | None = None
    """Name of the tool that speaks, where said."""
    failed: bool = False
    """The tool said that it failed."""
    reasoning: str | None = None
    author: str | None = None
    """Name of the speaker, where said."""
    native_id: str | None = None
    """The producer's id of the message, where it names it for good: snapshots of one message share it."""


def turns(messages: Iterable[Json], role: str | None = None) -> tuple[Turn, ...]:
    """The turns of some messages; `role` is of those that do not say theirs, else they are left out."""
    found: list[Turn] = []
    for one in messages:
        if isinstance(one, (dict, str)):
            found += message_turns(one, role)
    return tuple(found)


def message_turns(message: JsonObject | str, role: str | None = None) -> list[Turn]:
    """The turns of one message: itself, and one for each result of a tool that it carries."""
    if isinstance(message, str):
        return [said(role, message)] if role else []
    if (plain := _plain_turns(message)) is not None:
        return plain
    if "parts" in message and (steps := ui_messages.spelt(message)) is not None:
        return [turn for one in steps for turn in message_turns(one, role)]
    inner = message.get("kwargs")
    if isinstance(inner, dict) and isinstance(message.get("id"), list):
        path = fields.listing(message["id"])
        message = {"type": path[-1] if path else None, **inner}
    elif isinstance(message.get("data"), dict) and "role" not in message and "content" not in message:
        message = {"type": message.get("type"), **fields.table(message["data"])}
    kind = fields.named(message.get("type"))
    if "role" not in message and (kind in _CALL or kind in _RESULT or kind in _THOUGHT):
        return _Gathered("assistant").add(message).turns()
    spoken = fields.named(message.get("role")) or (kind if kind in _ROLES or kind in _PLAIN else None) or role
    if spoken is None:
        return []
    gathered = _Gathered(_ROLES.get(spoken, _ROLES.get(spoken.lower(), spoken)))
    gathered.message(message)
    return gathered.turns()


def _plain_turns(message: JsonObject) -> list[Turn] | None:
    """The turns of a message in the GenAI shape, or of plain text: the same as the long way, for millions of them."""
    role = message.get("role")
    if not isinstance(role, str) or role not in _PLAIN or len(message) - ("finish_reason" in message) != 2:
        return None
    content, parts = message.get("content"), message.get("parts")
    if isinstance(content, str):
        return [Turn(role, content, state_of(content))]
    if not isinstance(parts, list) or not parts:
        return None
    texts: list[str] = []
    calls: list[Call] = []
    results: list[Turn] = []
    for part in parts:
        kind = part.get("type") if isinstance(part, dict) else None
        if not isinstance(part, dict):
            return None
        if kind == "text" and isinstance(text := part.get("content"), str):
            texts.append(text)
        elif kind == "tool_call" and "name" in part and "arguments" in part:
            native = fields.first(part, "call_id", "id")
            calls.append(tool_call(native, fields.named(part["name"]), part["arguments"]))
        elif (
            kind == "tool_call_response" and isinstance(text := part.get("response"), str) and len(part) == 3
        ):
            results.append(Turn("tool", text, state_of(text), (), fields.first(part, "id")))
        else:
            return None
    content = "\n".join(text for text in texts if text) if len(texts) != 1 else texts[0]
    if results and not content and not calls:
        return results
    if content == "" and calls:
        return [Turn(role, None, "absent", tuple(calls)), *results]
    turn = Turn(role, content, state_of(content), tuple(calls))
    return [*results, turn] if role == "user" else [turn, *results]


def said(role: str, text: str | None) -> Turn:
    """A turn of plain text."""
    return Turn(role, text, state_of(text))


def state_of(content: str | None) -> str:
    """absent, empty, redacted (a placeholder alone), cut (a mark at its end) or full."""
    if content is None:
        return "absent"
    if not content:
        return "empty"
    if len(content) < 100 and _REDACTED.fullmatch(content):
        return "redacted"
    return "cut" if content[-1] in "])>" and _CUT.search(content[-80:]) else "full"


def tool_call(native_id: str | None, name: str | None, given: Json) -> Call:
    """A call from its id, name and arguments in whatever spelling."""
    arguments, state = fields.arguments(given)
    raw = None
    if arguments is None and given is not None and given != "":
        raw = given if isinstance(given, str) else fields.written(given)
    return Call(native_id, name or "unnamed", arguments, state, raw)


def last(turns_: Iterable[Turn], role: str) -> str | None:
    """The last text that somebody said."""
    found = None
    for one in turns_:
        if one.role == role and one.content:
            found = one.content
    return found


def opening(turns_: Iterable[Turn], role: str) -> str | None:
    """The first text that somebody said."""
    return next((one.content for one in turns_ if one.role == role and one.content), None)


_PLAIN = {"user", "assistant", "system", "tool"}


class _Gathered:
    """Content, reasoning, calls and results of one message, as its parts are read."""

    def __init__(self, role: str) -> None:
        self.role = role
        self.texts: list[str] = []
        self.thoughts: list[str] = []
        self.calls: list[Call] = []
        self.results: list[Turn] = []
        self.has_content = self.failed = False
        self.answers: str | None = None
        self.tool: str | None = None
        self.author: str | None = None

    def message(self, message: JsonObject) -> None:
        """A message with its content and what stands beside it."""
        content = message.get("content", message.get("parts"))
        if isinstance(content, list):
            self.has_content = bool(content) or "parts" not in message
            for part in content:
                self.add(part)
        elif content is not None:
            self.has_content = True
            if isinstance(content, dict) and ("text" in content or "parts" in content or "type" in content):
                for part in fields.listing(content.get("parts", [content])):
                    self.add(part)
            else:
                self.texts.append(content if isinstance(content, str) else fields.written(content) or "{}")
        more = fields.table(message.get("additional_kwargs"))
        told = message.get("tool_calls") or message.get("toolCalls") or more.get("tool_calls")
        listed = [*fields.tables(fields.parsed(told)), *fields.tables(message.get("invalid_tool_calls"))]
        # LangChain tells a call of Anthropic's models among the parts and again in the list.
        again = {fields.named(one.get("id")) for one in listed}
        self.calls = [one for one in self.calls if one.native_id is None or one.native_id not in again]
        for one in listed:
            self._call(one)
        older = fields.parsed(message.get("function_call"))
        if isinstance(older, dict) and older:
            self.calls.append(tool_call(None, fields.named(older.get("name")), older.get("arguments")))
        for key in ("reasoning_content", "reasoning", "thinking"):
            if isinstance(message.get(key), str) and message[key]:
                self.thoughts.append(str(message[key]))
                break
        self.answers = fields.first(message, "tool_call_id", "toolCallId", "call_id", "tool_use_id")
        name = fields.named(message.get("name")) or fields.named(message.get("tool_name"))
        if self.role == "tool":
            self.tool = name
        else:
            self.author = name
        self.failed = message.get("is_error") is True or message.get("error") is True or (
            message.get("status") == "error" and self.role == "tool"
        )  # fmt: skip

    def add(self, part: Json) -> "_Gathered":
        """One content part."""
        if isinstance(part, str):
            self.texts.append(part)
            self.has_content = True
            return self
        if not isinstance(part, dict):
            return self
        kind = fields.named(part.get("type"))
        if kind is None:
            kind = next((key for key in _WRAPPED if isinstance(part.get(key), dict)), None)
            if kind is not None:
                nested = fields.table(part[kind])
                kind = (
                    "functionCall"
                    if kind in ("functionCall", "function_call", "toolUse")
                    else "functionResponse"
                )
                part = {**nested}
            elif part.get("thought") is True:
                kind = "thought"
            else:
                kind = "text" if "text" in part or "content" in part or "value" in part else "part"
        if kind in _TEXT:
            text = next(
                (
                    t
                    for key in ("text", "content", "value", "refusal")
                    if (t := wording(part.get(key))) is not None
                ),
                "",
            )
            self.texts.append(text)
            self.has_content = True
        elif kind in _THOUGHT or kind.endswith("ReasoningContent"):
            if thought := _thought(part):
                self.thoughts.append(thought)
        elif kind in _CALL:
            self._call(part)
        elif kind in _RESULT or kind.endswith(_SERVED):
            self._result(part, kind)
        else:
            self.texts.append(f"[{kind}]")
            self.has_content = True
        return self

    def turns(self) -> list[Turn]:
        """The message as turns; results come behind the calls they answer, and before what a user adds to them."""
        content = "\n".join(text for text in self.texts if text) if self.has_content else None
        if content == "" and (self.calls or self.thoughts):
            content = None  # producers write "", null or nothing for a turn that only calls tools, or thinks
        silent = content is None and not self.calls and not self.thoughts
        if self.results and (silent or (content == "" and not self.calls)):
            return self.results
        turn = Turn(
            self.role,
            content,
            state_of(content),
            tuple(self.calls),
            self.answers,
            self.tool,
            self.failed,
            "\n".join(self.thoughts) or None,
            self.author,
        )
        return [*self.results, turn] if self.role == "user" else [turn, *self.results]

    def _call(self, part: JsonObject) -> None:
        inner = part.get("function")
        told = inner if isinstance(inner, dict) else part
        name = fields.first(told, "name", "toolName", "tool_name", "function_name") or fields.named(inner)
        given = next(
            (told[key] for key in ("arguments", "args", "input", "kwargs", "parameters") if key in told), None
        )
        native = fields.first(part, "call_id", "id", "toolCallId", "tool_call_id", "toolUseId")
        self.calls.append(tool_call(native, name, given))

    def _result(self, part: JsonObject, kind: str) -> None:
        given = next(
            (part[key] for key in ("output", "content", "response", "result", "value") if key in part), None
        )
        text = wording(given) if kind in _RESULT else _as_text(given)
        self.results.append(
            Turn(
                "tool",
                text,
                state_of(text),
                answers=fields.first(
                    part, "tool_use_id", "call_id", "toolCallId", "tool_call_id", "toolUseId", "id"
                ),
                tool=fields.first(part, "name", "toolName", "tool_name"),
                failed=_has_failed(part) or _has_failed(given),
            )
        )


def wording(value: Json) -> str | None:
    """Text of a value that may be parts, or MCP's result with parts; null for null, JSON for what is no text."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(one, str) or _is_part(one) for one in value):
        gathered = _Gathered("tool")
        for one in value:
            gathered.add(one)
        return "\n".join(text for text in gathered.texts if text)
    if isinstance(value, dict):
        if value.get("type") in ("text", "json", "error-text", "error-json") and "value" in value:
            return wording(value["value"])
        if _MCP_RESULT.issuperset(value) and isinstance(value.get("content"), list):
            return wording(value["content"])
    return fields.written(value) or "{}"


def _is_part(value: Json) -> bool:
    """A typed part, or one of Bedrock's that is text alone."""
    if not isinstance(value, dict):
        return False
    return isinstance(value.get("type"), str) or (len(value) == 1 and isinstance(value.get("text"), str))


def _as_text(value: Json) -> str | None:
    return value if value is None or isinstance(value, str) else fields.written(value) or "{}"


def _has_failed(said_: Json) -> bool:
    """By a flag, by Bedrock's status, or by the type of what a tool of the provider gave back."""
    told = fields.table(said_)
    by_word = told.get("status") == "error" or str(told.get("type")).endswith("_tool_result_error")
    return by_word or told.get("is_error") is True or told.get("isError") is True


def _thought(part: JsonObject) -> str | None:
    for key in ("thinking", "text", "content", "reasoning", "value", "summary"):
        value = part.get(key)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, list) and value:
            return "\n".join(text for one in fields.tables(value) if (text := fields.text(one.get("text"))))
        if isinstance(value, dict):
            return fields.first(value, "text", "content")
    return None
