"""Token counts and cost of Langfuse's observations, in the names of its versions and of the libraries it takes in."""

from rsi.traces.formats import fields
from rsi.traces.formats.run import Usage
from rsi.traces.formats.sides import opened
from rsi.traces.rows import JsonObject

_READ = ("input_cached_tokens", "cache_read_input_tokens", "input_cache_read", "prompt_details.cache_read",
         "input_cached", "cached_tokens", "cache_read", "input_cache_read_input_tokens")  # fmt: skip
_WRITE = ("cache_creation_input_tokens", "input_cache_creation", "input_cache_write", "prompt_details.cache_write",
          "cache_write", "input_cache_creation_input_tokens")  # fmt: skip
_REASONING = ("output_reasoning_tokens", "completion_details.reasoning", "output_reasoning", "reasoning",
              "reasoning_tokens", "thoughts_token_count")  # fmt: skip
_INPUT = ("input", "input_tokens", "prompt_tokens", "promptTokens", "prompt_token_count")
_OUTPUT = ("output", "output_tokens", "completion_tokens", "completionTokens", "candidates_token_count")


def usage(row: JsonObject, kind: str) -> Usage:
    """Counts and cost of one observation; zeros that stand for nothing are null."""
    told = _table(row, "usageDetails", "usage", "providedUsageDetails")
    costs = _table(row, "costDetails", "providedCostDetails")
    cost = fields.number(costs.get("total")) if costs else None
    if cost is None:
        cost = next(
            (found for key in ("totalCost", "calculatedTotalCost") if (found := _cost(row, key)) is not None),
            None,
        )
    if not told:
        return Usage(
            _some(row, "inputUsage", "promptTokens"),
            _some(row, "outputUsage", "completionTokens"),
            cost_usd=cost,
        )
    read, write, reasoning = (_first(told, keys) for keys in (_READ, _WRITE, _REASONING))
    given, answered, total = (
        _first(told, _INPUT),
        _first(told, _OUTPUT),
        _first(told, ("total", "totalTokens")),
    )
    if given is not None:
        given += _apart(told, given, answered, total, "input", (read or 0) + (write or 0))
    if answered is not None:
        answered += _apart(told, answered, _first(told, _INPUT), total, "output", reasoning or 0)
    if kind != "llm" and not given and not answered:
        return Usage(cost_usd=cost or None)
    return Usage(given, answered, read, write, reasoning, cost)


def _apart(told: JsonObject, count: int, other: int | None, total: int | None, side: str, parts: int) -> int:
    """What is counted beside the side's own count: details named after it, unless the total has them in it."""
    if total is not None and total == count + (other or 0):
        return 0
    named = sum(
        fields.whole(value) or 0
        for key, value in told.items()
        if key.startswith(f"{side}_") and key != f"{side}_tokens"
    )
    if named:
        return max(named, 0)
    return parts if total is not None and side == "input" and total == count + (other or 0) + parts else 0


def _table(row: JsonObject, *keys: str) -> JsonObject:
    for key in keys:
        found = opened(row.get(key))
        if isinstance(found, dict) and any(fields.number(one) is not None for one in found.values()):
            return found
    return {}


def _first(told: JsonObject, keys: tuple[str, ...]) -> int | None:
    found = (fields.whole(told.get(key)) for key in keys)
    return next((one for one in found if one is not None and one >= 0), None)


def _some(row: JsonObject, *keys: str) -> int | None:
    return next(
        (found for key in keys if (found := fields.whole(row.get(key))) is not None and found > 0), None
    )


def _cost(row: JsonObject, key: str) -> float | None:
    return fields.number(row.get(key)) or None
