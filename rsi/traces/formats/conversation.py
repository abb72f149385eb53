"""Conversations in the shape of the OpenAI chat API, as messages and tool calls.

Records repeat history: each call of a model brings the whole conversation so far. A message is named by what
it says and by how often the same was said before it, so that it is stored once, whichever record brings it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rsi.ids import uid
from rsi.records import Message, ToolCall
from rsi.traces.formats import fields
from rsi.traces.rows import Json, JsonObject

_PLAIN = ("text", "input_text", "output_text")


@dataclass(frozen=True)
class Call:
    """A tool call as the model wrote it."""

    native_id: str | None
    name: str
    arguments: str | None
    state: str


@dataclass(frozen=True)
class Turn:
    """One message."""

    role: str
    content: str | None
    state: str
    calls: tuple[Call, ...] = ()
    answers: str | None = None
    """Id of the call that this message answers."""
    tool: str | None = None
    """Name of the tool that speaks, where said."""
    failed: bool = False
    """The tool said that it failed."""


def turns(messages: Iterable[Json]) -> tuple[Turn, ...]:
    """The messages that are objects with a role; others are nothing that anybody said."""
    return tuple(turn(one) for one in messages if isinstance(one, dict) and fields.named(one.get("role")))


def turn(message: JsonObject) -> Turn:
    """One message of the chat API, with parts, tool calls and the older function call."""
    role = fields.named(message.get("role")) or "assistant"
    content = _content(message.get("content"))
    if content is None:
        state = "absent"
    else:
        state = "full" if content else "empty"
    calls = [_call(one) for one in fields.tables(message.get("tool_calls"))]
    older = message.get("function_call")
    if isinstance(older, dict):
        calls.append(_named_call(None, older))
    return Turn(
        role="tool" if role == "function" else role,
        content=content,
        state=state,
        calls=tuple(calls),
        answers=fields.named(message.get("tool_call_id")),
        tool=fields.named(message.get("name")) if role in ("tool", "function") else None,
        failed=message.get("is_error") is True,
    )


def message_rows(trace_uid: str, said: Sequence[Turn]) -> tuple[Message, ...]:
    """Rows in order; equal messages are told apart by how many came before."""
    seen: Counter[str] = Counter()
    rows = []
    for seq, one in enumerate(said):
        calls = [uid(call.native_id or "", call.name, call.arguments or "") for call in one.calls]
        content = uid(one.role, one.content or "", one.state, one.answers or "", *calls)
        message_uid = uid(trace_uid, content, str(seen[content]))
        seen[content] += 1
        rows.append(
            Message(
                message_uid=message_uid,
                trace_uid=trace_uid,
                seq=seq,
                role=one.role,
                content=one.content,
                content_state=one.state,
                tool_call_id=one.answers,
            )
        )
    return tuple(rows)


def call_rows(trace_uid: str, said: Sequence[Turn]) -> tuple[ToolCall, ...]:
    """Calls with their results; `seq` is the place of the asking message.

    A result belongs to the first unanswered call with its id, else of its tool. Producers repeat ids.
    """
    asked: list[tuple[int, Call]] = []
    waiting: list[int] = []
    results: dict[int, Turn] = {}
    for seq, one in enumerate(said):
        waiting.extend(range(len(asked), len(asked) + len(one.calls)))
        asked.extend((seq, call) for call in one.calls)
        answered = next((i for i in waiting if one.role == "tool" and _answers(one, asked[i][1])), None)
        if answered is not None:
            waiting.remove(answered)
            results[answered] = one
    seen: Counter[str] = Counter()
    rows = []
    for index, (seq, call) in enumerate(asked):
        result = results.get(index)
        name = call_name(call)
        rows.append(
            ToolCall(
                call_uid=uid(trace_uid, name, str(seen[name])),
                trace_uid=trace_uid,
                seq=seq,
                native_id=call.native_id,
                name=call.name,
                arguments=call.arguments,
                arguments_state=call.state,
                result=result.content if result else None,
                status=status(result.content, result.failed) if result else "no_result",
            )
        )
        seen[name] += 1
    return tuple(rows)


def call_name(call: Call) -> str:
    """What tells calls apart, up to repetition: the id (which tool spans have too), else all of it."""
    return uid(call.name, call.native_id) if call.native_id else uid(call.name, "", call.arguments or "")


def status(result: str | None, failed: bool = False) -> str:
    """ok or error: what the tool says of itself, or a result that begins with "Error"."""
    return "error" if failed or (result or "").lstrip().startswith("Error") else "ok"


def last(said: Sequence[Turn], role: str) -> str | None:
    """The last text that somebody said."""
    return next((one.content for one in reversed(said) if one.role == role and one.content), None)


def opening(said: Sequence[Turn], role: str) -> str | None:
    """The first text that somebody said."""
    return next((one.content for one in said if one.role == role and one.content), None)


def part_text(part: Json) -> str:
    """A content part as text; what is not text is named in brackets, reasoning is left out."""
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return ""
    name = fields.named(part.get("type")) or "text"
    if name in ("reasoning", "thinking"):
        return ""
    if name in _PLAIN:
        return next(
            (said for key in ("text", "content", "value") if (said := fields.text(part.get(key)))), ""
        )
    return f"[{name}]"


def _content(value: Json) -> str | None:
    if isinstance(value, list):
        return "\n".join(found for part in value if (found := part_text(part)))
    return value if isinstance(value, str) or value is None else fields.written(value)


def _call(record: JsonObject) -> Call:
    inner = record.get("function")
    return _named_call(fields.named(record.get("id")), inner if isinstance(inner, dict) else record)


def _named_call(native_id: str | None, record: JsonObject) -> Call:
    arguments, state = fields.arguments(record.get("arguments"))
    return Call(native_id, fields.named(record.get("name")) or "unnamed", arguments, state)


def _answers(result: Turn, call: Call) -> bool:
    if result.answers is not None and call.native_id is not None:
        return result.answers == call.native_id
    return result.tool is None or result.tool == call.name
