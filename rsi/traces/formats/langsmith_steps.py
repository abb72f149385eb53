"""LangSmith's runs as steps: what was said in them, the tools they ran, what they cost."""

import re
from datetime import UTC, datetime

from rsi.traces.formats import fields, usage
from rsi.traces.formats.answers import Envelope
from rsi.traces.formats.run import Step, ToolUse, Usage
from rsi.traces.formats.sides import Side, answered, asked, dumped, opened, outcome, structured
from rsi.traces.formats.turns import tool_call
from rsi.traces.rows import Json, JsonObject

_KINDS = {"llm": "llm", "tool": "tool", "retriever": "retrieval", "embedding": "embedding", "chain": "step",
          "prompt": "step", "parser": "step"}  # fmt: skip
_ORDER = re.compile(r"(\d{8}T\d{6})(\d{0,9})Z([0-9a-fA-F-]{8,36})")
_RESPONSES = ("choices", "generations", "candidates", "usage_metadata")
_READ_HERE = {
    "id", "trace_id", "parent_run_id", "parent_run_ids", "dotted_order", "run_type", "name", "start_time",
    "end_time", "inputs", "outputs", "error", "status", "extra", "child_runs", "child_run_ids",
    "direct_child_run_ids", "serialized", "events", "session_id", "session_name", "prompt_tokens",
    "completion_tokens", "total_tokens", "total_cost", "inputs_preview", "outputs_preview",
    "prompt_token_details", "completion_token_details", "manifest_id", "app_path", "execution_order",
    "child_execution_order", "last_queued_at", "in_dataset", "share_token", "trace_tier", "feedback_stats",
    "tags",
}  # fmt: skip
"""Fields that become columns, are told by other fields, or are LangSmith's own bookkeeping."""


def extra(run: JsonObject) -> JsonObject:
    """What is beside: metadata, parameters of the call, the runtime; it may be JSON text."""
    return fields.table(opened(run.get("extra")))


def metadata(run: JsonObject) -> JsonObject:
    """The metadata of a run."""
    return fields.table(opened(extra(run).get("metadata")))


def ancestry(run: JsonObject) -> list[tuple[str, int | None]]:
    """Ids and starts of a run's ancestors and itself, as its dotted order tells them."""
    found = _ORDER.findall(fields.text(run.get("dotted_order")) or "")
    return [(native, _nanoseconds(seconds, fraction)) for seconds, fraction, native in found]


def step(run: JsonObject, native_id: str) -> Step:
    """One run, or the half of one that a record brings: what it does not tell is null, so that the halves join."""
    kind = _kind(run)
    line = ancestry(run)
    start, state = fields.moment(run.get("start_time"))
    if start is None and line:
        start, state = line[-1][1], "exact"
    end, _ = fields.moment(run.get("end_time"))
    error = fields.named(run.get("error"))
    told, output = metadata(run), opened(run.get("outputs"))
    into, out = (asked(run.get("inputs")), answered(output)) if kind == "llm" else (Side(), Side())
    back = out.turns or (structured(output) if kind == "llm" and not error else ())
    settings = fields.table(extra(run).get("invocation_params"))
    return Step(
        native_id=native_id,
        kind=kind,
        name=fields.named(run.get("name")) or "",
        parent_id=fields.first(run, "parent_run_id") or (line[-2][0] if len(line) > 1 else None),
        start_ns=start,
        end_ns=end,
        time_state=state,
        status="error" if error or run.get("status") == "error" else "ok" if end is not None else "unset",
        error=error,
        instrumentation=fields.first(fields.table(extra(run).get("runtime")), "sdk", "library"),
        provider=fields.first(told, "ls_provider"),
        model=out.envelope.model
        or fields.first(told, "ls_model_name")
        or fields.first(settings, "model", "model_name"),
        response_id=out.envelope.response_id,
        finish_reason=out.envelope.finish_reason,
        usage=_usage(run, told, out.envelope) if kind in ("llm", "embedding") else Usage(),
        asked=into.turns,
        answered=back,
        tool=_tool(run, output) if kind == "tool" else None,
        attributes=_beside(run, kind, (bool(into.turns), bool(back))),
    )


def _kind(run: JsonObject) -> str:
    told = run.get("run_type")
    if isinstance(told, str):
        return (
            "agent" if told == "chain" and metadata(run).get("ls_agent_type") else _KINDS.get(told, "other")
        )
    output = opened(run.get("outputs"))
    is_response = isinstance(output, dict) and any(key in output for key in _RESPONSES)
    return "llm" if is_response or "ls_model_type" in metadata(run) else "other"


def _tool(run: JsonObject, output: Json) -> ToolUse:
    """The call and its result; LangChain puts the call itself, or its arguments' text, under ``input``."""
    given = opened(run.get("inputs"))
    told = fields.table(given)
    if isinstance(told.get("args"), dict) and told.get("type") == "tool_call":
        call = tool_call(fields.first(told, "id"), fields.first(told, "name"), told["args"])
    else:
        inner = opened(told["input"]) if set(told) == {"input"} else given
        call = tool_call(
            None, fields.named(run.get("name")), inner if isinstance(inner, dict | str) else given
        )
    if isinstance(output, dict) and set(output) <= {"output"}:
        output = opened(output.get("output"))
    message = fields.table(output)
    message = fields.table(message.get("kwargs")) or message
    native = call.native_id or fields.first(message, "tool_call_id")
    name = fields.named(run.get("name")) or fields.first(message, "name") or call.name
    result, failed = outcome(output if output not in ({}, "") else None)
    return ToolUse(call._replace(native_id=native, name=name), result, failed)


def _usage(run: JsonObject, told: JsonObject, envelope: Envelope) -> Usage:
    """What LangSmith counted, else what the response says."""
    output = fields.table(opened(run.get("outputs")))
    said = (
        fields.table(output.get("usage_metadata"))
        or fields.table(told.get("usage_metadata"))
        or envelope.usage
    )
    found = usage.usage(said)
    given, answered_ = fields.whole(run.get("prompt_tokens")), fields.whole(run.get("completion_tokens"))
    if given or answered_:
        found = found._replace(input=given, output=answered_)
    cost = fields.number(run.get("total_cost"))
    if cost is None:
        cost = fields.number(fields.table(said).get("total_cost"))
    return found._replace(cost_usd=cost)


def _beside(run: JsonObject, kind: str, became: tuple[bool, bool]) -> JsonObject | None:
    kept: JsonObject = {
        key: value for key, value in run.items() if key not in _READ_HERE and value not in (None, "", {}, [])
    }
    more = extra(run)
    kept.update({key: value for key, value in more.items() if value not in (None, "", {}, [])})
    for key, is_turns in zip(("inputs", "outputs"), became, strict=True):
        value = opened(run.get(key))
        if not is_turns and kind != "tool" and value not in (None, "", {}, []) and not dumped(value):
            kept[key] = value
    if tags := fields.listing(run.get("tags")):
        kept["tags"] = tags
    events = [
        one
        for one in fields.tables(opened(run.get("events")))
        if one.get("name") not in ("new_token", "start", "end")
    ]
    if events:
        kept["events"] = [*events]
    return kept or None


def _nanoseconds(seconds: str, fraction: str) -> int | None:
    try:
        when = datetime.strptime(seconds, "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None
    return int(when.timestamp()) * 10**9 + int(fraction.ljust(9, "0") or 0)
