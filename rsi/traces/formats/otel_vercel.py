"""What was said in a call of the Vercel AI SDK (``ai.*`` attributes, of its versions 3 to 7)."""

from rsi.traces.formats import fields
from rsi.traces.formats.otel_flat import drop
from rsi.traces.formats.otel_payload import instructions, told
from rsi.traces.formats.turns import Turn, turns
from rsi.traces.rows import Json, JsonObject

_TEXT = ("ai.response.text", "ai.result.text")
_OBJECT = ("ai.response.object", "ai.result.object")
_CALLS = ("ai.response.toolCalls", "ai.result.toolCalls")
_REASONING = ("ai.response.reasoning", "ai.result.reasoning")


def kind(operation: str) -> str:
    """Kind of a span by its ``ai.operationId``."""
    if operation.endswith((".doGenerate", ".doStream")):
        return "llm"
    if operation.endswith(".doEmbed"):
        return "embedding"
    return "tool" if operation == "ai.toolCall" else "step" if operation.startswith("ai.") else "other"


def messages(attributes: JsonObject) -> tuple[tuple[Turn, ...], tuple[Turn, ...]]:
    """What was asked and answered, taken out of the attributes."""
    return _asked(attributes), _answered(attributes)


def _asked(attributes: JsonObject) -> tuple[Turn, ...]:
    found = told(attributes.get("ai.prompt.messages"), "user")
    if found:
        drop(attributes, ["ai.prompt.messages", "ai.prompt"])
        return found
    whole = attributes.get("ai.prompt")
    inner = fields.parsed(whole)
    if not isinstance(inner, dict):
        found = told(whole, "user")
    else:
        system = instructions(inner.get("system") or inner.get("instructions"))
        prompt = inner.get("prompt")
        rest = turns(prompt, "user") if isinstance(prompt, list) else turns([prompt], "user")
        found = (*system, *rest, *told(inner.get("messages"), "user"))
    if found:
        drop(attributes, ["ai.prompt"])
    return found


def _answered(attributes: JsonObject) -> tuple[Turn, ...]:
    texts = (fields.text(attributes.get(key)) for key in (*_TEXT, *_OBJECT))
    text = next((one for one in texts if one is not None), None)
    calls: Json = next((one for key in _CALLS if (one := fields.parsed(attributes.get(key)))), None)
    thought = fields.first(attributes, *_REASONING)
    if text is None and not calls and thought is None:
        return ()
    message: JsonObject = {"role": "assistant", "content": text, "tool_calls": calls, "reasoning": thought}
    drop(attributes, [*_TEXT, *_OBJECT, *_REASONING, *(_CALLS if fields.tables(calls) else ())])
    return turns([message])
