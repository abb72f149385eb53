"""A span as LiteLLM's exporter for Langfuse makes it: everything in attributes ``langfuse.*``.

Such a span alone names neither its trace nor itself; where it does not, its content names it.
"""

from rsi.ids import digest
from rsi.traces.formats import fields
from rsi.traces.formats.litellm_content import answered, asked
from rsi.traces.formats.run import Run, Step, Usage
from rsi.traces.rows import JsonObject

_OBSERVATION = "langfuse.observation."
_TYPES = {"generation": "llm", "tool": "tool", "agent": "agent", "retriever": "retrieval", "embedding": "embedding",
          "guardrail": "guardrail", "evaluator": "evaluator", "chain": "step", "event": "event"}  # fmt: skip
_USED = ("input", "output", "model.name", "usage_details", "cost_details", "type", "level", "status_message")


def matches(record: JsonObject) -> bool:
    """Attributes of an observation, in a record that is no envelope."""
    attributes = record.get("attributes")
    return (
        isinstance(attributes, dict)
        and f"{_OBSERVATION}type" in attributes
        and "traceId" not in record
        and "spanContext" not in record
    )


def run(record: JsonObject, family: str) -> Run:
    """The span, alone in its trace unless it says which."""
    attributes = fields.table(record.get("attributes"))
    trace_id = fields.first(record, "trace_id")
    step = _step(record, attributes)
    return Run(
        native=trace_id or digest(record)[:32],
        family=family,
        steps=(step,),
        conversation=fields.first(attributes, "session.id", "langfuse.session.id"),
        user=fields.first(attributes, "user.id", "langfuse.user.id"),
        release=fields.first(attributes, "langfuse.release"),
        environment=fields.first(attributes, "langfuse.environment"),
        error=step.error,
        metadata={
            key: value
            for key, value in attributes.items()
            if key.startswith(("langfuse.trace.", "langfuse.version"))
        },
    )


def _step(record: JsonObject, attributes: JsonObject) -> Step:
    told = {
        key.removeprefix(_OBSERVATION): value
        for key, value in attributes.items()
        if key.startswith(_OBSERVATION)
    }
    usage, cost = (
        fields.table(fields.parsed(told.get("usage_details"))),
        fields.table(fields.parsed(told.get("cost_details"))),
    )
    start, state = fields.moment(record.get("start_time"))
    failed = told.get("level") == "ERROR"
    given: JsonObject = {"messages": told.get("input")}
    return Step(
        native_id=fields.first(record, "span_id", "id") or "span",
        kind=_TYPES.get(str(told.get("type")), "other"),
        name=fields.named(record.get("name")) or "",
        parent_id=fields.named(record.get("parent_span_id")),
        start_ns=start,
        end_ns=fields.moment(record.get("end_time"))[0],
        time_state=state,
        status="error" if failed else "unset",
        error=(fields.named(told.get("status_message")) or "ERROR") if failed else None,
        model=fields.named(told.get("model.name")),
        usage=Usage(
            fields.whole(usage.get("input")),
            fields.whole(usage.get("output")),
            fields.whole(usage.get("cache_read_input_tokens")),
            fields.whole(usage.get("cache_creation_input_tokens")),
            cost_usd=fields.number(cost.get("total")),
        ),
        asked=asked(given),
        answered=answered(told.get("output")),
        attributes={key: value for key, value in told.items() if key not in _USED},
    )
