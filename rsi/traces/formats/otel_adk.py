"""What was said in a model call of Google's ADK: requests and responses of Gemini as JSON text.

``{}`` stands where content is off.
"""

from typing import NamedTuple

from rsi.traces.formats import fields
from rsi.traces.formats.otel_flat import drop
from rsi.traces.formats.otel_payload import instructions, told
from rsi.traces.formats.run import Usage
from rsi.traces.formats.turns import Turn, turns
from rsi.traces.rows import JsonObject

_REQUEST, _RESPONSE = "gcp.vertex.agent.llm_request", "gcp.vertex.agent.llm_response"


class Exchange(NamedTuple):
    """A request and its response."""

    asked: tuple[Turn, ...]
    answered: tuple[Turn, ...]
    finish: str | None
    usage: Usage


def exchange(attributes: JsonObject) -> Exchange:
    """What was asked and answered, taken out of the attributes, and what the response says of itself."""
    request, response = attributes.get(_REQUEST), attributes.get(_RESPONSE)
    given, got = fields.parsed(request), fields.parsed(response)
    asked = _asked(given) if isinstance(given, dict) else told(request, "user")
    if isinstance(got, dict):
        answered = turns([got["content"]], "assistant") if isinstance(got.get("content"), dict) else ()
    else:
        answered = told(response, "assistant")
    if asked:
        drop(attributes, [_REQUEST])
    if answered:
        drop(attributes, [_RESPONSE])
    said = fields.table(got)
    finish = fields.named(said.get("finish_reason") or said.get("finishReason"))
    return Exchange(
        asked, answered, finish, _usage(fields.table(said.get("usage_metadata", said.get("usageMetadata"))))
    )


def _asked(request: JsonObject) -> tuple[Turn, ...]:
    config = fields.table(request.get("config"))
    system = instructions(config.get("system_instruction") or config.get("systemInstruction"))
    return (*system, *turns(fields.listing(request.get("contents")), "user"))


def _usage(told_: JsonObject) -> Usage:
    def count(snake: str, camel: str) -> int | None:
        return fields.whole(told_.get(snake, told_.get(camel)))

    return Usage(
        input=count("prompt_token_count", "promptTokenCount"),
        output=count("candidates_token_count", "candidatesTokenCount"),
        cache_read=count("cached_content_token_count", "cachedContentTokenCount"),
        reasoning=count("thoughts_token_count", "thoughtsTokenCount"),
    )
