"""Files of OpenAI's Batch API: lines of the input, lines of the output, lines of the errors.

- input: ``{"custom_id", "method", "url", "body"}``; output: ``{"id", "custom_id", "response": {"status_code",
  "body"}, "error"}``; bodies of chat completions, responses and embeddings;
- also Anthropic's: ``{"custom_id", "params"}`` and ``{"custom_id", "result": {"type", "message"}}``.

Prompts are in the input alone and answers in the output alone, in another order; `custom_id` joins them to one
trace of one call. Batches that use the same ids again need a namespace each.
"""

from typing import NamedTuple

from rsi.traces.formats import fields
from rsi.traces.formats.bodies import api, run
from rsi.traces.formats.logged import Logged, logged
from rsi.traces.formats.run import Run, Step, rows
from rsi.traces.rows import Json, JsonObject, Place, Reason, Refusal, Rows

NAME = "openai_batch"
_CALL = "call"
"""Native id of the one span, which input and output tell of."""


class Line(NamedTuple):
    """One line of any of the files."""

    url: str
    request: JsonObject
    response: JsonObject
    error: str | None
    answered: bool
    """Whether the line is of the output."""


def matches(record: JsonObject) -> bool:
    """A custom id with a request, a response or an error."""
    return "custom_id" in record and any(
        key in record for key in ("body", "response", "error", "params", "result")
    )


def read(record: JsonObject, place: Place) -> tuple[Rows | Refusal, ...]:
    """What the line knows of its trace."""
    custom_id = fields.named(record.get("custom_id"))
    if custom_id is None:
        return (Refusal(Reason.MISSING_FIELD, "a line of a batch without custom_id"),)
    line = _line(record)
    if not line.answered and not line.request:
        return (
            Refusal(
                Reason.MISSING_FIELD, f"custom_id {custom_id[:80]!r}: neither a request body nor a response"
            ),
        )
    kind = api(line.request, line.response, line.url)
    frame = _frame(record, line, custom_id)
    if kind is None and line.error is None:
        detail = f"custom_id {custom_id[:80]!r}: bodies of no API that is known, url {line.url[:200]!r}"
        return (Refusal(Reason.BAD_VALUE, detail),)
    if kind is None:
        failed = Step(native_id=_CALL, kind="llm", name="batch", status="error", error=line.error)
        made = Run(native=custom_id, family=NAME, steps=(failed,), error=line.error, metadata=frame.metadata)
    else:
        made = run(kind, line.request, line.response, frame)
    return (rows(_joined(made, custom_id), NAME, place), *frame.refusals)


def _line(record: JsonObject) -> Line:
    response = fields.table(record.get("response"))
    result = fields.table(record.get("result"))
    body = fields.table(fields.parsed(response.get("body"))) or fields.table(result.get("message"))
    told: list[Json] = [record.get("error"), body.get("error"), result.get("error")]
    error = next((found for one in told if (found := _said(one)) is not None), None)
    code = fields.whole(response.get("status_code"))
    if error is None and code is not None and code >= 400:
        error = f"HTTP {code}"
    if error is None and result.get("type") in ("errored", "canceled", "expired"):
        error = fields.named(result.get("type"))
    return Line(
        url=fields.first(record, "url")
        or ("/v1/messages" if "params" in record or "result" in record else ""),
        request=fields.table(fields.parsed(record.get("body"))) or fields.table(record.get("params")),
        response=body,
        error=error,
        answered=bool(response or result or error),
    )


def _said(error: Json) -> str | None:
    """The message of an error, also one wrapped in another."""
    if not isinstance(error, dict):
        return fields.named(error)
    inner = error.get("error")
    return _said(inner) if isinstance(inner, dict) else fields.first(error, "message", "code", "type")


def _frame(record: JsonObject, line: Line, custom_id: str) -> Logged:
    outer = {"id": record.get("id"), "request_id": fields.table(record.get("response")).get("request_id")}
    known = {
        f"batch_{key}" if key == "id" else key: value for key, value in outer.items() if value is not None
    }
    around: JsonObject = {
        key: record[key] for key in ("metadata", "feedback", "scores", "label") if key in record
    }
    return logged({**around, **known}, line.request, line.response)._replace(
        trace_id=custom_id, error=line.error
    )


def _joined(made: Run, custom_id: str) -> Run:
    """One trace and one span, whichever line tells of them; only the output knows ids of the answer."""
    return made._replace(
        native=custom_id,
        weak=None,
        family=NAME,
        conversation=None,
        steps=tuple(one._replace(native_id=_CALL, name="batch") for one in made.steps),
    )
