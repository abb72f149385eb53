"""The Mixture-of-LoRA gateway: an OpenAI-compatible server that routes, answers and takes notes.

`create_app` is the application over an engine; `run` is the process: engine, socket, registration, signals.
The gateway never opens the store. Loaded lazily: it needs the `serve` extra.
"""

import asyncio
import logging
import signal
import socket
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import cast

import uvicorn
from fastapi import FastAPI

from rsi.engine.batcher import Batcher
from rsi.errors import ContractError, TransientError
from rsi.ports import Clock, SystemClock
from rsi.records import Origin
from rsi.registry import champion
from rsi.serve import admin, completions, failure, feedback, health
from rsi.serve.capture import Capture
from rsi.serve.client import register, token, unregister
from rsi.serve.metrics import Metrics
from rsi.serve.service import Options, Reader, Service
from rsi.serve.versions import Versions
from rsi.settings import Deployment, Home, quiet_dependencies
from rsi.traces.spool import Spool, recover

TICK_S = 1.0
"""How often the gateway looks for a new version and an old spool segment when nobody asks for anything."""
DRAIN_S = 60
"""How long requests in flight may take after a signal to stop."""

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
    spool = None
    if options.captures:
        recover(home.inbox)
        spool = Spool(home.inbox, clock=clock)
    capture = Capture(spool, options.namespace, options.origin)
    batcher = Batcher(engine, options.batch, options.wait_ms)
    service = Service(home, engine, batcher, versions, capture, Metrics(), options, clock)
    service.metrics.running.set_function(lambda: versions.running)
    app = FastAPI(title="rsi gateway", docs_url=None, redoc_url=None, lifespan=_lifespan)
    app.state.service = service
    for part in (completions, feedback, health, admin):
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


def _say(line: str) -> None:
    print(line, flush=True)


def run(
    home: Home,
    deployment: Deployment,
    host: str | None = None,
    port: int | None = None,
    origin: Origin = Origin.TRAFFIC,
    max_tokens: int | None = None,
    engine: Callable[[Deployment], Reader] = local_engine,
    say: Callable[[str], None] = _say,
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
    with _bound(serve.host if host is None else host, serve.port if port is None else port) as listener:
        app = create_app(home, engine(deployment), options, clock)
        service = cast(Service, app.state.service)
        url, base, version = _url(listener), service.engine.base, service.versions.live.version

        def ready() -> None:
            register(home, url, base, clock)
            say(f"rsi gateway at {url}/v1 · version {version[:12]} on base {base[:12]} · origin {origin}")

        try:
            _serve(_Server(_config(app), ready), listener)
        finally:
            unregister(home)
            service.close()


class _Server(uvicorn.Server):
    """Tells when it answers requests."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn does it, then say so."""
        await super().startup(sockets)
        self._ready()


def _serve(server: _Server, listener: socket.socket) -> None:
    """Run until a signal. uvicorn raises it again when it is done; that must not end the process."""
    if threading.current_thread() is not threading.main_thread():
        server.run(sockets=[listener])
        return

    def stop(*_: object) -> None:
        server.should_exit = True

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        server.run(sockets=[listener])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _config(app: FastAPI) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        ws="none",
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=DRAIN_S,
    )


def _bound(host: str, port: int) -> socket.socket:
    """A socket that holds the address; it listens only when the server is ready."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        raise ContractError(
            f"cannot listen on {host} port {port}: {error.strerror or error}; take another port, or 0 for any"
        ) from None
    return listener


def _url(listener: socket.socket) -> str:
    """Where a process of this machine reaches the gateway."""
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    service = cast(Service, app.state.service)
    ticking = asyncio.create_task(_tick(service))
    try:
        yield
    finally:
        ticking.cancel()
        with suppress(asyncio.CancelledError):
            await ticking
        await asyncio.to_thread(service.close)


async def _tick(service: Service) -> None:
    while True:
        await asyncio.sleep(TICK_S)
        try:
            await service.follow()
            if service.capture.spool:
                await asyncio.to_thread(service.capture.spool.rotate_if_old)
        except TransientError as error:
            _log.warning("%s", error)
