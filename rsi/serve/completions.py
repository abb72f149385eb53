"""``POST /v1/chat/completions`` and ``GET /v1/models``: one request from its first hop to its trace."""

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response, StreamingResponse

from rsi.serve.answer import BASE, answer, model_of
from rsi.serve.capture import Answered, TraceLine, nanoseconds
from rsi.serve.failure import spelled
from rsi.serve.openai_api import ApiError, ChatRequest, Completion, Json
from rsi.serve.route import Routed, route
from rsi.serve.service import Parts, Service
from rsi.serve.versions import Live

ROUTED = ("auto", "rsi")
"""Model names that ask for the route hop."""

router = APIRouter()
_log = logging.getLogger(__name__)


@router.post("/v1/chat/completions", response_model=None)
async def chat(request: ChatRequest, service: Parts) -> Response:
    """Route, answer, write the trace, then reply whole or as a stream."""
    await service.follow()
    with service.versions.lease() as live:
        target = _target(live, request.model)
        run = _Run(service, live, request)
        completion = await run.complete(target)
    headers = run.headers
    if not request.stream:
        return JSONResponse(completion.whole(), headers=headers)
    usage = request.stream_options is not None and request.stream_options.include_usage
    return StreamingResponse(_events(completion, usage), media_type="text/event-stream", headers=headers)


@router.get("/v1/models")
async def models(service: Parts) -> Json:
    """`auto`, `base` and every role of the harness."""
    live = await service.follow()
    return {"object": "list", "data": [_model(live, name) for name in ("auto", BASE, *live.harness.roles)]}


@router.get("/v1/models/{model}")
async def model(model: str, service: Parts) -> Json:
    """One of them."""
    live = await service.follow()
    _target(live, model)
    return _model(live, model)


class _Run:
    """One request under way."""

    def __init__(self, service: Service, live: Live, request: ChatRequest) -> None:
        self.service, self.live, self.request = service, live, request
        self.trace_id = secrets.token_hex(16)
        self.routed: Routed | None = None
        self.answered: Answered | None = None
        self.target: str | None = None

    async def complete(self, target: str | None) -> Completion:
        """Both hops; the trace is written whatever becomes of them.

        Raises:
            ApiError: a hop failed; the status as `failure.spelled` finds it.
        """
        began, error = self.service.clock.now(), None
        try:
            answered = await self._hops(target)
        except asyncio.CancelledError:
            error = "cancelled: the gateway stopped before the answer was there"
            raise
        except Exception as failure:
            error = f"{type(failure).__name__}: {failure}"[:2000]
            raise self._failed(failure) from failure
        finally:
            ended = self.service.clock.now()
            self._write(nanoseconds(began), nanoseconds(ended), error)
        self.service.metrics.requests.labels(self.target, self.live.version[:12]).inc()
        self.service.metrics.seconds.labels("all").observe((ended - began).total_seconds())
        return Completion(
            trace_id=self.trace_id,
            created=int(began.timestamp()),
            model=self.model,
            version=self.live.version,
            content=answered.content,
            finish_reason=answered.finish_reason,
            prompt_tokens=answered.prompt_tokens,
            completion_tokens=answered.completion_tokens,
        )

    @property
    def model(self) -> str:
        """The adapter at work, or `base`."""
        return model_of(self.live, self.target or self.live.harness.router)

    @property
    def headers(self) -> dict[str, str]:
        """What every reply says of its origin."""
        known = {"x-rsi-trace-id": self.trace_id, "x-rsi-version": self.live.version}
        return known if self.target is None else {**known, "x-rsi-route": self.target}

    async def _hops(self, target: str | None) -> Answered:
        if target is None:
            self.routed = await route(self.service.batcher, self.live, self.request.prompt)
            self.service.metrics.seconds.labels("route").observe(self.routed.ms / 1000)
            target = self.routed.role
        self.target = target
        fresh_seed = int(self.trace_id[:15], 16)
        self.answered = await answer(self.service, self.live, target, self.request, fresh_seed)
        return self.answered

    def _failed(self, failure: Exception) -> ApiError:
        said = spelled(failure)
        if said.status >= 500:
            _log.error("request %s failed", self.trace_id, exc_info=failure)
        message = f"{said} (trace {self.trace_id})"
        return ApiError(said.status, message, said.param, said.code, {**said.headers, **self.headers})

    def _write(self, start_ns: int, end_ns: int, error: str | None) -> None:
        capture = self.service.capture
        capture.trace(
            TraceLine(
                trace_id=self.trace_id,
                version=self.live.version,
                session=self.request.session,
                start_ns=start_ns,
                end_ns=end_ns,
                messages=self.request.prompt,
                answer=self.answered,
                error=error,
                route=self.routed,
                model=self.model,
            )
        )
        self.service.metrics.lost.set(capture.lost)


def _target(live: Live, model: str) -> str | None:
    """Who shall answer: a role, `base`, or None for whom the router names."""
    if model in ROUTED:
        return None
    if model == BASE or model in live.harness.roles:
        return model
    known = ", ".join(("auto", BASE, *live.harness.roles))
    message = f"the model '{model}' does not exist here; there are {known}"
    raise ApiError(404, message, "model", "model_not_found")


def _model(live: Live, name: str) -> Json:
    adapter = live.adapters.get(name)
    return {"id": name, "object": "model", "created": live.since_s, "owned_by": "rsi", "adapter": adapter}


async def _events(completion: Completion, usage: bool) -> AsyncIterator[bytes]:
    for event in completion.stream(usage):
        yield event
