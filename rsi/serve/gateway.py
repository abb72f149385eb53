"""The Mixture-of-LoRA gateway: an OpenAI-compatible server that routes, answers and takes notes, also of others.

`create_app` is the application over an engine; `run` is the process: engine, socket, registration, signals.
The gateway never opens the store. Loaded lazily: it needs the `serve` extra.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import cast

from fastapi import FastAPI

from rsi.engine.batcher import Batcher
from rsi.errors import ContractError, TransientError
from rsi.ports import Clock, SystemClock
from rsi.records import Origin
from rsi.registry import champion
from rsi.serve import admin, completions, failure, feedback, health, otlp, process
from rsi.serve.capture import Capture
from rsi.serve.client import register, token, unregister
from rsi.serve.metrics import Metrics
from rsi.serve.process import bound, say_aloud, url_of
from rsi.serve.receiver import Receiver
from rsi.serve.service import Options, Reader, Service
from rsi.serve.versions import Versions
from rsi.settings import Deployment, Home, quiet_dependencies
from rsi.traces.spool import Spool, recover

TICK_S = 1.0
"""How often the gateway looks for a new version and an old spool segment when nobody asks for anything."""

_log = logging.getLogger(__name__)


def create_app(home: Home, engine: Reader, options: Options, clock: Clock | None = None) -> FastAPI:
    """The application; it takes the engine over as its only caller.

    Raises:
        ContractError: there is no version to serve, or it belongs to another base.
        IntegrityError: the version's harness or an adapter is missing or altered.
    """
    clock = clock or SystemClock()
    versions = Versions(home, engine)
    token(home)
    spool = receiver = None
    if options.captures:
        recover(home.inbox)
        spool = Spool(home.inbox, clock=clock)
        receiver = Receiver(Spool(home.inbox, "otlp", clock=clock))
    capture = Capture(spool, options.namespace, options.origin)
    batcher = Batcher(engine, options.batch, options.wait_ms)
    service = Service(home, engine, batcher, versions, capture, Metrics(), options, clock)
    service.metrics.running.set_function(lambda: versions.running)
    app = FastAPI(title="rsi gateway", docs_url=None, redoc_url=None, lifespan=_lifespan)
    app.state.service, app.state.otlp = service, receiver
    for part in (completions, feedback, health, admin, *([otlp] if receiver else [])):
        app.include_router(part.router)
    failure.install(app)
    return app


def local_engine(deployment: Deployment) -> Reader:
    """The engine in this process, with the deployment's base.

    Raises:
        ContractError: the deployment names another engine or no base.
    """
    if deployment.engine != "local":
        raise ContractError(f"the gateway serves engine 'local', the deployment names {deployment.engine!r}")
    from rsi.assets import base_folder
    from rsi.engine.local import LocalEngine

    folder, base = base_folder(deployment.base)
    return LocalEngine(folder, base)


def run(
    home: Home,
    deployment: Deployment,
    host: str | None = None,
    port: int | None = None,
    origin: Origin = Origin.TRAFFIC,
    max_tokens: int | None = None,
    engine: Callable[[Deployment], Reader] = local_engine,
    say: Callable[[str], None] = say_aloud,
) -> None:
    """Serve until SIGTERM or SIGINT; what is None comes from the deployment, port 0 is any free port.

    One line with the address goes to `say` once requests are answered. On a signal requests in flight are
    finished, the spool is closed and the registration removed.

    Raises:
        ContractError: nothing to serve, an engine that is not `local`, or an address that cannot be had.
    """
    quiet_dependencies()
    serve, clock = deployment.serve, SystemClock()
    options = Options(deployment.traces.namespace, origin, max_tokens or serve.max_tokens, serve.batch)
    champion.point(home, clock)
    with bound(serve.host if host is None else host, serve.port if port is None else port) as listener:
        app = create_app(home, engine(deployment), options, clock)
        service = cast(Service, app.state.service)
        url, base, version = url_of(listener), service.engine.base, service.versions.live.version

        def ready() -> None:
            register(home, url, base, clock)
            say(f"rsi gateway at {url}/v1 · version {version[:12]} on base {base[:12]} · origin {origin}")

        try:
            process.serve(app, listener, ready)
        finally:
            unregister(home)
            service.close()
            if app.state.otlp:
                app.state.otlp.close()


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    service, receiver = cast(Service, app.state.service), cast(Receiver | None, app.state.otlp)
    ticking = asyncio.create_task(_tick(service, receiver))
    try:
        yield
    finally:
        ticking.cancel()
        with suppress(asyncio.CancelledError):
            await ticking
        await asyncio.to_thread(service.close)
        if receiver:
            await asyncio.to_thread(receiver.close)


async def _tick(service: Service, receiver: Receiver | None) -> None:
    spools = [service.capture.spool, receiver.spool if receiver else None]
    while True:
        await asyncio.sleep(TICK_S)
        try:
            await service.follow()
            await asyncio.to_thread(service.versions.drain)
            for spool in filter(None, spools):
                await asyncio.to_thread(spool.rotate_if_old)
        except TransientError as error:
            _log.warning("%s", error)
