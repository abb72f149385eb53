"""A server as a process: its socket, the line it says when it answers, and signals that end it cleanly.

Loaded lazily: it needs the `serve` extra.
"""

import signal
import socket
import threading
from collections.abc import Callable

import uvicorn
from fastapi import FastAPI

from rsi.errors import ContractError

DRAIN_S = 60
"""How long requests in flight may take after a signal to stop."""


def say_aloud(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)


def serve(app: FastAPI, listener: socket.socket, ready: Callable[[], None]) -> None:
    """Run until a signal. uvicorn raises it again when it is done; that must not end the process."""
    server = _Server(_config(app), ready)
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


def bound(host: str, port: int) -> socket.socket:
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


def url_of(listener: socket.socket) -> str:
    """Where a process of this machine reaches the server."""
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class _Server(uvicorn.Server):
    """Tells when it answers requests."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn does it, then say so."""
        await super().startup(sockets)
        self._ready()


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
