"""Rows of Helicone: what its export and its API tell of one request through the proxy.

``{"request_id", "request_created_at", "request_path", "request_body": {…}, "response_body": {…}, …}``. The bodies are
read as those of their API's own logs are; without them (an export need not have them) the counts are kept.
"""

from rsi.traces.formats import fields
from rsi.traces.formats.assembly import stream
from rsi.traces.formats.bodies import Api, api, run
from rsi.traces.formats.logged import Logged, logged
from rsi.traces.formats.run import Run, Step, Usage, rows
from rsi.traces.rows import Json, JsonObject, Place, Reason, Refusal, Rows

NAME = "helicone"
_SESSION = ("Helicone-Session-Id", "helicone-session-id", "session_id")
_AGENT = ("Helicone-Session-Name", "helicone-session-name", "agent")
_KEPT = ("target_url", "country_code", "prompt_id", "prompt_version", "cache_enabled", "provider", "delay_ms",
         "time_to_first_token")  # fmt: skip


def matches(record: JsonObject) -> bool:
    """The id and time of a request, with what came back."""
    told = {"request_id", "request_created_at"} <= record.keys()
    return told and any(key in record for key in ("response_body", "response_status", "request_body"))


def read(record: JsonObject, place: Place) -> tuple[Rows | Refusal, ...]:
    """One call; the requests of a session that begin alike are one trace."""
    if fields.named(record.get("request_id")) is None:
        return (Refusal(Reason.MISSING_FIELD, "a request without request_id"),)
    request, response = _body(record.get("request_body")), _body(record.get("response_body"))
    url = fields.first(record, "target_url", "request_path") or ""
    kind = api(request, response, url) or Api.CHAT
    frame = _frame(record, request, response)
    made = run(kind, request, response, frame)
    made = made._replace(steps=tuple(_counted(one, record) for one in made.steps))
    if not any(
        one.turns or one.error or one.usage != Usage() or one.kind == "embedding" for one in made.steps
    ):
        return (Refusal(Reason.BAD_VALUE, "neither bodies nor counts say anything"),)
    return (rows(_named(made, record), NAME, place), *frame.refusals)


def _body(value: Json) -> JsonObject:
    """A body as an object, out of its text; a stream is put together."""
    told = fields.parsed(value) if isinstance(value, str) and value.lstrip()[:1] == "{" else value
    found = stream(told)
    return found.body if found is not None else fields.table(told)


def _frame(record: JsonObject, request: JsonObject, response: JsonObject) -> Logged:
    properties = fields.table(record.get("request_properties")) or fields.table(record.get("properties"))
    rating = record.get("feedback_rating")
    outer: JsonObject = {
        "id": record.get("request_id"),
        "start_time": record.get("request_created_at"),
        "end_time": record.get("response_created_at"),
        "user": record.get("request_user_id") or None,
        "session_id": fields.first(properties, *_SESSION),
        "agent": fields.first(properties, *_AGENT),
        "status_code": record.get("response_status"),
        "metadata": properties,
        "scores": record.get("scores") or None,
    }
    outer |= {key: record[key] for key in _KEPT if record.get(key) not in (None, "", False)}
    if isinstance(rating, bool):
        outer["feedback"] = {"value": rating, "source": "end_user", "id": record.get("feedback_id"),
                             "timestamp": record.get("feedback_created_at")}  # fmt: skip
    told: JsonObject = {key: value for key, value in outer.items() if value is not None}
    return logged(told, request, response)


def _counted(step: Step, record: JsonObject) -> Step:
    """Counts and cost as the proxy took them, where the response has none."""
    used = step.usage
    cost = fields.number(record.get("cost", record.get("costUSD")))
    return step._replace(
        model=step.model or fields.first(record, "response_model", "model", "request_model"),
        provider=step.provider or fields.first(record, "provider"),
        usage=Usage(
            used.input if used.input is not None else _count(record, "prompt_tokens"),
            used.output if used.output is not None else _count(record, "completion_tokens"),
            used.cache_read if used.cache_read is not None else _count(record, "prompt_cache_read_tokens"),
            used.cache_write if used.cache_write is not None else _count(record, "prompt_cache_write_tokens"),
            used.reasoning,
            used.cost_usd if used.cost_usd is not None or cost is None or cost < 0 else cost,
        ),
    )


def _count(record: JsonObject, key: str) -> int | None:
    found = fields.whole(record.get(key))
    return found if found is not None and found >= 0 else None


def _named(made: Run, record: JsonObject) -> Run:
    """Without a session the id of the request names the trace for good."""
    native = fields.named(record.get("request_id")) or ""
    steps = tuple(one._replace(native_id=f"{native} {one.kind}") for one in made.steps)
    made = made._replace(steps=steps)
    return made if made.conversation else made._replace(native=native, weak=None)
