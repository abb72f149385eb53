"""Errors as answers: every exception of the gateway in OpenAI's error shape, with the status that fits."""

from typing import cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from rsi.errors import ContractError, RefusedError, RsiError, TransientError
from rsi.serve.openai_api import ApiError
from rsi.serve.service import Service

LIMIT = 4 * 1024 * 1024
"""Largest body in bytes: a trace must stay readable as one record."""
UNBOUNDED = ("/v1/traces",)
"""Paths whose handlers bound their bodies themselves."""
_CHAT = "/v1/chat/"


def install(app: FastAPI) -> None:
    """Have the application answer all errors this way, and refuse bodies that are too long."""
    for kind in (RequestValidationError, HTTPException, RsiError, Exception):
        app.add_exception_handler(kind, _answer)
    app.add_middleware(Bounded)


class Bounded:
    """Middleware that refuses a body before it is read: longer than `LIMIT`, or of a length nobody says."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        looked_at = scope["type"] == "http" and scope["path"] not in UNBOUNDED
        headers = Headers(scope=scope) if looked_at else Headers()
        length = headers.get("content-length", "0")
        refused: ApiError | None = None
        if "transfer-encoding" in headers:
            refused = ApiError(411, "send the body with a content-length")
        elif not length.isdecimal() or int(length) > LIMIT:
            refused = ApiError(413, f"the body has {length[:20]} bytes; at most {LIMIT} are read")
        await (JSONResponse(refused.body, refused.status) if refused else self._app)(scope, receive, send)


def spelled(error: Exception) -> ApiError:
    """400 where the request is to blame, 409 where a rule refuses, 503 where a retry may help, else 500."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, HTTPException):
        return ApiError(error.status_code, str(error.detail), headers=dict(error.headers or {}))
    if isinstance(error, ContractError):
        return ApiError(400, str(error))
    if isinstance(error, RefusedError):
        return ApiError(409, str(error))
    if isinstance(error, TransientError):
        return ApiError(503, str(error), code="unavailable")
    said = str(error) if isinstance(error, RsiError) else "internal error; the gateway's log says more"
    return ApiError(500, said)


def _answer(request: Request, error: Exception) -> Response:
    bad_value = isinstance(error, RequestValidationError)
    said = _invalid(cast(RequestValidationError, error), request.url.path) if bad_value else spelled(error)
    cast(Service, request.app.state.service).metrics.errors.labels(str(said.status)).inc()
    return JSONResponse(said.body, status_code=said.status, headers=said.headers)


def _invalid(error: RequestValidationError, path: str) -> ApiError:
    """Bad values: 400 as at OpenAI for the chat API and for what is no JSON at all, 422 elsewhere."""
    found = error.errors()
    places = [".".join(str(part) for part in one["loc"][1:]) for one in found]
    what = zip(places, found, strict=True)
    message = "; ".join(f"{place or 'body'}: {one['msg']}" for place, one in what)
    status = 400 if path.startswith(_CHAT) or found[0]["type"] == "json_invalid" else 422
    return ApiError(status, message[:2000], places[0] or None, "invalid_value")
