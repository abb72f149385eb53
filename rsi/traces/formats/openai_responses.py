"""Logs of OpenAI's Responses API: a request with its response, or a response object alone.

- ``{"request": {"input": …, "instructions": …}, "response": {"object": "response", "output": […]}}``;
- ``{"object": "response", "output": […]}``, as the API returns it, stores it or ends a stream with it.

A response that goes on from another (`previous_response_id`) holds its newest items only. What joins the chain to
one trace is the first that is there of: a trace id, the conversation, a session, and the sixteen digits that the
ids of a chain on OpenAI's own servers begin with. Without any of them each response is a trace, in the
conversation of the one it names. In a trace, a result meets its call by the id, whichever request brings it.
"""

import re
from collections.abc import Iterable

from rsi.ids import digest
from rsi.traces.formats import fields
from rsi.traces.formats.logged import Logged, Named, framed, logged
from rsi.traces.formats.run import Run, Step, rows
from rsi.traces.formats.turns import Turn, said, turns
from rsi.traces.formats.usage import usage
from rsi.traces.rows import Json, JsonObject, Place, Reason, Refusal, Rows

NAME = "openai_responses"
_CHAIN = re.compile(r"(resp_[0-9a-f]{16})00[0-9a-f]{32}")
"""``resp_``, the digits that a chain shares, a zero byte, the time, the rest."""
_REQUEST = ("input", "instructions", "tools", "model", "previous_response_id", "conversation")
_CONTENT = {"input", "instructions", "tools", "metadata", "user", "safety_identifier"}
_ANSWER = {"id", "object", "created_at", "completed_at", "model", "output", "output_text", "usage", "error",
           "instructions", "tools", "metadata", "incomplete_details", "user", "safety_identifier"}  # fmt: skip
_FAILED = ("failed", "cancelled")


def matches(record: JsonObject) -> bool:
    """A response object, alone or as the answer; or a request that has input and no messages."""
    request = fields.table(record.get("request"))
    is_pair = "response" in record and isinstance(request.get("input"), str | list)
    return is_response(record) or is_response(fields.table(record.get("response"))) or is_pair


def is_response(body: JsonObject) -> bool:
    """An object of the type `response`."""
    return body.get("object") == "response" and isinstance(body.get("output", []), list)


def read(record: JsonObject, place: Place) -> tuple[Rows | Refusal, ...]:
    """One trace, or what this response adds to one."""
    if is_response(record):
        request: JsonObject = {}
        response = record
        frame = logged({key: record[key] for key in ("trace_id", "session_id", "feedback", "scores") if key in record},
                       request, response)  # fmt: skip
    else:
        response = fields.table(record.get("response"))
        request = fields.table(record.get("request"))
        frame = logged(record, request, response)
        request = request or {key: record[key] for key in _REQUEST if key in record}
    found = run(request, response, frame)
    if not any(one.turns or one.error for one in found.steps):
        return (Refusal(Reason.BAD_VALUE, "neither input nor output holds an item that anybody said"),)
    return (rows(found, NAME, place), *frame.refusals)


def run(request: JsonObject, response: JsonObject, frame: Logged) -> Run:
    """One call as a run, from the bodies of request and response."""
    frame = frame._replace(error=_error(response) or frame.error)
    call = step(request, response, frame)
    thread = _conversation(response) or _conversation(request) or frame.session
    previous = fields.first(response, "previous_response_id") or fields.first(request, "previous_response_id")
    chain = _CHAIN.fullmatch(call.response_id or previous or "")
    content = digest([request.get("input"), response.get("output"), frame.start_ns, frame.error])
    own = call.response_id or frame.record_id
    native = frame.trace_id or thread or (chain[1] if chain else own)
    frame = frame._replace(
        session=thread or (chain[1] if chain else previous or own),
        user=frame.user
        or fields.first(response, "user", "safety_identifier")
        or fields.first(request, "user"),
    )
    named = Named(native or "", None if native else content)
    return framed(frame, NAME, named, call)._replace(unique_calls=True)


def step(request: JsonObject, response: JsonObject, frame: Logged) -> Step:
    """The call itself."""
    status = fields.first(response, "status")
    reason = fields.first(fields.table(response.get("incomplete_details")), "reason")
    response_id = fields.first(response, "id")
    answered = items(fields.listing(response.get("output")))
    attributes: JsonObject = {
        key: value for key, value in response.items() if key not in _ANSWER and value is not None
    }
    attributes |= {key: value for key, value in request.items() if key not in _CONTENT}
    content = digest([request.get("input"), response.get("output"), frame.start_ns])
    return Step(
        native_id=response_id or content[:16],
        kind="llm",
        name="responses",
        start_ns=frame.start_ns,
        end_ns=frame.end_ns,
        time_state=frame.time_state,
        status="error" if frame.error else "ok" if answered else "unset",
        error=frame.error,
        model=fields.first(response, "model") or fields.first(request, "model"),
        response_id=response_id,
        finish_reason=reason or status,
        usage=usage(response.get("usage")),
        asked=_asked(request, response),
        answered=answered,
        attributes=attributes,
    )


def items(given: Iterable[Json]) -> tuple[Turn, ...]:
    """Input or output items as turns; what a model thought goes with what it said next."""
    found: list[Turn] = []
    thought: Turn | None = None
    for one in turns(spelt for item in given for spelt in _spelt(item)):
        if one.reasoning and one.content is None and not one.calls:
            found.extend([thought] if thought else [])
            thought = one
            continue
        if thought is not None and one.role == "assistant" and one.reasoning is None:
            one = one._replace(reasoning=thought.reasoning)
        elif thought is not None:
            found.append(thought)
        thought = None
        found.append(one)
    return (*found, *([thought] if thought else []))


def _spelt(item: Json) -> list[Json]:
    """An item in spellings that `turns` reads: calls of hosted tools come with their results."""
    kind = fields.named(item.get("type")) if isinstance(item, dict) else None
    if not isinstance(item, dict) or kind is None or "role" in item:
        return [item]
    if kind == "reasoning":
        return [item] if any(one.reasoning for one in turns([item])) else []
    if kind.endswith("_call_output") and kind not in ("function_call_output", "custom_tool_call_output"):
        return [{**item, "type": "function_call_output"}]
    if not kind.endswith("_call") or kind in ("function_call", "custom_tool_call"):
        return [item]
    native = fields.first(item, "call_id", "id")
    given = next(
        (item[key] for key in ("arguments", "action", "queries", "code", "input") if item.get(key)), None
    )
    given = (
        {"queries": given}
        if isinstance(given, list)
        else {"code": given}
        if kind == "code_interpreter_call"
        else given
    )
    call: JsonObject = {
        "type": "tool_call",
        "id": native,
        "name": fields.first(item, "name") or kind.removesuffix("_call"),
        "arguments": given,
    }
    failure = item.get("error")
    result = next((item[key] for key in ("output", "results", "outputs", "result") if item.get(key)), failure)
    if result is None:
        return [call]
    result = "[image]" if kind == "image_generation_call" and result is not failure else result
    answer: JsonObject = {
        "type": "tool_result",
        "tool_call_id": native,
        "output": result,
        "is_error": bool(failure),
    }
    return [call, answer]


def _asked(request: JsonObject, response: JsonObject) -> tuple[Turn, ...]:
    told = request.get("instructions", response.get("instructions"))
    given = request.get("input")
    system = (said("system", told),) if isinstance(told, str) and told else items(fields.listing(told))
    asked = (said("user", given),) if isinstance(given, str) else items(fields.listing(given))
    return system + asked


def _conversation(body: JsonObject) -> str | None:
    named = body.get("conversation")
    return fields.first(named, "id") if isinstance(named, dict) else fields.named(named)


def _error(response: JsonObject) -> str | None:
    """Why a response failed; one that is merely incomplete did not."""
    if response.get("status") not in _FAILED:
        return None
    told = fields.table(response.get("error"))
    return fields.first(told, "message", "code") or fields.first(response, "status")
