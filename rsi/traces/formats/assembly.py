"""Streamed answers put together again: the events of a stream become the body that an unstreamed call would have had.

Read are the chunks of chat completions, the events of the Responses API and those of Anthropic's Messages API. A
stream that ends early gives what had come, and says so. `unstreamed` does it inside a record, so that whoever looks
for secrets in it sees whole words and not their pieces.
"""

import re
from collections.abc import Sequence

from rsi.ids import digest
from rsi.traces.formats import fields
from rsi.traces.formats.pages import HOLDERS, LISTS
from rsi.traces.formats.stream_bodies import Body, completion, message, response
from rsi.traces.rows import Json, JsonObject

_CHUNKS = ("chat.completion.chunk", "text_completion.chunk")
_MESSAGE = ("message_start", "message_delta", "message_stop", "content_block_start", "content_block_delta",
            "content_block_stop", "ping")  # fmt: skip
_SSE = ("data:", "event:", "id:", ":", "retry:")
_PLACES = ("chunks", "events", "response", "response_body", "responseBody", "body", "content", "string", "text", "log",
           "interactions", "http_interactions", *LISTS, *HOLDERS)  # fmt: skip
"""Keys under which records keep streams, or what holds them."""
_SAID = ("content", "text", "thinking", "partial_json", "reasoning_content", "reasoning", "refusal", "tool_calls",
         "function_call")  # fmt: skip
_LINE = re.compile(r"\r\n|\n|\r")
"""The only line ends of server-sent events: a JSON string may hold others."""


def is_chunk(event: JsonObject) -> bool:
    """A chunk of a chat completion."""
    return event.get("object") in _CHUNKS and isinstance(event.get("choices"), list)


def is_event(event: JsonObject) -> bool:
    """An event of the Responses or of the Messages API."""
    kind = event.get("type")
    return isinstance(kind, str) and (kind.startswith("response.") or kind in _MESSAGE)


def sse(text: str) -> list[JsonObject]:
    """The JSON objects of a body of server-sent events, or of one object a line; `[DONE]` is none."""
    found: list[JsonObject] = []
    data: list[str] = []
    for line in (*_LINE.split(text), ""):
        if line.startswith("data:"):
            data.append(line[5:].strip())
        elif line.startswith("{"):
            found.extend(_objects([*data, line]))
            data = []
        elif not line.strip():
            found.extend(_objects(data))
            data = []
    return found


def assembled(events: Sequence[JsonObject]) -> Body | None:
    """The body that a stream was of; null where no event is of a stream that is known."""
    kinds = {str(one["type"]) for one in events if isinstance(one.get("type"), str)}
    problem = next(
        (one["error"] for one in events if isinstance(one.get("error"), dict | str) and one["error"]), None
    )
    if any(kind.startswith("response.") for kind in kinds):
        found = response(events)
    elif kinds & set(_MESSAGE[:-1]):
        found = message(events)
    elif chunks := [one for one in events if isinstance(one.get("choices"), list)]:
        found = completion(chunks)
    elif problem is None:
        return None
    else:
        found = Body({}, False)
    if problem is not None:
        found = found._replace(body={"error": problem, **found.body})
    began = next((one for event in events if (one := _said(event))), None)
    return found._replace(began=digest(began)[:16])


def stream(value: Json) -> Body | None:
    """A body out of the text of events, a list of events, or what `unstreamed` made of either; else null."""
    if isinstance(value, dict) and isinstance(value.get("assembled"), dict):
        return Body(
            fields.table(value["assembled"]),
            value.get("whole") is True,
            fields.text(value.get("began")) or "",
        )
    if isinstance(value, str):
        return assembled(sse(value)) if value.startswith(_SSE) else None
    events = fields.tables(value)
    return assembled(events) if events and (is_chunk(events[0]) or is_event(events[0])) else None


def unstreamed(value: JsonObject) -> JsonObject:
    """A record with its streams put together, where records keep them: as lists of chunks and in response bodies."""
    changed = {key: _put_together(value[key], 4) for key in _PLACES if key in value}
    return {**value, **changed} if any(value[key] is not one for key, one in changed.items()) else value


def _put_together(value: Json, depth: int) -> Json:
    if (found := stream(value)) is not None:
        return {"assembled": found.body, "whole": found.whole, "began": found.began}
    if isinstance(value, dict) and depth:
        changed = {key: _put_together(value[key], depth - 1) for key in _PLACES if key in value}
        return {**value, **changed} if any(value[key] is not one for key, one in changed.items()) else value
    if isinstance(value, list) and depth and value and isinstance(value[0], dict):
        listed = [_put_together(one, depth - 1) for one in value]
        return listed if any(one is not old for one, old in zip(listed, value, strict=True)) else value
    return value


def _said(event: JsonObject) -> Json:
    """The first thing that an event adds to an answer, if it does."""
    choice = next(iter(fields.tables(event.get("choices"))), {})
    given = event.get("delta")
    delta = fields.table(choice.get("delta", given))
    block = fields.table(event.get("content_block"))
    added = [
        given if isinstance(given, str) else None,
        *(delta.get(key) for key in _SAID),
        choice.get("text"),
        block.get("id"),
    ]
    return next((one for one in added if one), None)


def _objects(data: list[str]) -> list[JsonObject]:
    """One event of several lines, or several where the empty line between them is missing."""
    whole = fields.parsed("\n".join(data)) if data else None
    if isinstance(whole, dict):
        return [whole]
    return [one for line in data if isinstance(one := fields.parsed(line), dict)] if len(data) > 1 else []
