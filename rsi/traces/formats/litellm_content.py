"""What was asked and answered in a call that LiteLLM logged, in whatever shape the endpoint has."""

from rsi.traces.formats import fields
from rsi.traces.formats.turns import Turn, said, turns
from rsi.traces.rows import Json, JsonObject

_CUT = "litellm_truncated"
"""Stands where its spend log shortens a text."""
_EMPTY = ("", "None", "null", "{}", "[]")


def asked(payload: JsonObject) -> tuple[Turn, ...]:
    """The messages of the log, else those of the request that the proxy kept."""
    found = _input(payload.get("messages"))
    if not found:
        request = fields.table(fields.parsed(payload.get("proxy_server_request")))
        request = fields.table(request.get("body")) or request
        system = request.get("system", request.get("instructions"))
        found = _input(request.get("messages", request.get("input", request.get("prompt"))))
        if found and system is not None:
            found = (*turns([{"role": "system", "content": system}]), *found)
    return _marked(found)


def answered(response: Json) -> tuple[Turn, ...]:
    """Every choice of the answer; text that happens to be JSON stays text."""
    if isinstance(response, str):
        found = _answer(fields.parsed(response)) if response[:1] in ("{", "[") else ()
        return _marked(found or (() if response in _EMPTY else (said("assistant", response),)))
    return _marked(_answer(response))


def _answer(response: Json) -> tuple[Turn, ...]:
    body = fields.table(response)
    if choices := fields.tables(body.get("choices")):
        found = [one.get("message", one.get("delta")) or {"content": one.get("text")} for one in choices]
        return turns(found, role="assistant")
    if isinstance(body.get("output"), list):
        return turns(fields.listing(body["output"]), role="assistant")
    if "role" in body or ("content" in body and "type" in body):
        return turns([body], role="assistant")
    items = [one for one in fields.tables(response) if "role" in one or "type" in one]
    if items and all("text" in one for one in items):
        items = [{"content": [*items]}]
    return turns(items, role="assistant")


def _input(value: Json) -> tuple[Turn, ...]:
    """Messages, items, or a prompt that is plain text."""
    if isinstance(value, str):
        if value in _EMPTY:
            return ()
        found = _input(fields.parsed(value)) if value[:1] in ("{", "[") else ()
        return found or (said("user", value),)
    if isinstance(value, dict):
        return _input(value.get("messages", value.get("input"))) if "role" not in value else turns([value])
    return turns(fields.listing(value), role="user")


def _marked(found: tuple[Turn, ...]) -> tuple[Turn, ...]:
    return tuple(one._replace(state="cut") if one.content and _CUT in one.content else one for one in found)
