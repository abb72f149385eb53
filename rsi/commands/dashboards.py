"""Pages for analysts, served to this machine by marimo."""

import os
import secrets
import socket
import subprocess
import sys
import time
import webbrowser
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from rsi.commands.say import line
from rsi.errors import ContractError, TransientError
from rsi.settings import PROJECT, Home

HOST = "127.0.0.1"
SESSION_TTL_S = 300
"""How long a page that was closed keeps its memory."""
_START_S = 60.0


class Page(StrEnum):
    """What to serve; all of them know each other's address."""

    NIGHTS = "nights"
    LINEAGE = "lineage"
    FAILURES = "failures"
    LABEL = "label"
    ALL = "all"


def dashboards(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on this machine; 0 is any free one.")] = 0,
    page: Annotated[Page, typer.Option(help="label writes labels; the others only read.")] = Page.ALL,
    show: Annotated[bool, typer.Option("--open/--no-open", help="Open a browser.")] = True,
) -> None:
    """Serve the analysts' pages to this machine until you press Ctrl-C; prints their addresses."""
    import signal

    missing = [package for package in ("marimo", "altair") if find_spec(package) is None]
    if missing:
        raise ContractError(
            f"the pages need {' and '.join(missing)}, not installed here: pip install 'rsi[dashboards]'"
        )
    port, token = _free(port), secrets.token_urlsafe(16)
    names: list[Page] = [one for one in Page if one is not Page.ALL] if page is Page.ALL else [page]
    # A terminating signal ends the server too.
    signal.signal(signal.SIGTERM, _stop)
    process = _serve(names, port, token)
    try:
        _wait(process, port)
        addresses = [_address(port, token, name if len(names) > 1 else None) for name in names]
        for name, address in zip(names, addresses, strict=True):
            line(f"{name}: {address}")
        if show:
            webbrowser.open(addresses[0])
        process.wait()
    except KeyboardInterrupt:
        return
    finally:
        process.terminate()
        process.wait()


def _serve(names: list[Page], port: int, token: str) -> subprocess.Popen[bytes]:
    """Start marimo. The token goes through a pipe: a command line can be read by everybody on the machine."""
    files = [str(_file(name)) for name in names]
    command = [sys.executable, "-m", "marimo", "--quiet", "run", *files, "--headless", "--host", HOST,
               "--port", str(port), "--session-ttl", str(SESSION_TTL_S), "--token", "--token-password-file", "-",
               "--", "--pages", "all" if len(names) > 1 else names[0].value]  # fmt: skip
    paths = [str(PROJECT), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = {
        **os.environ,
        "RSI_HOME": str(Home.find().root),
        "PYTHONPATH": os.pathsep.join(paths),
        "MARIMO_SKIP_UPDATE_CHECK": "1",
    }
    # A session of its own: Ctrl-C reaches it through us, once.
    process = subprocess.Popen(command, stdin=subprocess.PIPE, env=env, start_new_session=True)
    assert process.stdin is not None
    process.stdin.write(token.encode())
    process.stdin.close()
    return process


def _file(name: Page) -> Path:
    path = PROJECT / "dashboards" / f"{name.value}.py"
    if not path.exists():
        raise ContractError(f"no page at {path}; install rsi again, with its extra `dashboards`")
    return path


def _free(port: int) -> int:
    with socket.socket() as probe:
        try:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((HOST, port))
        except OSError:
            raise ContractError(
                f"port {port} of {HOST} is taken or not allowed; choose another, or 0 for a free one"
            ) from None
        return int(probe.getsockname()[1])


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise TransientError(f"marimo ended with code {process.returncode} before it served; see above")
        try:
            socket.create_connection((HOST, port), 0.2).close()
            return
        except OSError:
            time.sleep(0.1)
    raise TransientError(f"marimo did not answer on {HOST}:{port} within {_START_S:.0f} s")


def _address(port: int, token: str, name: Page | None) -> str:
    file = f"file={name.value}.py&" if name else ""
    return f"http://{HOST}:{port}/?{file}access_token={token}"


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
