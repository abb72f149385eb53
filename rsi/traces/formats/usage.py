"""Token counts and cost of a call, in the spellings of model APIs."""

from rsi.traces.formats import fields
from rsi.traces.formats.run import Usage
from rsi.traces.rows import Json, JsonObject

_INPUT = ("prompt_tokens", "input_tokens", "promptTokens", "inputTokens", "prompt_eval_count")
_OUTPUT = ("completion_tokens", "output_tokens", "completionTokens", "outputTokens", "eval_count")
_INPUT_DETAILS = ("prompt_tokens_details", "input_tokens_details", "input_token_details")
_OUTPUT_DETAILS = ("completion_tokens_details", "output_tokens_details", "output_token_details")
_APART = ("cache_read_input_tokens", "cache_creation_input_tokens")
"""Anthropic counts cached tokens beside `input_tokens`; everybody else, in them."""


def usage(said: Json) -> Usage:
    """Counts of OpenAI (chat and responses), Anthropic, Ollama and their imitators."""
    told = fields.table(said)
    if not told:
        return Usage()
    given, answered = _details(told, _INPUT_DETAILS), _details(told, _OUTPUT_DETAILS)
    read = _first(told, "cache_read_input_tokens", "prompt_cache_hit_tokens", "cached_tokens")
    write = _first(told, "cache_creation_input_tokens", "cache_write_tokens")
    return Usage(
        input=_input(told),
        output=_first(told, *_OUTPUT),
        cache_read=read if read is not None else _first(given, "cached_tokens", "cache_read"),
        cache_write=write if write is not None else _first(given, "cache_write_tokens", "cache_creation"),
        reasoning=_first(answered, "reasoning_tokens", "thinking_tokens", "reasoning"),
        cost_usd=fields.number(told.get("cost")),
    )


def _input(told: JsonObject) -> int | None:
    count = _first(told, *_INPUT)
    if count is None or "prompt_tokens" in told:
        return count
    return count + sum(max(fields.whole(told.get(key)) or 0, 0) for key in _APART)


def _details(told: JsonObject, keys: tuple[str, ...]) -> JsonObject:
    return next((found for key in keys if (found := fields.table(told.get(key)))), {})


def _first(told: JsonObject, *keys: str) -> int | None:
    """The first count that is one; a negative number counts nothing."""
    found = (fields.whole(told.get(key)) for key in keys)
    return next((one for one in found if one is not None and one >= 0), None)
