"""``POST /v1/feedback``: what somebody says of an answer, attached to its trace by id.

The trace may have been written by another gateway, or not be ingested yet, so that any well-formed id is
taken.
"""

import secrets
from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, model_validator

from rsi.errors import RefusedError, TransientError
from rsi.harness.hcp import Harness
from rsi.serve.capture import FeedbackLine, nanoseconds
from rsi.serve.openai_api import ApiError, Json, Text
from rsi.serve.service import Parts

ROUTE = "route"
"""Name of the feedback that judges the router; its correction is a role."""

router = APIRouter()


class Feedback(BaseModel):
    """The body; one of score, correction and comment must be there."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    trace_id: str = Field(pattern=r"^(chatcmpl-)?[0-9a-f]{32}$")
    """Trace id, or the id of the completion."""
    name: str = Field("feedback", pattern=r"^[A-Za-z0-9_.-]{1,64}$")
    """What is judged; `route` is the router's choice."""
    score: float | None = Field(None, ge=0, le=1, allow_inf_nan=False)
    """1 good, 0 bad."""
    correction: Text | None = Field(None, min_length=1, max_length=20_000)
    """What would have been right; for `route` a role of the harness or its word."""
    source: Literal["human", "label", "end_user"] = "end_user"
    comment: Text | None = Field(None, max_length=20_000)

    @model_validator(mode="after")
    def _says_something(self) -> "Feedback":
        if self.score is None and self.correction is None and not self.comment:
            raise ValueError("give a score, a correction or a comment")
        return self


@router.post("/v1/feedback")
async def take(feedback: Feedback, service: Parts) -> Json:
    """Write it to the spool; the answer is sent after that."""
    if service.capture.spool is None:
        raise RefusedError(f"this gateway serves {service.options.origin} requests and writes nothing down")
    correction = feedback.correction
    if feedback.name == ROUTE and correction is not None:
        correction = role_of((await service.follow()).harness, correction)
    line = FeedbackLine(
        feedback_id=secrets.token_hex(16),
        trace_id=feedback.trace_id.removeprefix("chatcmpl-"),
        name=feedback.name,
        score=feedback.score,
        correction=correction,
        source=feedback.source,
        comment=feedback.comment,
        ts_ns=nanoseconds(service.clock.now()),
    )
    try:
        service.capture.feedback(line)
    except TransientError as error:
        raise ApiError(503, str(error), code="unavailable") from error
    service.metrics.feedback.inc()
    return {"feedback_id": line.feedback_id, "trace_id": line.trace_id, "correction": correction}


def role_of(harness: Harness, said: str) -> str:
    """A role, from itself or from the word that names it.

    Raises:
        ApiError: 422; it is neither.
    """
    if said in harness.roles:
        return said
    if said in harness.labels:
        return harness.labels[said]
    allowed = ", ".join(f"{role} ({word})" for word, role in harness.labels.items())
    message = f"correction {said[:80]!r} is no route here; allowed: {allowed}"
    raise ApiError(422, message, "correction", "invalid_route")
