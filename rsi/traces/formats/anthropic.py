"""Logs of Anthropic's Messages API: a request with its response, or a message as the API returned it.

- ``{"request": {"system": …, "messages": […]}, "response": {"type": "message", …}}``, also flat, with the answer
  under `response`;
- ``{"type": "message", "role": "assistant", "content": […], "usage": …}``.

Traces are named as those of chat logs are.
"""

import re

from rsi.ids import digest
from rsi.traces.formats import fields
from rsi.traces.formats.logged import Logged, framed, logged, named
from rsi.traces.formats.run import Run, Step, rows
from rsi.traces.formats.turns import Turn, turns
from rsi.traces.formats.usage import usage
from rsi.traces.rows import Json, JsonObject, Place, Reason, Refusal, Rows

NAME = "anthropic"
_REQUEST = ("messages", "system", "tools", "model", "max_tokens", "metadata")
_CONTENT = {"messages", "system", "tools", "metadata"}
_ANSWER = {"id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage", "error",
           "request_id"}  # fmt: skip
_SESSION = re.compile(r"session_([0-9a-fA-F-]{36})\Z")
"""Ends the user id that coding agents send, ``user_…_account_…_session_<uuid>``."""


def matches(record: JsonObject) -> bool:
    """A message of the API, alone or as the response; or a request that only this API takes."""
    return _is_message(record) or is_call(
        fields.table(record.get("request", record)), fields.table(record.get("response"))
    )


def is_call(request: JsonObject, response: JsonObject) -> bool:
    """Whether a request with messages and its response are of this API; one may be empty."""
    if not isinstance(request.get("messages"), list):
        return _is_message(response)
    if "choices" in response:
        return False
    is_error = response.get("type") == "error" and isinstance(response.get("error"), dict)
    is_ours = "system" in request or "anthropic_version" in request or "stop_sequences" in request
    return (
        _is_message(response)
        or (is_error and "max_tokens" in request)
        or ("max_tokens" in request and is_ours)
    )


def read(record: JsonObject, place: Place) -> tuple[Rows | Refusal, ...]:
    """One trace of one call, with its scores."""
    if _is_message(record):
        request: JsonObject = {}
        response = {key: record[key] for key in _ANSWER if key in record}
    else:
        request = fields.table(record.get("request")) or {
            key: record[key] for key in _REQUEST if key in record
        }
        response = fields.table(record.get("response"))
    frame = logged(
        {key: value for key, value in record.items() if key not in _ANSWER - {"id", "error"}},
        request,
        response,
    )
    found = run(request, response, frame)
    if not any(one.turns for one in found.steps):
        return (
            Refusal(Reason.BAD_VALUE, "no message with a role in the request, no content in the response"),
        )
    return (rows(found, NAME, place), *frame.refusals)


def run(request: JsonObject, response: JsonObject, frame: Logged) -> Run:
    """One call as a run, from the bodies of request and response."""
    user, session = _user(fields.table(request.get("metadata")).get("user_id"))
    frame = frame._replace(session=frame.session or session, user=user or frame.user)
    call = step(request, response, frame)
    name = named(
        frame, call.response_id, call.asked, [request.get("messages"), response.get("content"), frame.error]
    )
    return framed(frame, NAME, name, call)


def step(request: JsonObject, response: JsonObject, frame: Logged) -> Step:
    """The call itself."""
    content = digest([request.get("messages"), response.get("content"), frame.start_ns])
    response_id = fields.first(response, "id")
    answered = _answered(response)
    attributes: JsonObject = {key: value for key, value in request.items() if key not in _CONTENT}
    attributes |= {key: value for key, value in response.items() if key not in _ANSWER and value is not None}
    return Step(
        native_id=f"{response_id}.{content[:8]}" if response_id else content[:16],
        kind="llm",
        name="messages",
        start_ns=frame.start_ns,
        end_ns=frame.end_ns,
        time_state=frame.time_state,
        status="error" if frame.error else "ok" if answered else "unset",
        error=frame.error,
        provider="anthropic",
        model=fields.first(response, "model") or fields.first(request, "model"),
        response_id=response_id,
        finish_reason=fields.first(response, "stop_reason"),
        usage=usage(response.get("usage")),
        asked=(*_system(request.get("system")), *turns(fields.listing(request.get("messages")))),
        answered=answered,
        attributes=attributes,
    )


def _is_message(body: JsonObject) -> bool:
    typed = body.get("type") == "message" and body.get("role") == "assistant"
    return typed and isinstance(body.get("content"), list) and ("usage" in body or "stop_reason" in body)


def _system(said: Json) -> tuple[Turn, ...]:
    """The system prompt, text or blocks of text."""
    return turns([{"role": "system", "content": said}]) if isinstance(said, str | list) and said else ()


def _answered(response: JsonObject) -> tuple[Turn, ...]:
    if not isinstance(response.get("content"), list | str):
        return ()
    return turns([{"role": "assistant", "content": response["content"]}])


def _user(said: Json) -> tuple[str | None, str | None]:
    """User and session out of `metadata.user_id`: plain, ended by a session, or JSON that names both."""
    text = fields.named(said)
    told = fields.table(fields.parsed(text)) if text and text.startswith("{") else {}
    if told:
        return fields.first(told, "account_uuid", "user_id", "device_id"), fields.first(told, "session_id")
    found = _SESSION.search(text) if text else None
    return text, found[1] if found else None
