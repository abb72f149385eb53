"""The HTML reports of a home's verdicts over HTTP, so that the form in Prefect can link to them.

`flows.deploy` serves them while it runs: read only, on the loopback, each at the digest of its verdict and nothing
else. A reverse proxy may stand before it; `--reports-url` is then what people are told.
"""

import re
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import orjson

from rsi.report.page import POLICY
from rsi.settings import Home
from rsi.store.files import write_whole

PORT = 4201
"""Beside Prefect's 4200; another one where it is taken."""
_VERDICT = re.compile(r"/([0-9a-f]{64})")


class _Reports(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    home: Home


class _Handler(BaseHTTPRequestHandler):
    server: _Reports

    def do_GET(self) -> None:
        """The report of the verdict that the path names."""
        named = _VERDICT.fullmatch(self.path)
        try:
            if named is None:
                raise FileNotFoundError
            data = (self.server.home.verdicts / named[1] / "report.html").read_bytes()
        except OSError:
            self.send_error(404)
            return
        self.send_response(200)
        for name, value in {
            "Content-Type": "text/html; charset=utf-8",
            "Content-Length": str(len(data)),
            "Content-Security-Policy": f"{POLICY}; frame-ancestors 'none'",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
        }.items():
            self.send_header(name, value)
        self.end_headers()
        with suppress(ConnectionError):
            self.wfile.write(data)

    def log_message(self, format: str, *_: object) -> None:
        """Nothing: what people read is not logged."""


def serve(home: Home, port: int = PORT, told: str | None = None) -> str:
    """Serve in a thread of this process, and leave the address in ``reports.json``; the address.

    The port is that of the last time where it is free: forms that wait link to it. `told` is what people are told
    instead.
    """
    server = _bound(_read(home).get("port", port), port)
    server.home = home
    Thread(target=server.serve_forever, name="reports", daemon=True).start()
    url = (told or f"http://127.0.0.1:{server.server_port}").rstrip("/")
    write_whole(home.root / "reports.json", orjson.dumps({"url": url, "port": server.server_port}))
    return url


def _bound(*ports: object) -> _Reports:
    """On the first of these ports that is free, else on any."""
    for port in ports:
        with suppress(OSError):
            if isinstance(port, int) and 0 <= port < 65536:
                return _Reports(("127.0.0.1", port), _Handler)
    return _Reports(("127.0.0.1", 0), _Handler)


def _read(home: Home) -> dict[str, object]:
    try:
        found = orjson.loads((home.root / "reports.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def address(home: Home, verdict: str) -> str | None:
    """Where the report of a verdict can be read; None where nobody serves reports."""
    url = str(_read(home).get("url"))
    return f"{url}/{verdict}" if re.fullmatch(r"https?://[A-Za-z0-9.:/_\[\]-]+", url) else None
