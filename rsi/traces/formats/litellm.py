"""LiteLLM's logs of single calls: rows of its spend table, its standard logging payload, and its Langfuse spans.

Each call is one trace; a session (in payloads the trace id, which is the same) is its conversation. Ids of
requests come from the provider and are weak, so that a trace is named by it, the model and the second of its
start; row and payload of one call agree. Content is off by default: "{}", "[]" and "None" are nothing said.
"""

import orjson

from rsi.ids import digest
from rsi.traces.formats import fields, litellm_span
from rsi.traces.formats.litellm_content import answered, asked
from rsi.traces.formats.run import Run, Step, Usage, rows
from rsi.traces.rows import Json, JsonObject, Place, Refusal, Rows

NAME = "litellm"
_KINDS = {"embedding": "embedding", "aembedding": "embedding", "rerank": "retrieval", "arerank": "retrieval",
          "search": "retrieval", "asearch": "retrieval", "vector_store_search": "retrieval",
          "avector_store_search": "retrieval", "call_mcp_tool": "tool"}  # fmt: skip
_WRAPPED = "standard_logging_object"
_NOTHING = ("", "None", "null", "{}", "[]", "Cache OFF")
_USED = {
    "request_id", "id", "session_id", "trace_id", "startTime", "endTime", "start_time", "end_time", "model", "spend",
    "response_cost", "messages", "response", "proxy_server_request", "total_tokens", "prompt_tokens",
    "completion_tokens", "custom_llm_provider", "end_user", "user", "agent_id", "status", "error_str",
}  # fmt: skip


def matches(record: JsonObject) -> bool:
    """`call_type` beside `spend` or `response_cost`, also wrapped or on a page; or a span of its exporter."""
    page = record.get("data")
    if isinstance(page, list) and page:
        return isinstance(page[0], dict) and _is_payload(page[0])
    return _is_payload(_payload(record)) or litellm_span.matches(record)


def read(record: JsonObject, place: Place) -> tuple[Rows | Refusal, ...]:
    """One trace with its one call; of a page of rows, one each."""
    if litellm_span.matches(record):
        return (rows(litellm_span.run(record, NAME), NAME, place),)
    page = record.get("data")
    if isinstance(page, list) and page:
        return tuple(rows(_run(one), NAME, place, orjson.dumps(one)) for one in fields.tables(page))
    return (rows(_run(_payload(record)), NAME, place),)


def _is_payload(record: JsonObject) -> bool:
    return "call_type" in record and ("spend" in record or "response_cost" in record)


def _run(payload: JsonObject) -> Run:
    start, state = fields.moment(_either(payload, "startTime", "start_time"))
    step = _step(payload, start, state)
    native = _native(payload)
    model = fields.named(payload.get("model"))
    metadata = fields.table(fields.parsed(payload.get("metadata")))
    return Run(
        native=native or digest(payload)[:32],
        family=NAME,
        weak=digest([start // 10**9, model]) if native and start else digest(payload),
        steps=(step,),
        conversation=fields.first(payload, "session_id", "trace_id"),
        user=fields.first(payload, "end_user", "user")
        or fields.first(metadata, "user_api_key_end_user_id", "user_api_key_user_id"),
        agent=fields.named(payload.get("agent_id")),
        error=step.error,
        metadata=_rest(payload, metadata),
    )


def _payload(record: JsonObject) -> JsonObject:
    """The payload itself, also where a callback's arguments hold it."""
    inner = record.get(_WRAPPED, fields.table(record.get("kwargs")).get(_WRAPPED))
    return inner if isinstance(inner, dict) else record


def _native(payload: JsonObject) -> str | None:
    return fields.first(payload, "request_id", "id", "litellm_call_id")


def _either(payload: JsonObject, *keys: str) -> Json:
    return next((payload[key] for key in keys if payload.get(key) is not None), None)


def _step(payload: JsonObject, start: int | None, state: str) -> Step:
    call_type = fields.named(payload.get("call_type")) or "call"
    body = fields.table(fields.parsed(payload.get("response")))
    choice = next(iter(fields.tables(body.get("choices"))), {})
    error = _error(payload)
    attributes: JsonObject = {
        key: payload[key]
        for key in ("model_parameters", "hidden_params", "stream")
        if _said(payload.get(key))
    }
    return Step(
        native_id=_native(payload) or "call",
        kind=_KINDS.get(call_type, "llm"),
        name=call_type,
        start_ns=start,
        end_ns=fields.moment(_either(payload, "endTime", "end_time"))[0],
        time_state=state,
        status="error" if error is not None else "ok" if payload.get("status") == "success" else "unset",
        error=error,
        provider=fields.named(payload.get("custom_llm_provider")),
        model=fields.named(body.get("model")) or fields.named(payload.get("model")),
        response_id=fields.named(body.get("id")),
        finish_reason=fields.named(choice.get("finish_reason")) or fields.named(body.get("stop_reason")),
        usage=_usage(payload, body),
        asked=asked(payload),
        answered=answered(payload.get("response")),
        attributes=attributes,
    )


def _usage(payload: JsonObject, response: JsonObject) -> Usage:
    """Totals of the row; parts from the provider's usage, which stands in the response or in the metadata."""
    metadata = fields.table(fields.parsed(payload.get("metadata")))
    told = fields.table(response.get("usage")) or fields.table(metadata.get("usage_object"))
    given = fields.table(told.get("prompt_tokens_details")) or fields.table(told.get("input_tokens_details"))
    made = fields.table(told.get("completion_tokens_details")) or fields.table(
        told.get("output_tokens_details")
    )
    return Usage(
        input=fields.whole(payload.get("prompt_tokens")),
        output=fields.whole(payload.get("completion_tokens")),
        cache_read=_first_whole(told.get("cache_read_input_tokens"), given.get("cached_tokens")),
        cache_write=_first_whole(told.get("cache_creation_input_tokens"), given.get("cache_creation_tokens")),
        reasoning=fields.whole(made.get("reasoning_tokens")),
        cost_usd=fields.number(_either(payload, "spend", "response_cost")),
    )


def _first_whole(*values: Json) -> int | None:
    return next((found for value in values if (found := fields.whole(value)) is not None), None)


def _error(payload: JsonObject) -> str | None:
    """What went wrong, where the status says that something did."""
    metadata = fields.table(fields.parsed(payload.get("metadata")))
    told = fields.table(payload.get("error_information")) or fields.table(metadata.get("error_information"))
    text = fields.named(payload.get("error_str")) or fields.first(
        told, "error_message", "error_class", "error_code"
    )
    failed = payload.get("status") == "failure" or metadata.get("status") == "failure"
    return (text or "failure") if failed else text


def _said(value: Json) -> bool:
    """Whether a field says anything; an object of nothing but empty fields does not."""
    if isinstance(value, dict):
        return any(_said(one) for one in value.values())
    return value is not None and value != [] and value not in _NOTHING


def _rest(payload: JsonObject, metadata: JsonObject) -> JsonObject:
    """What stands in a payload beside, without empty fields, which are most of them."""
    rest: JsonObject = {
        key: fields.parsed(value) if key in ("request_tags", "metadata") else value
        for key, value in payload.items()
        if key not in _USED and key not in ("metadata", "model_parameters", "hidden_params") and _said(value)
    }
    if kept := {key: value for key, value in metadata.items() if _said(value)}:
        rest["metadata"] = kept
    return rest
