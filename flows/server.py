"""A Prefect server of a home's own: SQLite under ``prefect/``, a free port of the loopback, no telemetry.

``python -m flows.server`` runs one until Ctrl-C. Another server is named by ``PREFECT_API_URL``.
Loads no Prefect itself: its settings are read when Prefect is imported, and must be in place by then.
"""

import argparse
import os
import socket
import sys
from dataclasses import dataclass
from pathlib import Path

import httpx
import orjson

from flows.processes import Process, Processes, told
from rsi.errors import ContractError, TransientError
from rsi.registry.waiting import api_url
from rsi.settings import OFFLINE, Home, quiet_dependencies
from rsi.store.files import write_whole

READY_S = 240.0
"""A fresh database takes half a minute on a quiet machine."""


@dataclass(frozen=True)
class Server:
    """A server that was started here."""

    home: Home
    port: int
    process: Process

    @property
    def api_url(self) -> str:
        """What clients are told."""
        return f"http://127.0.0.1:{self.port}/api"

    @property
    def ui_url(self) -> str:
        """What people are told."""
        return f"http://127.0.0.1:{self.port}"

    def wait(self, processes: Processes) -> None:
        """Wait until it answers.

        Raises:
            TransientError: it ended, or does not answer in time.
        """
        processes.wait(self.process, lambda: healthy(self.api_url), READY_S)


def start(home: Home, processes: Processes) -> Server:
    """Start a server for a home; `Server.wait` says when it answers."""
    port = _free_port()
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
    environment = settings(home, f"http://127.0.0.1:{port}/api")
    return Server(home, port, processes.start("prefect-server", command, environment))


def settings(home: Home, url: str) -> dict[str, str]:
    """Variables for the server, for what is served and for every client of it."""
    direct = ",".join(filter(None, (os.environ.get("NO_PROXY"), "127.0.0.1", "localhost")))
    return {
        **OFFLINE,
        "NO_PROXY": direct,
        "no_proxy": direct,
        "PREFECT_HOME": str(home.root / "prefect"),
        "PREFECT_API_URL": url,
        "PREFECT_RESULTS_PERSIST_BY_DEFAULT": "true",
        "PREFECT_RESULTS_DEFAULT_SERIALIZER": "json",
        "PREFECT_SERVER_DATABASE_TIMEOUT": "60",
        "PREFECT_CLI_PROMPT": "false",
    }


def healthy(url: str) -> bool:
    """Whether a server answers there."""
    try:
        return httpx.get(f"{url}/health", timeout=5, trust_env=False).status_code == 200
    except httpx.HTTPError:
        return False


def connect(home: Home) -> str:
    """Point this process at the home's server, and leave its address for `rsi approve`; the address.

    Raises:
        ContractError: no server is named.
        TransientError: it does not answer.
    """
    url = api_url(home)
    if url is None:
        raise ContractError(
            "no Prefect server is named; set PREFECT_API_URL, or start one with `python -m flows.server`"
        )
    if not healthy(url):
        raise TransientError(
            f"the Prefect server at {url} does not answer; start it, or set PREFECT_API_URL to another"
        )
    adopt(home, url)
    return url


def adopt(home: Home, url: str) -> None:
    """Make this process a client of a server; to be called before Prefect is imported."""
    quiet_dependencies()
    os.environ.update(settings(home, url))
    publish(home, url)


def publish(home: Home, url: str) -> None:
    """Say in ``prefect.json`` where the server is."""
    write_whole(home.root / "prefect.json", orjson.dumps({"api_url": url}))


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def main() -> None:
    """Run a server in the foreground."""
    parser = argparse.ArgumentParser(
        prog="python -m flows.server", description="A Prefect server for one home."
    )
    parser.add_argument("--home", type=Path, help="folder of the deployment (RSI_HOME)")
    home = Home.find(parser.parse_args().home)
    with Processes(home.root / "logs") as processes:
        server = start(home, processes)
        print(f"starting a Prefect server; its output goes to {server.process.log}", flush=True)
        server.wait(processes)
        publish(home, server.api_url)
        print(f"Prefect UI at {server.ui_url} · API at {server.api_url} · Ctrl-C stops it", flush=True)
        try:
            server.process.popen.wait()
            raise server.process.died()
        finally:
            # The port is another one next time.
            (home.root / "prefect.json").unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(told(main))
