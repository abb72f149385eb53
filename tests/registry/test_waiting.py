"""Waking the suspended run over Prefect's HTTP API."""

import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from rsi.errors import TransientError
from rsi.records import Approval, Decision
from rsi.registry.waiting import ask, resume

SAID = Approval(verdict="a" * 64, decision=Decision.APPROVE, approver="ada", reason="good", via="command")


def test_without_a_server_nothing_waits(home, monkeypatch):
    """No address, no question."""
    monkeypatch.delenv("PREFECT_API_URL", raising=False)

    assert resume(home, SAID) is None


def test_a_dead_server_is_one_clear_line(home, monkeypatch):
    """It says that the approval is safe and what to do."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setenv("PREFECT_API_URL", f"http://127.0.0.1:{taken.getsockname()[1]}/api")

        with pytest.raises(TransientError, match="does not answer") as caught:
            resume(home, SAID)
    assert "the approval is in the ledger" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_busy_server_is_asked_again():
    """A locked database answers 503 for a moment; that is no answer."""
    left = [503, 503, 200]

    class Busy(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(left.pop(0))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Busy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            assert ask(f"http://127.0.0.1:{server.server_port}", "GET", "/x").status_code == 200
        finally:
            server.shutdown()
    assert not left
