"""Langfuse's observations as steps: what kind they are, what was said in them, what they cost.

Whether an observation is a conversation is decided as Langfuse decides it: one side at least holds messages. What
a model was asked and answered as plain text is no message of its call but of the trace. State that chains pass on
(messages as LangChain dumps its objects) is told by the calls below them.
"""

from typing import NamedTuple

from rsi.traces.formats import fields, otel_vercel, otlp_content
from rsi.traces.formats.answers import Envelope
from rsi.traces.formats.langfuse_rows import attributes, beside, metadata, present, scope
from rsi.traces.formats.langfuse_usage import usage
from rsi.traces.formats.run import Step, ToolUse
from rsi.traces.formats.sides import Side, answered, asked, dumped, opened, outcome, structured
from rsi.traces.formats.turns import Turn, tool_call, turns
from rsi.traces.rows import Json, JsonObject

KINDS = {
    "GENERATION": "llm", "TOOL": "tool", "AGENT": "agent", "RETRIEVER": "retrieval", "EMBEDDING": "embedding",
    "EVALUATOR": "evaluator", "GUARDRAIL": "guardrail", "EVENT": "event", "SPAN": "step", "CHAIN": "step",
}  # fmt: skip
_FINER = {
    "execute_tool": "tool", "tool": "tool", "invoke_agent": "agent", "create_agent": "agent", "agent": "agent",
    "retriever": "retrieval", "retrieval": "retrieval", "embedding": "embedding", "embeddings": "embedding",
    "guardrail": "guardrail", "evaluator": "evaluator",
}  # fmt: skip
_KIND_KEYS = (
    "gen_ai.operation.name",
    "openinference.span.kind",
    "traceloop.span.kind",
    "langsmith.span.kind",
)
_AGENTS = ("gen_ai.agent.name", "agent_name", "agent.name")
_TOOLS = ("gen_ai.tool.name", "ai.toolCall.name", "tool.name", "tool_call.function.name")
_CALL_IDS = ("gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id", "tool.call.id", "tool_call_id")
_ARGUMENTS = ("gen_ai.tool.call.arguments", "ai.toolCall.args", "tool_arguments", "input.value")
_RESULTS = ("gen_ai.tool.call.result", "ai.toolCall.result", "tool_response", "output.value")
_PREFIXES = ("running tool: ", "execute_tool ", "tool: ")
_PROVIDERS = ("gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system", "ai.model.provider")
_KEPT = ("modelParameters", "version", "promptName", "promptVersion", "promptId", "completionStartTime",
         "toolDefinitions", "costDetails", "usageDetails")  # fmt: skip


class Observed(NamedTuple):
    """An observation as a step."""

    step: Step
    text: tuple[Turn, ...] = ()
    """What was asked and answered as plain text, where the step is no conversation."""
    agent: str | None = None
    attributes: JsonObject | None = None


def observed(row: JsonObject, native_id: str, with_state: bool = False) -> Observed:
    """One observation, its names in camel case; `with_state`: dumps of a chain's state are read as well."""
    told = metadata(row)
    extra = attributes(told)
    kind = _kind(row, extra)
    heard = _heard(row, kind, extra, with_state)
    start, state = fields.moment(row.get("startTime"))
    end, _ = fields.moment(row.get("endTime"))
    failed = row.get("level") == "ERROR"
    message = fields.named(row.get("statusMessage"))
    finish = opened(extra.get("gen_ai.response.finish_reasons"))
    step = Step(
        native_id=native_id,
        kind=kind,
        name=fields.named(row.get("name")) or "",
        parent_id=fields.first(row, "parentObservationId"),
        start_ns=start,
        end_ns=end,
        time_state=state,
        status="error" if failed else "ok" if end is not None else "unset",
        error=(message or "error") if failed else None,
        instrumentation=scope(told),
        provider=fields.first(extra, *_PROVIDERS) or fields.first(told, "ls_provider"),
        model=fields.first(row, "model", "providedModelName")
        or fields.first(extra, "gen_ai.response.model", "gen_ai.request.model")
        or (heard.envelope.model if kind == "llm" else None),
        response_id=fields.first(extra, "gen_ai.response.id") or heard.envelope.response_id,
        finish_reason=fields.named(next(iter(finish), None) if isinstance(finish, list) else finish)
        or fields.first(extra, "ai.response.finishReason")
        or heard.envelope.finish_reason,
        usage=usage(row, kind),
        asked=heard.asked,
        answered=heard.answered,
        tool=_tool(row, extra) if kind == "tool" else None,
        attributes=_beside(row, told, kind, heard, None if failed else message),
    )
    return Observed(step, heard.text, _agent(row, kind, extra), extra)


class _Heard(NamedTuple):
    asked: tuple[Turn, ...] = ()
    answered: tuple[Turn, ...] = ()
    text: tuple[Turn, ...] = ()
    envelope: Envelope = Envelope()


def _heard(row: JsonObject, kind: str, extra: JsonObject, with_state: bool) -> _Heard:
    """What was said in an observation that is no tool's."""
    if kind not in ("llm", "step", "agent", "other"):
        return _Heard()
    given, got = row.get("input"), row.get("output")
    if kind == "llm" and given in (None, "") and got in (None, "") and extra:
        found = otlp_content.content(dict(extra), (), True)
        return _Heard(found.asked, found.answered)
    into, out = asked(given), answered(got)
    if kind != "llm" and str(row.get("type")).upper() != "GENERATION":
        return _Heard(_messages(into, given, with_state), _messages(out, got, with_state))
    back = out.turns or structured(got) or _listed_calls(row)
    if into.is_chat or out.is_chat or (back and not out.turns):
        return _Heard(into.turns, back, envelope=out.envelope)
    return _Heard(text=(*into.turns, *back) if kind == "llm" else (), envelope=out.envelope)


def _messages(side: Side, value: Json, with_state: bool) -> tuple[Turn, ...]:
    """What a chain or an agent passes on, where it is messages and no dump of state."""
    return side.turns if side.is_chat and (with_state or not dumped(value)) else ()


def _listed_calls(row: JsonObject) -> tuple[Turn, ...]:
    """Calls that Langfuse lists beside the output."""
    listed, names = (
        fields.listing(opened(row.get("toolCalls"))),
        fields.listing(opened(row.get("toolCallNames"))),
    )
    calls: list[Json] = []
    for index, one in enumerate(listed):
        call = opened(one)
        if isinstance(call, dict):
            calls.append({"name": names[index] if index < len(names) else None, **call})
    return turns([{"role": "assistant", "tool_calls": calls}]) if calls else ()


def _kind(row: JsonObject, extra: JsonObject) -> str:
    kind = KINDS.get(str(row.get("type")).upper(), "other")
    operation = fields.first(extra, "ai.operationId", "operation.name")
    if operation is not None and operation.startswith("ai."):
        vercel = otel_vercel.kind(operation.split(" ")[0])
        return vercel if kind in ("llm", "step") and vercel != "other" else kind
    if kind != "step":
        return kind
    for key in _KIND_KEYS:
        finer = _FINER.get(str(extra.get(key)).lower())
        if finer is not None:
            return finer
    output = opened(row.get("output"))
    inner = fields.table(output.get("kwargs")) if isinstance(output, dict) and "lc" in output else {}
    if isinstance(inner.get("tool_call_id"), str):
        return "tool"
    return "agent" if fields.first(extra, *_AGENTS) and not fields.first(extra, *_TOOLS) else "step"


def _agent(row: JsonObject, kind: str, extra: JsonObject) -> str | None:
    return fields.first(extra, *_AGENTS) or (fields.named(row.get("name")) if kind == "agent" else None)


def _tool(row: JsonObject, extra: JsonObject) -> ToolUse:
    """The call that a tool's observation ran, and its result."""
    name = fields.first(extra, *_TOOLS) or fields.named(row.get("name")) or "unnamed"
    name = next((name.removeprefix(one) for one in _PREFIXES if name.startswith(one)), name)
    given = next(
        (one for one in (row.get("input"), *map(extra.get, _ARGUMENTS)) if one not in (None, "")), None
    )
    got = next(
        (one for one in (row.get("output"), *map(extra.get, _RESULTS)) if one not in (None, "", "null")), None
    )
    value = opened(given)
    if isinstance(value, dict) and set(value) == {"args", "kwargs"} and value["args"] == []:
        value = value["kwargs"]
    native, result, failed = fields.first(extra, *_CALL_IDS), *outcome(got)
    if isinstance(inner := opened(got), dict):
        message = fields.table(inner.get("kwargs")) or inner
        native = native or fields.first(message, "tool_call_id", "toolCallId")
    return ToolUse(tool_call(native, name, value), result, failed)


def _beside(
    row: JsonObject, told: JsonObject, kind: str, heard: _Heard, message: str | None
) -> JsonObject | None:
    """All that is told beside, and content that became no message of the step."""
    was_read = (
        row.get("input") is not None or row.get("output") is not None or bool(heard.asked or heard.answered)
    )
    kept = present((key, opened(row.get(key))) for key in _KEPT)
    if told:
        kept.update(present(iter([("metadata", beside(told, was_read))])))
    for key, became in (("input", heard.asked), ("output", heard.answered)):
        value = opened(row.get(key))
        if not became and kind != "tool" and value not in (None, "", {}, []) and not dumped(value):
            kept[key] = value
    kept.update(present(iter([("statusMessage", message), ("level", _level(row.get("level")))])))
    return kept or None


def _level(value: Json) -> str | None:
    return value if isinstance(value, str) and value not in ("DEFAULT", "ERROR") else None
