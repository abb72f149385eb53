"""What a line of a Codex rollout says: items of the model's API, and events that tell the same."""

import re
from typing import NamedTuple

from rsi.traces.formats import fields
from rsi.traces.formats.turns import Call, Turn, message_turns, said, state_of, tool_call
from rsi.traces.rows import Json, JsonObject

BARE = {"message", "reasoning", "function_call", "function_call_output", "local_shell_call", "custom_tool_call",
        "custom_tool_call_output", "web_search_call"}  # fmt: skip
"""Items that older files hold without an envelope."""
RANKS = {"user": 0, "system": 0, "reasoning": 1, "assistant": 2, "call": 3, "result": 4}
"""In which order things of one moment were said."""
_IMAGE = re.compile(r"</?image\b[^>]*>")
_EXIT = re.compile(r"^(?:Exit code:|(?:Process|Command) exited with code)\s*(-?\d+)", re.MULTILINE)
_CALLED = {"local_shell_call": "local_shell", "web_search_call": "web_search", "tool_search_call": "tool_search",
           "image_generation_call": "image_generation", "mcp_call": "mcp"}  # fmt: skip
_BESIDE = ("type", "id", "call_id", "status", "name", "internal_chat_message_metadata_passthrough")


class Said(NamedTuple):
    """A turn, and what names it."""

    kind: str
    """user, system, assistant, reasoning, call or result."""
    text: str
    """What was said, without what only one of the two logs has."""
    name: str | None
    """Its own name, where it has one for good."""
    turn: Turn


def item(payload: JsonObject) -> tuple[Said, ...] | None:
    """The turns of an item, none where it says nothing, null where it is no item."""
    kind = fields.named(payload.get("type")) or ("message" if "role" in payload else None)
    if kind is None:
        return None
    if kind in ("message", "agent_message"):
        return _message(payload)
    if kind == "reasoning":
        return _thoughts([*fields.listing(payload.get("summary")), *fields.listing(payload.get("content"))])
    if kind.endswith("_output"):
        return (_result(payload),)
    if kind in ("function_call", "custom_tool_call") or kind in _CALLED:
        return (_call(kind, payload),)
    return ()


def told(kind: str, payload: JsonObject) -> tuple[Said, ...]:
    """The turns that an event tells, as its item would."""
    if kind in ("user_message", "agent_message"):
        return _text("user" if kind == "user_message" else "assistant", fields.text(payload.get("message")))
    if kind in ("agent_reasoning", "agent_reasoning_raw_content"):
        return _thoughts([payload.get("text")])
    done = fields.table(payload.get("item"))
    if kind == "item_completed" and done.get("type") in ("UserMessage", "AgentMessage"):
        texts = [fields.text(one.get("text")) or "" for one in fields.tables(done.get("content"))]
        return _text("user" if done["type"] == "UserMessage" else "assistant", "".join(texts))
    if kind == "item_completed" and done.get("type") == "Reasoning":
        return _thoughts(
            [*fields.listing(done.get("summary_text")), *fields.listing(done.get("raw_content"))]
        )
    return ()


def failed_call(kind: str, payload: JsonObject) -> str | None:
    """The call that an event says has failed."""
    done = fields.table(payload.get("item")) if kind == "item_completed" else payload
    code = fields.whole(done.get("exit_code"))
    failed = (
        (code is not None and code != 0)
        or done.get("success") is False
        or "Err" in fields.table(done.get("result"))
    )
    return fields.first(done, "call_id", "id") if failed or done.get("status") == "failed" else None


def _message(payload: JsonObject) -> tuple[Said, ...]:
    found = []
    for turn in message_turns(payload, "user"):
        parts = fields.tables(payload.get("content"))
        texts = [fields.text(one.get("text")) or "" for one in parts]
        text = "".join(_IMAGE.sub("", one) for one in texts) if parts else turn.content or ""
        kind = turn.role if turn.role in RANKS else "user"
        found.append(Said(kind, _squeezed(text), None, turn))
    return tuple(found)


def _text(role: str, text: str | None) -> tuple[Said, ...]:
    return (Said(role, _squeezed(text), None, said(role, text)),) if text else ()


def _thoughts(parts: list[Json]) -> tuple[Said, ...]:
    """A turn for each part: the events tell them one by one."""
    texts = [one if isinstance(one, str) else fields.text(fields.table(one).get("text")) for one in parts]
    return tuple(
        Said("reasoning", _squeezed(text), None, Turn("assistant", reasoning=text)) for text in texts if text
    )


def _call(kind: str, payload: JsonObject) -> Said:
    native = fields.first(payload, "call_id", "id")
    if kind == "function_call":
        call = tool_call(native, fields.named(payload.get("name")), payload.get("arguments"))
    elif kind == "custom_tool_call":
        # Such a tool takes text that is no JSON: that is its one argument.
        call = tool_call(native, fields.named(payload.get("name")), {"input": payload.get("input")})
    else:
        given = payload.get("action", payload.get("arguments"))
        if not isinstance(given, dict | str):
            given = {key: value for key, value in payload.items() if key not in _BESIDE and key != "result"}
        call = tool_call(native, fields.named(payload.get("name")) or _CALLED[kind], given)
    return Said(
        "call", _written(call), f"call {native}" if native else None, Turn("assistant", calls=(call,))
    )


def _written(call: Call) -> str:
    return f"{call.name} {call.arguments or call.raw}"


def _result(payload: JsonObject) -> Said:
    native = fields.first(payload, "call_id", "id")
    output = payload.get("output", payload.get("tools", payload.get("result")))
    success = fields.table(output).get("success")
    if isinstance(output, dict) and "content" in output:
        output = output["content"]
    told = message_turns({"type": "function_call_output", "call_id": native, "output": output})
    content = told[0].content if told else None
    failed = success is False or payload.get("status") == "failed" or _exit_code(content) not in (None, 0)
    turn = Turn("tool", content, state_of(content), answers=native, failed=failed)
    return Said("result", content or "", f"result {native}" if native else None, turn)


def _exit_code(text: str | None) -> int | None:
    """How a command ended: from the head of its output, or from the JSON it is wrapped in."""
    if not text:
        return None
    if text.startswith("{") and '"exit_code"' in text:
        wrapped = fields.table(fields.parsed(text))
        return fields.whole(fields.table(wrapped.get("metadata", wrapped)).get("exit_code"))
    found = _EXIT.search(text[:400].partition("\nOutput:")[0])
    return int(found[1]) if found else None


def _squeezed(text: str | None) -> str:
    """The logs differ in blanks where parts meet."""
    return re.sub(r"\s+", " ", text or "").strip()
