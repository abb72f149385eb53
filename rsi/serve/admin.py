"""The admin API: other processes of this machine load, probe and unload adapters.

Two locks: the caller is on this machine and no proxy stands between, and it can read the home's
``admin.token``. The token is read for every request, so that a new file counts at once.
"""

import asyncio
import ipaddress
import math
import secrets
from pathlib import Path

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, ConfigDict, Field

from rsi.errors import RefusedError, TransientError
from rsi.records import ChatMessage
from rsi.serve.client import token
from rsi.serve.openai_api import ApiError, Json
from rsi.serve.service import Parts

_FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip")


class AdapterBody(BaseModel):
    """An adapter to load."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    path: Path


class ProbeBody(BaseModel):
    """Prompts to score choices on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    adapter: str | None
    prompts: tuple[tuple[ChatMessage, ...], ...] = Field(min_length=1, max_length=256)
    choices: tuple[str, ...] = Field(min_length=1, max_length=64)


def _local_holder_of_the_token(request: Request, service: Parts) -> None:
    if not is_local(request):
        raise ApiError(403, "the admin API answers processes of this machine only")
    said = request.headers.get("authorization", "").removeprefix("Bearer ")
    if not secrets.compare_digest(said.encode(), token(service.home).encode()):
        where = service.home.root / "admin.token"
        raise ApiError(401, f"send 'Authorization: Bearer …' with the content of {where}")


def is_local(request: Request) -> bool:
    """Whether the peer is this machine: a loopback address, or the very address that it connected to."""
    server = request.scope.get("server")
    if request.client is None or any(name in request.headers for name in _FORWARDED):
        return False
    try:
        peer = ipaddress.ip_address(request.client.host)
    except ValueError:
        return False
    mapped = peer.ipv4_mapped if isinstance(peer, ipaddress.IPv6Address) else None
    return (mapped or peer).is_loopback or (server is not None and request.client.host == server[0])


router = APIRouter(prefix="/admin", dependencies=[Depends(_local_holder_of_the_token)])


@router.get("/adapters")
async def adapters(service: Parts) -> Json:
    """What is loaded, by name, and whether it serves."""
    live = await service.follow()
    serving = set(live.adapters.values())
    loaded = service.versions.loaded
    return {
        "version": live.version,
        "adapters": [{"name": n, "path": str(p), "serving": n in serving} for n, p in sorted(loaded.items())],
    }


@router.post("/adapters")
async def load(body: AdapterBody, service: Parts) -> Json:
    """Load an adapter of this home; loading it again changes nothing."""
    try:
        await asyncio.to_thread(service.versions.load, body.name, body.path)
    except (RefusedError, TransientError):
        raise
    except Exception as error:  # an engine may say anything of a bad adapter; the caller needs to read it
        raise ApiError(422, f"adapter {body.name[:100]} was not loaded: {error}", "path") from error
    return {"name": body.name, "loaded": True}


@router.delete("/adapters/{name}")
async def unload(name: str, service: Parts) -> Json:
    """Forget an adapter that nothing uses; one that is not loaded is forgotten already."""
    await asyncio.to_thread(service.versions.unload, name)
    return {"name": name, "loaded": False}


@router.post("/probe")
async def probe(body: ProbeBody, service: Parts) -> Json:
    """Log-probabilities (nats) of the choices, one row a prompt; null where not finite."""
    if body.adapter is not None and body.adapter not in service.versions.loaded:
        raise ApiError(404, f"no adapter {body.adapter[:100]!r} is loaded", "adapter", "adapter_not_found")
    asked = [service.batcher.choose_one(prompt, body.choices, body.adapter) for prompt in body.prompts]
    rows = await asyncio.gather(*map(asyncio.wrap_future, asked))
    return {"logprobs": [[score if math.isfinite(score) else None for score in row] for row in rows]}


@router.post("/rotate")
async def rotate(service: Parts) -> Json:
    """Close the spool's open segment."""
    spool = service.capture.spool
    closed = spool.rotate() if spool else None
    return {"closed": str(closed) if closed else None}
