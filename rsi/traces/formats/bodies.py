"""Bodies of model APIs, whichever it is: what API a request and its response are of, and the run they make."""

from enum import StrEnum

from rsi.ids import digest
from rsi.traces.formats import anthropic, chat, fields, openai_responses
from rsi.traces.formats.logged import Logged, Named, framed
from rsi.traces.formats.run import Run, Step
from rsi.traces.formats.usage import usage
from rsi.traces.rows import Json, JsonObject


class Api(StrEnum):
    """A kind of request to a model."""

    CHAT = "chat"
    """Chat completions, and the older text completions."""
    RESPONSES = "responses"
    MESSAGES = "messages"
    """Anthropic's."""
    EMBEDDINGS = "embeddings"


_PATHS = (
    ("/chat/completions", Api.CHAT),
    ("/completions", Api.CHAT),
    ("/api/chat", Api.CHAT),
    ("/responses", Api.RESPONSES),
    ("/messages", Api.MESSAGES),
    ("/embeddings", Api.EMBEDDINGS),
)


def api(request: JsonObject, response: JsonObject, url: str = "") -> Api | None:
    """The API that two bodies are of: from the response, else the path, else the request."""
    path = url.partition("?")[0].rstrip("/")
    if openai_responses.is_response(response):
        return Api.RESPONSES
    if response.get("type") == "message":
        return Api.MESSAGES
    if "choices" in response:
        return Api.CHAT
    if _vectors(response):
        return Api.EMBEDDINGS
    return next((one for ending, one in _PATHS if path.endswith(ending)), None) or _asked(request, response)


def run(kind: Api, request: JsonObject, response: JsonObject, frame: Logged, *, whole: bool = True) -> Run:
    """The run of one call; an answer that is not whole is marked as cut."""
    if kind is Api.EMBEDDINGS:
        return _embedding(request, response, frame)
    readers = {Api.CHAT: chat.run, Api.RESPONSES: openai_responses.run, Api.MESSAGES: anthropic.run}
    found = readers[kind](request, response, frame)
    return found if whole else found._replace(steps=tuple(_cut(one) for one in found.steps))


def _asked(request: JsonObject, response: JsonObject) -> Api | None:
    if isinstance(request.get("messages"), list):
        return Api.MESSAGES if anthropic.is_call(request, response) else Api.CHAT
    if isinstance(request.get("input"), str | list):
        return Api.EMBEDDINGS if "embed" in str(request.get("model")).lower() else Api.RESPONSES
    return Api.CHAT if isinstance(request.get("prompt"), str) else None


def _cut(step: Step) -> Step:
    if not step.answered or step.answered[-1].state != "full":
        return step
    return step._replace(answered=(*step.answered[:-1], step.answered[-1]._replace(state="cut")))


def _vectors(response: JsonObject) -> list[JsonObject]:
    return [one for one in fields.tables(response.get("data")) if "embedding" in one]


def _embedding(request: JsonObject, response: JsonObject, frame: Logged) -> Run:
    """Texts to vectors: no conversation, and the vectors themselves are not kept."""
    given = request.get("input")
    texts = (
        [given] if isinstance(given, str) else [one for one in fields.listing(given) if isinstance(one, str)]
    )
    vectors = _vectors(response)
    content: list[Json] = [given, frame.start_ns, frame.error]
    attributes: JsonObject = {key: value for key, value in request.items() if key != "metadata"}
    if vectors:
        attributes |= {
            "vectors": len(vectors),
            "dimensions": len(fields.listing(vectors[0].get("embedding"))) or None,
        }
    call = Step(
        native_id=digest(content)[:16],
        kind="embedding",
        name="embeddings",
        start_ns=frame.start_ns,
        end_ns=frame.end_ns,
        time_state=frame.time_state,
        status="error" if frame.error else "ok" if vectors else "unset",
        error=frame.error,
        model=fields.first(response, "model") or fields.first(request, "model"),
        usage=usage(response.get("usage")),
        attributes=attributes,
    )
    name = Named(frame.trace_id or frame.record_id or "", None if frame.trace_id else digest(content))
    return framed(frame, "embeddings", name, call)._replace(input_text=next(iter(texts), None))
