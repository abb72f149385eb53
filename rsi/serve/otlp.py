"""``POST /v1/traces``: an OTLP/HTTP receiver that writes into the inbox, so that any exporter can point here.

A request is answered with 200 when its spans are on the disk, not before: the process may be killed at once, and the
machine lose its power, and nothing that was accepted is lost. Requests that come together share one fsync. The router
needs no engine; it finds its `Receiver` in ``app.state.otlp``.
"""

from enum import IntEnum
from typing import Annotated, cast

import orjson
from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceResponse,
)
from starlette.requests import ClientDisconnect

from rsi.errors import ContractError, TransientError
from rsi.serve.receiver import LIMIT, Receiver, Taken, TooLargeError

PATH = "/v1/traces"
JSON, PROTOBUF = "application/json", "application/x-protobuf"
RETRY_S = 1

router = APIRouter()


class _Code(IntEnum):
    """Of ``google.rpc.Status``, by HTTP status."""

    INVALID_ARGUMENT = 3
    RESOURCE_EXHAUSTED = 8
    UNAVAILABLE = 14


class _UnknownKindError(Exception):
    """A content type or encoding that is not read."""


def _of(request: Request) -> Receiver:
    return cast(Receiver, request.app.state.otlp)


@router.post(PATH, response_model=None)
async def traces(request: Request, receiver: Annotated[Receiver, Depends(_of)]) -> Response:
    """Take the spans of an ``ExportTraceServiceRequest``, and say which were refused and why."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    held = bytearray()
    try:
        is_packed = _known(media, request.headers.get("content-encoding", "").strip().lower())
        await _read(request, receiver, held)
        taken = await receiver.take(bytes(held), media == JSON, is_packed)
    except _UnknownKindError as error:
        return _failed(media, 415, str(error))
    except TooLargeError as error:
        return _failed(media, 413, str(error))
    except ContractError as error:
        return _failed(media, 400, str(error))
    except TransientError as error:
        return _failed(media, 503, str(error))
    except ClientDisconnect:
        return Response(status_code=400)
    finally:
        receiver.hold(-len(held))
    return _accepted(media, taken)


def _known(media: str, encoding: str) -> bool:
    """Whether the body is packed, where it is of a kind that is read."""
    if media not in (JSON, PROTOBUF):
        raise _UnknownKindError(f"content-type {media[:80]!r}; expected {PROTOBUF} or {JSON}")
    if encoding not in ("", "identity", "gzip"):
        raise _UnknownKindError(f"content-encoding {encoding[:80]!r}; expected gzip or none")
    return encoding == "gzip"


async def _read(request: Request, receiver: Receiver, held: bytearray) -> None:
    """The body into `held`, as far as it may go."""
    said = request.headers.get("content-length", "0")
    if said.isdecimal() and int(said) > LIMIT:
        raise TooLargeError(f"a body of {said} bytes; at most {LIMIT} are read")
    async for chunk in request.stream():
        if len(held) + len(chunk) > LIMIT:
            raise TooLargeError(f"a body of more than {LIMIT} bytes; send smaller batches")
        receiver.hold(len(chunk))
        held += chunk


def _accepted(media: str, taken: Taken) -> Response:
    """An ``ExportTraceServiceResponse``; its partial success says what was refused."""
    if media == JSON:
        partial = {"rejectedSpans": str(taken.refused), "errorMessage": taken.why}
        return Response(orjson.dumps({"partialSuccess": partial} if taken.refused else {}), media_type=JSON)
    answer = ExportTraceServiceResponse()
    if taken.refused:
        said = ExportTracePartialSuccess(rejected_spans=taken.refused, error_message=taken.why)
        answer.partial_success.CopyFrom(said)
    return Response(answer.SerializeToString(), media_type=PROTOBUF)


def _failed(media: str, status: int, message: str) -> Response:
    """A ``google.rpc.Status``, in JSON where the request's own encoding is not known."""
    code = {413: _Code.RESOURCE_EXHAUSTED, 503: _Code.UNAVAILABLE}.get(status, _Code.INVALID_ARGUMENT)
    headers = {"retry-after": str(RETRY_S)} if status == 503 else None
    if media != PROTOBUF:
        return Response(orjson.dumps({"code": code, "message": message}), status, headers, JSON)
    said = message.encode()
    # Two fields of protobuf: 1, a number below 128, and 2, a text with its length before it.
    body = bytes((0x08, code, 0x12)) + _varint(len(said)) + said
    return Response(body, status, headers, PROTOBUF)


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])
