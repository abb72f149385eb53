"""What a log says of a call or conversation beside the bodies: ids, session, user, times, error, judgements.

Readers of logs of model APIs share this, since proxies and applications spell it alike whatever the API.
"""

from typing import NamedTuple

import orjson

from rsi.ids import digest
from rsi.traces.formats import fields
from rsi.traces.formats.run import Judgement, Run, Step
from rsi.traces.formats.turns import Turn, opening
from rsi.traces.rows import Json, JsonObject, Reason, Refusal

SESSION = ("session", "session_id", "conversation_id", "thread_id", "conversation", "sessionId", "chat_id")
START = (
    "start_ns",
    "start_time",
    "startTime",
    "started_at",
    "created",
    "created_at",
    "timestamp",
    "time",
    "ts",
)
END = ("end_ns", "end_time", "endTime", "completed_at", "finished_at")
_USER = ("user", "user_id", "userId", "end_user")
_AGENT = ("agent", "agent_name", "workload_id")
KNOWN = {
    "messages", "request", "response", "choices", "feedback", "scores", "label", "kto_tag", "id", "trace_id", "model",
    "tools", "usage", "error", "metadata", "method", "url", "status_code", "object", *SESSION, *START, *END, *_USER,
    *_AGENT,
}  # fmt: skip
"""Keys of a record that have a place of their own; what stands under others is metadata."""
_THUMBS = {
    "up": 1.0, "thumbs_up": 1.0, "thumbs-up": 1.0, "thumbsup": 1.0, "like": 1.0, "positive": 1.0, "👍": 1.0,
    "down": 0.0, "thumbs_down": 0.0, "thumbs-down": 0.0, "thumbsdown": 0.0, "dislike": 0.0, "negative": 0.0, "👎": 0.0,
}  # fmt: skip


class Logged(NamedTuple):
    """The frame of one record."""

    trace_id: str | None = None
    """Names the trace for good."""
    record_id: str | None = None
    """An id that proxies repeat, or write as "None"."""
    session: str | None = None
    user: str | None = None
    agent: str | None = None
    version: str | None = None
    route: str | None = None
    release: str | None = None
    environment: str | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    time_state: str = "missing"
    error: str | None = None
    metadata: JsonObject | None = None
    """What has no column."""
    judgements: tuple[Judgement, ...] = ()
    refusals: tuple[Refusal, ...] = ()


def logged(record: JsonObject, request: JsonObject, response: JsonObject) -> Logged:
    """The frame of a record around a request and its response."""
    places = (response, request, record)
    metadata: JsonObject = {
        key: one for place in places for key, one in fields.table(place.get("metadata")).items()
    }
    start, state = time(record, START)
    if start is None:
        start, state = time(response, ("created", "created_at"))
    end = time(record, END)[0]
    rest: JsonObject = {key: one for key, one in record.items() if key not in KNOWN and one is not None}
    # A user's id stands in its own column, as a pseudonym.
    if beside := {key: one for key, one in metadata.items() if key not in _USER}:
        rest["metadata"] = beside
    if tools := tool_names(request.get("tools")):
        rest["tools"] = tools
    judgements, refusals = judged(record)
    return Logged(
        trace_id=fields.named(record.get("trace_id")),
        record_id=fields.first(record, "id"),
        session=_named((record, metadata, request), SESSION),
        user=_named((record, metadata, request), _USER),
        agent=_named((record, metadata), _AGENT),
        version=fields.first(metadata, "version"),
        route=fields.first(metadata, "route"),
        release=_named((record, metadata), ("release",)),
        environment=_named((record, metadata), ("environment",)),
        start_ns=start,
        end_ns=end if end is not None else time(response, ("completed_at",))[0],
        time_state=state,
        error=error(record, response),
        metadata=rest,
        judgements=judgements,
        refusals=refusals,
    )


class Named(NamedTuple):
    """The name of a trace."""

    native: str
    """Empty where the producer gives no id at all."""
    weak: str | None


def named(said: Logged, answered_id: str | None, asked: tuple[Turn, ...], content: Json) -> Named:
    """A trace id names a trace; a session does with the words it opens with, so that requests with growing
    history are one trace; any other id is weak and needs the content."""
    if said.trace_id is not None:
        return Named(said.trace_id, None)
    if said.session is not None:
        return Named(said.session, digest(["opening", opening(asked, "user")]))
    return Named(said.record_id or answered_id or "", digest(content))


def framed(said: Logged, family: str, name: Named, call: Step | None = None) -> Run:
    """A run with all that its frame tells, and the one call that it is of."""
    return Run(
        native=name.native,
        weak=name.weak,
        family=family,
        steps=() if call is None else (call,),
        conversation=said.session,
        user=said.user,
        agent=said.agent,
        model=call.model if call else None,
        version=said.version,
        route=said.route,
        release=said.release,
        environment=said.environment,
        start_ns=said.start_ns,
        end_ns=said.end_ns,
        time_state=said.time_state,
        error=said.error,
        metadata=said.metadata,
        judgements=said.judgements,
    )


def time(record: JsonObject, keys: tuple[str, ...]) -> tuple[int | None, str]:
    """The first time that is one; "invalid" where there is only nonsense."""
    found = [fields.moment(record[key]) for key in keys if record.get(key) is not None]
    return next((one for one in found if one[0] is not None), found[0] if found else (None, "missing"))


def error(record: JsonObject, response: JsonObject) -> str | None:
    """What went wrong, in the producer's words, else the HTTP status."""
    for said in (record.get("error"), response.get("error")):
        if isinstance(said, dict):
            said = said.get("message") or said.get("type") or said.get("code")
        if fields.named(said):
            return fields.named(said)
    code = fields.whole(record.get("status_code"))
    if code is None or code < 400:
        return None
    detail = fields.first(response, "detail", "message")
    return f"HTTP {code}: {detail}" if detail else f"HTTP {code}"


def tool_names(tools: Json) -> list[Json]:
    """Names of the tools on offer, from definitions of any API, also as JSON text."""
    offered = fields.tables(fields.parsed(tools))
    return [fields.table(tool.get("function", tool)).get("name") or tool.get("type") for tool in offered]


def judged(record: JsonObject) -> tuple[tuple[Judgement, ...], tuple[Refusal, ...]]:
    """`feedback`, `scores` and `label` of a record; what says nothing readable is refused by itself."""
    said: list[Json] = []
    for key in ("feedback", "scores"):
        value = record.get(key)
        if (
            isinstance(value, dict)
            and value
            and all(isinstance(one, bool | int | float) for one in value.values())
        ):
            said.extend([value] if "value" in value or "score" in value else _by_name(value))
        else:
            said.extend(value if isinstance(value, list) else [] if value is None else [value])
    for key in ("label", "kto_tag"):
        if isinstance(record.get(key), bool):
            said.append({"name": "feedback", "value": record[key], "source": "human", "basis": "label"})
    found = [judgement(one) for one in said]
    return (
        tuple(one for one in found if isinstance(one, Judgement)),
        tuple(one for one in found if isinstance(one, Refusal)),
    )


def judgement(said: Json) -> Judgement | Refusal:
    """One score, thumb or comment."""
    if isinstance(said, str) and said:
        said = {"value": said} if said.lower() in _THUMBS else {"comment": said}
    elif isinstance(said, bool | int | float):
        said = {"value": said}
    if not isinstance(said, dict):
        return Refusal(Reason.BAD_VALUE, "a score is no object, number or text", orjson.dumps(said))
    given = said.get("value", said.get("score", said.get("rating")))
    value = _THUMBS.get(given.lower()) if isinstance(given, str) else None
    value = fields.number(given) if value is None else value
    correction = fields.named(said.get("correction")) or _written(said.get("correction"))
    comment = fields.text(said.get("comment", said.get("explanation")))
    if given is None and correction is None and not comment:
        detail = "a score without value, correction or comment"
        return Refusal(Reason.MISSING_FIELD, detail, orjson.dumps(said))
    is_share = value is not None and 0 <= value <= 1
    return Judgement(
        name=fields.named(said.get("name")) or "feedback",
        value=value if is_share else None,
        said=None if is_share and fields.number(given) is not None else given,
        correction=correction,
        source=fields.named(said.get("source")) or "human",
        annotator=fields.first(said, "annotator", "author", "judge"),
        basis=fields.named(said.get("basis")),
        target=fields.first(said, "target", "span_id", "message_id"),
        comment=comment,
        ts_ns=time(said, ("ts_ns", *START))[0],
        native_id=fields.first(said, "feedback_id", "score_id", "id"),
    )


def _written(correction: Json) -> str | None:
    """A corrected message as its text, another object as JSON."""
    if not isinstance(correction, dict | list):
        return None
    return fields.text(fields.table(correction).get("content")) or fields.written(correction)


def _by_name(scores: JsonObject) -> list[Json]:
    return [{"name": name, "value": value} for name, value in scores.items()]


def _named(places: tuple[JsonObject, ...], keys: tuple[str, ...]) -> str | None:
    return next((found for one in places if (found := fields.first(one, *keys)) is not None), None)
