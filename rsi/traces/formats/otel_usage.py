"""Tokens and cost of a call, as the attributes of its span say, in every vocabulary."""

from rsi.traces.formats import fields, otel_keys
from rsi.traces.formats.run import Usage
from rsi.traces.rows import JsonObject

_INPUT = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt", "ai.usage.inputTokens",
          "ai.usage.promptTokens", "llm.usage.prompt_tokens", "ai.usage.tokens")  # fmt: skip
_OUTPUT = ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion",
           "ai.usage.outputTokens", "ai.usage.completionTokens", "llm.usage.completion_tokens")  # fmt: skip
_CACHE_READ = ("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens",
               "llm.token_count.prompt_details.cache_read", "ai.usage.cachedInputTokens",
               "ai.usage.inputTokenDetails.cacheReadTokens", "gen_ai.usage.input_tokens.cached",
               "gen_ai.usage.details.cache_read_tokens")  # fmt: skip
_CACHE_WRITE = ("gen_ai.usage.cache_write.input_tokens", "gen_ai.usage.cache_creation.input_tokens",
                "gen_ai.usage.cache_creation_input_tokens", "llm.token_count.prompt_details.cache_write",
                "ai.usage.inputTokenDetails.cacheWriteTokens", "gen_ai.usage.input_tokens.cache_write",
                "gen_ai.usage.details.cache_write_tokens")  # fmt: skip
_REASONING = ("gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens",
              "llm.token_count.completion_details.reasoning", "ai.usage.reasoningTokens",
              "ai.usage.outputTokenDetails.reasoningTokens", "gen_ai.usage.output_tokens.reasoning",
              "gen_ai.usage.details.reasoning_tokens")  # fmt: skip
_COST = ("llm.cost.total", "gen_ai.usage.cost", "gen_ai.usage.total_cost", "operation.cost")
_MOST = 2**63 - 1
_TABLES = ("langfuse.observation.usage_details", "mlflow.chat.tokenUsage")
_COSTS = ("langfuse.observation.cost_details", "mlflow.llm.cost")
_KEYS = otel_keys.table(_INPUT, _OUTPUT, _CACHE_READ, _CACHE_WRITE, _REASONING, _COST, _COSTS, _TABLES)
_NONE = Usage()


def usage(attributes: JsonObject) -> Usage:
    """Counts and cost; what no attribute says is null."""
    keys = _KEYS(attributes)
    if not any(keys):
        return _NONE
    *counts, cost, costs, tables = keys
    given, answered, read, write, reasoning = (_count(attributes, ones) if ones else None for ones in counts)
    found = Usage(given, answered, read, write, reasoning, _cost(attributes, cost, costs))
    if tables and found.input is None and found.output is None:
        return _table(fields.table(fields.parsed(attributes[tables[0]])), found.cost_usd)
    return found


def _count(attributes: JsonObject, keys: tuple[str, ...]) -> int | None:
    for key in keys:
        if key in attributes:
            value = attributes[key]
            if type(value) is not int:
                value = fields.whole(value)
            if value is not None and 0 <= value <= _MOST:
                return value
    return None


def _cost(attributes: JsonObject, keys: tuple[str, ...], tables: tuple[str, ...]) -> float | None:
    for key in keys:
        if (cost := fields.number(attributes[key])) is not None:
            return cost
    if tables:
        told = fields.table(fields.parsed(attributes[tables[0]]))
        return fields.number(told.get("total", told.get("total_cost")))
    return None


def _table(told: JsonObject, cost: float | None) -> Usage:
    """Counts that are JSON in one attribute."""
    return Usage(
        _count(told, ("input", "input_tokens", "prompt_tokens")),
        _count(told, ("output", "output_tokens", "completion_tokens")),
        _count(told, ("cache_read_input_tokens", "input_cached_tokens", "input_cache_read")),
        _count(told, ("cache_creation_input_tokens", "input_cache_creation")),
        _count(told, ("output_reasoning_tokens", "reasoning_tokens")),
        cost,
    )
