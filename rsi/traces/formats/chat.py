"""Logs in the shape of the OpenAI chat API, one conversation or one request with its response a record.

- ``{"messages": […]}`` with any of id, model, session, tools, metadata, feedback or scores, `label` (thumbs),
  and an assistant message at the end where it was answered;
- ``{"request": {"messages": […]}, "response": {"choices": […]}}``, which is one call of the model;
- a response alone (``"object": "chat.completion"``); in all of them the older `prompt` and `text` as well.

A `trace_id` joins several requests to one trace, a session those that open with the same words. An `id` alone
is weak (proxies repeat it, or write "None"), so that the trace is named by it and by what was said.
"""

from rsi.ids import digest
from rsi.traces.formats import fields
from rsi.traces.formats.logged import Logged, framed, logged, named
from rsi.traces.formats.run import Run, Step, rows
from rsi.traces.formats.turns import Turn, last, said, turns
from rsi.traces.formats.usage import usage
from rsi.traces.rows import Json, JsonObject, Place, Reason, Refusal, Rows

NAME = "chat"
_REQUEST = ("messages", "prompt", "tools", "functions", "model", "user")
_CONTENT = {"messages", "prompt", "tools", "functions", "metadata", "user"}
_ANSWER = {"id", "object", "created", "model", "choices", "usage", "error", "message", "metadata", "role", "content",
           "tool_calls"}  # fmt: skip


def matches(record: JsonObject) -> bool:
    """A list `messages` at the top or in `request`, or a response with choices."""
    request = record.get("request")
    inner = isinstance(request, dict) and isinstance(request.get("messages"), list)
    alone = record.get("object") in ("chat.completion", "text_completion") and "choices" in record
    return inner or isinstance(record.get("messages"), list) or alone


def read(record: JsonObject, place: Place) -> tuple[Rows | Refusal, ...]:
    """One trace with its scores; a score that says nothing readable is refused beside it."""
    request = fields.table(record.get("request"))
    is_call = "messages" in request
    if not is_call:
        request = {key: record[key] for key in _REQUEST if key in record}
    response = _response(record.get("response"))
    if not is_call and "response" not in record:
        response = {key: record[key] for key in _ANSWER - {"metadata", "error"} if key in record}
    frame = logged(record, request, response)
    if is_call or "response" in record or "choices" in response:
        found = run(request, response, frame)
    else:
        found = _conversation(record, frame)
    if not any(one.turns for one in found.steps) and not found.turns:
        return (Refusal(Reason.BAD_VALUE, "messages holds no message with a role"),)
    return (rows(found, NAME, place), *frame.refusals)


def run(request: JsonObject, response: JsonObject, frame: Logged) -> Run:
    """One call of a chat model as a run, from the bodies of request and response."""
    call = step(request, response, frame)
    content: list[Json] = [request.get("messages", request.get("prompt")), response.get("choices")]
    name = named(frame, call.response_id, call.asked, content)
    frame = frame._replace(user=frame.user or fields.named(request.get("user")))
    return framed(frame, NAME, name, call)


def step(request: JsonObject, response: JsonObject, frame: Logged) -> Step:
    """The call itself; named by what was asked and answered too, since ids repeat."""
    choices = fields.tables(response.get("choices"))
    choice = choices[0] if choices else {}
    message = choice.get("message", response.get("message", response if "role" in response else None))
    answered = turns([message] if isinstance(message, dict) else [], "assistant")
    if not answered and isinstance(choice.get("text"), str):
        answered = (said("assistant", fields.text(choice["text"])),)
    content = digest([request.get("messages"), response.get("choices"), frame.start_ns])
    response_id = fields.first(response, "id")
    problem = frame.error
    return Step(
        native_id=f"{response_id}.{content[:8]}" if response_id else content[:16],
        kind="llm",
        name="chat",
        start_ns=frame.start_ns,
        end_ns=frame.end_ns,
        time_state=frame.time_state,
        status="error" if problem else "ok" if answered else "unset",
        error=problem,
        provider=fields.first(response, "provider"),
        model=fields.first(response, "model") or fields.first(request, "model"),
        response_id=response_id,
        finish_reason=fields.first(choice, "finish_reason") or fields.first(response, "done_reason"),
        usage=usage(response.get("usage", response if "eval_count" in response else None)),
        asked=_asked(request),
        answered=answered,
        attributes=_attributes(request, response, choices[1:]),
    )


def _response(body: Json) -> JsonObject:
    """The body of a response; plain text is the answer."""
    if isinstance(body, str):
        return {"choices": [{"message": {"role": "assistant", "content": body}}]}
    return fields.table(body)


def _asked(request: JsonObject) -> tuple[Turn, ...]:
    prompt = request.get("prompt")
    if "messages" not in request and isinstance(prompt, str):
        return (said("user", prompt),)
    return turns(fields.listing(request.get("messages")))


def _attributes(request: JsonObject, response: JsonObject, others: list[JsonObject]) -> JsonObject:
    """Parameters of the call, what the response adds, and the answers beside the first."""
    found: JsonObject = {
        key: value for key, value in response.items() if key not in _ANSWER and value is not None
    }
    found |= {key: value for key, value in request.items() if key not in _CONTENT}
    if others:
        found["choices"] = list(others)
    return found


def _conversation(record: JsonObject, frame: Logged) -> Run:
    """Messages that nobody says are one call."""
    heard = turns(fields.listing(record.get("messages")))
    content: list[Json] = [record.get("messages"), None]
    name = named(frame._replace(session=None) if frame.record_id else frame, None, heard, content)
    return framed(frame, NAME, name)._replace(
        turns=heard, model=fields.first(record, "model"), input_text=last(heard, "user")
    )
