"""Exports of the OpenAI Agents SDK: traces and spans, one by one or in batches (``{"data": […]}``).

- ``{"object": "trace", "id": …, "workflow_name": …, "group_id": …}``;
- ``{"object": "trace.span", "id": …, "trace_id": …, "span_data": {"type": …}}``.

What the model was given and answered stands in spans of the type `generation`; those of the type `response` name the
response of the API and seldom hold it.
"""

from rsi.traces.formats import fields
from rsi.traces.formats.openai_responses import items
from rsi.traces.formats.pairing import paired
from rsi.traces.formats.run import Run, Step, ToolUse, rows
from rsi.traces.formats.turns import Turn, said, tool_call, turns
from rsi.traces.formats.usage import usage
from rsi.traces.rows import Json, JsonObject, Place, Reason, Refusal, Rows

NAME = "openai_agents"
_TRACE, _SPAN = "trace", "trace.span"
_KINDS = {
    "agent": "agent", "generation": "llm", "response": "llm", "function": "tool", "guardrail": "guardrail",
    "handoff": "step", "custom": "step", "task": "step", "turn": "step", "mcp_tools": "step",
}  # fmt: skip
_CONTENT = ("type", "name", "input", "output", "response", "usage", "model", "response_id")


def matches(record: JsonObject) -> bool:
    """A trace or span of the SDK, or a batch of them."""
    batch = record.get("data")
    first = batch[0] if isinstance(batch, list) and batch else record
    if not isinstance(first, dict):
        return False
    is_trace = first.get("object") == _TRACE and ("workflow_name" in first or "group_id" in first)
    return is_trace or (first.get("object") == _SPAN and isinstance(first.get("span_data"), dict))


def read(record: JsonObject, place: Place) -> tuple[Rows | Refusal, ...]:
    """The parts of each trace that the record tells of."""
    found: dict[str, list[JsonObject]] = {}
    refusals = []
    batch = record.get("data")
    for one in batch if isinstance(batch, list) else [record]:
        told = fields.table(one)
        kind = told.get("object")
        native = fields.first(told, "id" if kind == _TRACE else "trace_id", "trace_id")
        own = fields.first(told, "id", "span_id")
        if kind not in (_TRACE, _SPAN) or native is None or own is None:
            detail = "expected a trace or a span with its id and that of its trace"
            refusals.append(Refusal(Reason.MISSING_FIELD, detail, _text(one)))
        else:
            found.setdefault(native, []).append(told)
    several = len(found) > 1
    parts = [
        rows(_run(native, told), NAME, place, _text({"data": list(told)}) if several else None)
        for native, told in found.items()
    ]
    return (*parts, *refusals)


def _text(value: Json) -> bytes:
    return (fields.written(value) or "null").encode()


def _run(native: str, told: list[JsonObject]) -> Run:
    trace = next((one for one in told if one["object"] == _TRACE), {})
    steps = [_step(one) for one in told if one["object"] == _SPAN]
    metadata = dict(fields.table(trace.get("metadata")))
    if name := fields.named(trace.get("workflow_name")):
        metadata["workflow_name"] = name
    agents = [one for one in steps if one.kind == "agent"]
    known = {one.native_id for one in steps}
    root = next((one for one in steps if one.parent_id is None), None)
    return Run(
        native=native,
        family=NAME,
        steps=paired(steps),
        conversation=fields.named(trace.get("group_id")),
        user=fields.first(metadata, "user_id", "user"),
        agent=next(
            (one.name for one in agents if one.parent_id not in known), agents[0].name if agents else None
        ),
        error=root.error if root is not None else None,
        metadata=metadata or None,
    )


def _step(span: JsonObject) -> Step:
    data = fields.table(span.get("span_data"))
    type_ = fields.named(data.get("type")) or "custom"
    inner = fields.table(data.get("data"))
    kind = _KINDS.get(fields.named(inner.get("sdk_span_type")) or type_, "other")
    response = fields.table(data.get("response"))
    start, state = fields.moment(span.get("started_at"))
    end, end_state = fields.moment(span.get("ended_at"))
    problem = span.get("error")
    error = fields.named(problem) or fields.first(fields.table(problem), "message")
    step = Step(
        native_id=fields.first(span, "id", "span_id") or "",
        kind=kind,
        name=fields.first(data, "name", "to_agent") or type_,
        parent_id=fields.named(span.get("parent_id")),
        start_ns=start,
        end_ns=end,
        time_state=state if start is not None else end_state,
        status="error" if error else "ok" if end is not None else "unset",
        error=error,
        attributes={key: value for key, value in data.items() if key not in _CONTENT and value is not None},
    )
    if kind == "llm":
        return step._replace(
            name=type_,
            provider="openai" if type_ == "response" else None,
            model=fields.first(data, "model") or fields.first(response, "model"),
            response_id=fields.first(data, "response_id") or fields.first(response, "id"),
            usage=usage(data.get("usage") or response.get("usage")),
            asked=_heard(data.get("input"), response.get("instructions")),
            answered=items(fields.listing(response.get("output"))) or _answered(data.get("output")),
        )
    if kind == "tool":
        result = fields.text(data.get("output"))
        call = tool_call(None, fields.named(data.get("name")) or "tool", data.get("input"))
        return step._replace(tool=ToolUse(call, result, error is not None))
    return step


def _heard(given: Json, instructions: Json) -> tuple[Turn, ...]:
    system = (said("system", instructions),) if isinstance(instructions, str) and instructions else ()
    asked = (said("user", given),) if isinstance(given, str) else items(fields.listing(given))
    return system + asked


def _answered(output: Json) -> tuple[Turn, ...]:
    if isinstance(output, str):
        return (said("assistant", output),)
    return turns(fields.listing(output), "assistant")
