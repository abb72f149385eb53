"""Bodies of streamed answers, one function an API: from its events to the body of an unstreamed call."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from rsi.traces.formats import fields
from rsi.traces.rows import Json, JsonObject

_TEXTS = ("content", "refusal", "reasoning_content", "reasoning")
_BLOCK_DELTAS = {"text_delta": "text", "input_json_delta": "partial_json", "thinking_delta": "thinking"}
_ENDS = (
    "response.completed",
    "response.incomplete",
    "response.failed",
    "response.cancelled",
    "response.done",
)


class Body(NamedTuple):
    """A response body made of a stream."""

    body: JsonObject
    whole: bool
    """Whether the stream said that it was at its end."""
    began: str = ""
    """Digest of the first thing said: stays while the stream goes on."""


class _Call:
    """A tool call whose arguments come in pieces."""

    def __init__(self) -> None:
        self.id: Json = None
        self.name: Json = None
        self.given: Json = None
        self.pieces: list[str] = []

    def add(self, function: JsonObject, native: Json = None) -> None:
        self.id = self.id or native
        self.name = self.name or function.get("name")
        given = function.get("arguments")
        if isinstance(given, str):
            self.pieces.append(given)
        elif given is not None:
            self.given = given

    @property
    def function(self) -> JsonObject:
        return {
            "name": self.name,
            "arguments": self.given if self.given is not None else "".join(self.pieces),
        }


class _Choice:
    """One choice of a chat completion."""

    def __init__(self) -> None:
        self.texts: dict[str, list[str]] = defaultdict(list)
        self.calls: dict[int, _Call] = defaultdict(_Call)
        self.older: _Call | None = None
        self.message: JsonObject = {}
        self.finish: Json = None

    def add(self, part: JsonObject) -> None:
        self.finish = part.get("finish_reason") or self.finish
        self.message = fields.table(part.get("message")) or self.message
        delta = fields.table(part.get("delta"))
        for key, said in (*((key, delta.get(key)) for key in _TEXTS), ("content", part.get("text"))):
            if isinstance(said, str):
                self.texts[key].append(said)
        for place, one in enumerate(fields.tables(delta.get("tool_calls"))):
            index = fields.whole(one.get("index"))
            self.calls[place if index is None else index].add(
                fields.table(one.get("function")), one.get("id")
            )
        if isinstance(delta.get("function_call"), dict):
            self.older = self.older or _Call()
            self.older.add(fields.table(delta["function_call"]))

    def body(self, index: int) -> JsonObject:
        message: JsonObject = {"role": "assistant"}
        message |= {key: "".join(pieces) for key, pieces in self.texts.items()}
        if self.calls:
            if message.get("content") == "":
                message["content"] = None
            message["tool_calls"] = [
                {"id": one.id, "type": "function", "function": one.function}
                for _, one in sorted(self.calls.items())
            ]
        if self.older is not None:
            message["function_call"] = self.older.function
        return {"index": index, "message": message | self.message, "finish_reason": self.finish}


def completion(chunks: Sequence[JsonObject]) -> Body:
    """A chat completion, choice by choice."""
    choices: dict[int, _Choice] = defaultdict(_Choice)
    body: JsonObject = {"object": "chat.completion"}
    for chunk in chunks:
        for key in ("id", "created", "model", "service_tier", "system_fingerprint", "provider"):
            if chunk.get(key) and key not in body:
                body[key] = chunk[key]
        if isinstance(chunk.get("usage"), dict):
            body["usage"] = chunk["usage"]
        for place, part in enumerate(fields.tables(chunk.get("choices"))):
            index = fields.whole(part.get("index"))
            choices[place if index is None else index].add(part)
    body["choices"] = [one.body(index) for index, one in sorted(choices.items())]
    return Body(body, any(one.finish for one in choices.values()))


class _Part:
    """A content block or output item, as it was begun, with the texts that followed."""

    def __init__(self) -> None:
        self.start: JsonObject = {}
        self.done = False
        self.texts: dict[str, list[str]] = defaultdict(list)

    def add(self, key: str, said: Json) -> None:
        if isinstance(said, str) and not self.done:
            self.texts[key].append(said)

    def text(self, key: str) -> str:
        return "".join(self.texts.get(key, ()))


def message(events: Sequence[JsonObject]) -> Body:
    """A message of Anthropic's API."""
    body: JsonObject = {"type": "message", "role": "assistant"}
    counts: JsonObject = {}
    blocks: dict[int, _Part] = defaultdict(_Part)
    whole = False
    for event in events:
        kind, index = event.get("type"), fields.whole(event.get("index")) or 0
        if kind == "message_start":
            body |= fields.table(event.get("message"))
            counts |= fields.table(body.get("usage"))
        elif kind == "content_block_start":
            blocks[index].start = fields.table(event.get("content_block"))
        elif kind == "content_block_delta":
            delta = fields.table(event.get("delta"))
            key = _BLOCK_DELTAS.get(str(delta.get("type")))
            if key is not None:
                blocks[index].add(key, delta.get(key))
        elif kind == "message_delta":
            body |= {key: one for key, one in fields.table(event.get("delta")).items() if one is not None}
            counts |= {key: one for key, one in fields.table(event.get("usage")).items() if one is not None}
            whole = whole or bool(body.get("stop_reason"))
        elif kind == "message_stop":
            whole = True
    if blocks or not isinstance(body.get("content"), list):
        body["content"] = [_block(one) for _, one in sorted(blocks.items())]
    return Body({**body, "usage": counts} if counts else body, whole)


def _block(part: _Part) -> Json:
    found: JsonObject = {"type": "text" if "text" in part.texts else "thinking", **part.start}
    for key in ("text", "thinking"):
        if key in part.texts:
            found[key] = (fields.text(found.get(key)) or "") + part.text(key)
    if "partial_json" in part.texts:
        # Text that does not parse was cut: it stays as it is, and is said to be no object.
        written = part.text("partial_json")
        read = fields.parsed(written) if written else {}
        found["input"] = written if read is None else read
        found["type"] = part.start.get("type", "tool_use")
    return found


def response(events: Sequence[JsonObject]) -> Body:
    """A response of the Responses API: its last event has all of it, else what had come."""
    body: JsonObject = {}
    items: dict[int, _Part] = defaultdict(_Part)
    whole = False
    for event in events:
        kind, index = str(event.get("type")), fields.whole(event.get("output_index")) or 0
        if isinstance(event.get("response"), dict) and not whole:
            body = fields.table(event["response"])
            whole = kind in _ENDS
        elif kind in ("response.output_item.added", "response.output_item.done") and not items[index].done:
            items[index].start = fields.table(event.get("item"))
            items[index].done = kind.endswith("done")
        elif kind.endswith(".delta"):
            items[index].add(kind.removeprefix("response.").removesuffix(".delta"), event.get("delta"))
    if items and not body.get("output"):
        body = {**body, "output": [_item(one) for _, one in sorted(items.items())]}
    return Body({**body, "object": "response"}, whole)


def _item(part: _Part) -> Json:
    """An item that was begun, with the pieces that had come."""
    item = dict(part.start)
    if part.done:
        return item
    said = part.text("output_text") + part.text("refusal")
    if said:
        item = {
            "type": "message",
            "role": "assistant",
            **item,
            "content": [{"type": "output_text", "text": said}],
        }
    given = part.text("function_call_arguments") or part.text("mcp_call_arguments")
    if given:
        item = {"type": "function_call", **item, "arguments": given}
    if raw := part.text("custom_tool_call_input"):
        item = {"type": "custom_tool_call", **item, "input": raw}
    if thought := part.text("reasoning_summary_text") or part.text("reasoning_text"):
        item = {"type": "reasoning", **item, "summary": [{"type": "summary_text", "text": thought}]}
    return item
