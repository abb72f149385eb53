"""``GET /health`` and ``GET /metrics``."""

from fastapi import APIRouter
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST

from rsi.serve.client import Health
from rsi.serve.service import Parts

router = APIRouter()


@router.get("/health")
async def health(service: Parts) -> Health:
    """How the gateway is doing; *degraded* answers requests all the same."""
    live = await service.follow()
    spool = service.capture.spool
    problems = [text for text in (service.versions.problem, service.capture.problem) if text]
    return Health(
        status="degraded" if problems else "ok",
        version=live.version,
        base=service.engine.base,
        adapters=dict(live.adapters),
        loaded=tuple(sorted(service.versions.loaded)),
        queue=service.versions.running,
        spool=str(spool.path) if spool and spool.path else None,
        problems=tuple(problems),
    )


@router.get("/metrics")
async def metrics(service: Parts) -> Response:
    """Prometheus text."""
    return Response(service.metrics.text(), media_type=CONTENT_TYPE_LATEST)
