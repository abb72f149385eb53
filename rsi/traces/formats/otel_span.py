"""One OpenTelemetry span as a step of a run, whatever carried it and whichever library recorded it.

Kinds, models, usage and the rest are read in the vocabularies of the GenAI conventions (current and older),
OpenLLMetry, OpenInference, the Vercel AI SDK, Google's ADK, Langfuse and MLflow. A span without any of them is
of kind other.
"""

from collections.abc import Sequence
from typing import NamedTuple

from rsi.traces.formats import fields, otel_keys, otel_tool, otel_vercel
from rsi.traces.formats.otel_usage import usage
from rsi.traces.formats.otlp_content import NOTHING, Event, content, is_content
from rsi.traces.formats.run import Step, Usage
from rsi.traces.rows import Json, JsonObject

EVALUATION = "gen_ai.evaluation.result"
_OPERATIONS = {
    "chat": "llm", "generate_content": "llm", "text_completion": "llm", "embeddings": "embedding",
    "retrieval": "retrieval", "execute_tool": "tool", "invoke_agent": "agent", "create_agent": "agent",
    "invoke_workflow": "step", "plan": "step", "search_memory": "retrieval",
}  # fmt: skip
_BY_NAME = {
    "invoke_agent",
    "execute_tool",
    "generate_content",
    "text_completion",
    "create_agent",
    "invoke_workflow",
}
"""Operations that name a span nobody else would name so."""
_KIND_KEYS = ("openinference.span.kind", "traceloop.span.kind", "langfuse.observation.type", "mlflow.spanType",
              "langsmith.span.kind", "llm.request.type")  # fmt: skip
_KINDS = {
    "llm": "llm", "chat_model": "llm", "generation": "llm", "completion": "llm", "chat": "llm", "rerank": "retrieval",
    "embedding": "embedding", "embeddings": "embedding", "retriever": "retrieval", "reranker": "retrieval",
    "tool": "tool", "agent": "agent", "guardrail": "guardrail", "evaluator": "evaluator", "chain": "step",
    "prompt": "step", "decision": "step", "workflow": "step", "task": "step", "span": "step", "event": "event",
    "parser": "step",
}  # fmt: skip
MODELS = ("gen_ai.response.model", "gen_ai.request.model", "llm.response.model_name", "llm.model_name",
          "llm.request.model_name", "ai.response.model", "ai.model.id", "langfuse.observation.model.name",
          "embedding.model_name", "llm.response.model", "llm.request.model")  # fmt: skip
_PROVIDERS = ("gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system", "ai.model.provider")
_RESPONSES = ("gen_ai.response.id", "ai.response.id", "llm.response.id")
_FINISHES = ("gen_ai.response.finish_reasons", "gen_ai.response.finish_reason", "ai.response.finishReason",
             "ai.finishReason", "llm.finish_reason", "llm.response.finish_reason")  # fmt: skip
_KEYS = otel_keys.table(MODELS, _PROVIDERS, _RESPONSES, _FINISHES)
_TALKS = {"llm", "agent", "step"}
"""Kinds whose messages are the run's conversation."""
_NO_USAGE = Usage()


class Told(NamedTuple):
    """A span as its carrier tells it. The attributes are its own: what becomes turns is taken out of them."""

    span_id: str
    parent_id: str | None
    name: str
    attributes: JsonObject
    start_ns: int | None
    end_ns: int | None
    time_state: str
    status: str = "unset"
    """ok, error or unset."""
    message: str | None = None
    """What the status says."""
    events: Sequence[Event] = ()
    links: Sequence[Json] = ()
    scope: str | None = None
    """Name of the library that recorded it."""
    resource: JsonObject | None = None
    """Attributes of what sent it; shared between spans."""


def step(told: Told) -> Step:
    """A span as a step."""
    attributes = told.attributes
    kind = kind_of(told.name, attributes)
    status, error = _status(told)
    said, tool, counted = NOTHING, None, _NO_USAGE
    model = provider = response = finish = None
    if kind != "other":
        models, providers, responses, finishes = _KEYS(attributes)
        model = fields.first(attributes, *models) if models else None
        provider = fields.first(attributes, *providers) if providers else None
        response = fields.first(attributes, *responses) if responses else None
        finish = _finish(attributes, finishes) if finishes else None
        counted = usage(attributes)
    if kind in _TALKS:
        said = content(attributes, told.events, kind == "llm")
        if said.usage is not None and counted.input is None and counted.output is None:
            counted = said.usage
    elif kind == "tool":
        tool = otel_tool.use(told.name, attributes, told.events, status == "error")
    if told.events or told.links:
        _keep(told, kind)
    return Step(
        told.span_id,
        kind,
        told.name,
        told.parent_id,
        told.start_ns,
        told.end_ns,
        told.time_state,
        status,
        error,
        told.scope,
        provider,
        model,
        response,
        finish or said.finish,
        counted,
        said.asked,
        said.answered,
        tool,
        attributes,
        told.end_ns if kind in ("agent", "step") else None,
    )


def kind_of(name: str, attributes: JsonObject) -> str:
    """What a span does: by its operation, else by the kind some library wrote, else by what it has."""
    operation = attributes.get("gen_ai.operation.name")
    if isinstance(operation, str) and operation in _OPERATIONS:
        return _OPERATIONS[operation]
    for key in _KIND_KEYS:
        said = attributes.get(key)
        if isinstance(said, str) and (kind := _KINDS.get(said.lower())):
            return kind
    said = attributes.get("ai.operationId")
    if isinstance(said, str):
        return otel_vercel.kind(said)
    if operation is not None:
        return "other"
    if "gen_ai.tool.name" in attributes:
        return "tool"
    if any(key in attributes for key in MODELS):
        return "llm"
    first = name.partition(" ")[0]
    return _OPERATIONS[first] if first in _BY_NAME else "other"


def moment(value: Json) -> tuple[int | None, str]:
    """Nanoseconds UTC: text or number, ``[seconds, nanos]``, the halves of a 64-bit number, or ISO 8601."""
    if (
        isinstance(value, str)
        and len(value) == 19
        and value.isascii()
        and value.isdigit()
        and value < "9223372036854775808"
    ):
        return int(value), "exact"
    if isinstance(value, list) and len(value) == 2:
        seconds, nanos = fields.whole(value[0]), fields.whole(value[1])
        if seconds is None or nanos is None:
            return None, "invalid"
        return fields.moment(seconds * 10**9 + nanos)
    if isinstance(value, dict) and "low" in value and "high" in value:
        low, high = fields.whole(value["low"]), fields.whole(value["high"])
        if low is None or high is None:
            return None, "invalid"
        return fields.moment((high << 32) + (low & 0xFFFFFFFF))
    return fields.moment(value)


def times(start: Json, end: Json) -> tuple[int | None, int | None, str]:
    """Start, end and how sure they are; an end before the start is none."""
    start_ns, state = moment(start)
    end_ns = moment(end)[0]
    if start_ns is not None and end_ns is not None and end_ns < start_ns:
        end_ns = None
    return start_ns, end_ns, state


def _status(told: Told) -> tuple[str, str | None]:
    error_type = told.attributes.get("error.type")
    if told.status != "error" and error_type is None:
        return told.status, None
    if told.message:
        return "error", told.message
    for event in told.events:
        if event.name == "exception":
            names = ("exception.message", "exception.type")
            found = fields.first(event.attributes, *names)
            if found:
                return "error", found
    return "error", fields.named(error_type) or "error without a message"


def _finish(attributes: JsonObject, keys: tuple[str, ...]) -> str | None:
    for key in keys:
        value = attributes[key]
        if isinstance(value, str) and value.startswith("["):
            value = fields.parsed(value)
        if isinstance(value, list):
            value = value[0] if value else None
        if found := fields.named(value):
            return found
    return None


def _keep(told: Told, kind: str) -> None:
    """Events and links that became nothing else stay with the attributes."""
    said = kind in _TALKS or kind == "tool"
    events: list[Json] = [
        {"name": one.name, "ts_ns": one.ts_ns, "attributes": one.attributes}
        for one in told.events
        if one.name != EVALUATION and not (said and is_content(one))
    ]
    if events:
        told.attributes["span.events"] = events
    if told.links:
        told.attributes["span.links"] = [*told.links]
