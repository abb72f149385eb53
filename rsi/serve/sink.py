"""The OTLP receiver alone, without an engine: a place for a team's traces to go.

Loaded lazily: it needs the `serve` extra.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from fastapi import FastAPI

from rsi.errors import TransientError
from rsi.ports import Clock, SystemClock
from rsi.serve import otlp
from rsi.serve.process import bound, say_aloud, serve, url_of
from rsi.serve.receiver import Receiver
from rsi.settings import Home, Serve
from rsi.traces.spool import Spool, recover

TICK_S = 1.0
"""How often it looks for an old spool segment."""

_log = logging.getLogger(__name__)


def create_sink(home: Home, clock: Clock | None = None) -> FastAPI:
    """The application: ``/v1/traces`` and ``/health``."""
    recover(home.inbox)
    receiver = Receiver(Spool(home.inbox, "otlp", clock=clock or SystemClock()))
    app = FastAPI(title="rsi traces", docs_url=None, redoc_url=None, lifespan=_lifespan)
    app.state.otlp = receiver
    app.include_router(otlp.router)

    @app.get("/health")
    async def health() -> dict[str, object]:
        spool = receiver.spool.path
        return {
            "status": "degraded" if receiver.problem else "ok",
            "accepted_spans": receiver.accepted,
            "refused_spans": receiver.refused,
            "spool": str(spool) if spool else None,
            "problems": [receiver.problem] if receiver.problem else [],
        }

    return app


def run(
    home: Home,
    settings: Serve,
    host: str | None = None,
    port: int | None = None,
    say: Callable[[str], None] = say_aloud,
) -> None:
    """Take spans until SIGTERM or SIGINT; what is None comes from the settings, port 0 is any free port.

    Raises:
        ContractError: the address cannot be had.
    """
    address = settings.host if host is None else host, settings.port if port is None else port
    with bound(*address) as listener:
        url = url_of(listener)

        def ready() -> None:
            say(f"rsi takes OTLP at {url}{otlp.PATH} \u00b7 into {home.inbox}")

        serve(create_sink(home), listener, ready)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    receiver: Receiver = app.state.otlp
    ticking = asyncio.create_task(_tick(receiver))
    try:
        yield
    finally:
        ticking.cancel()
        with suppress(asyncio.CancelledError):
            await ticking
        await asyncio.to_thread(receiver.close)


async def _tick(receiver: Receiver) -> None:
    while True:
        await asyncio.sleep(TICK_S)
        try:
            await asyncio.to_thread(receiver.spool.rotate_if_old)
        except TransientError as error:
            _log.warning("%s", error)
