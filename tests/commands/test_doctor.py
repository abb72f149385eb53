"""`rsi doctor`: each line with what is there, what is wrong, and what to do."""

import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import orjson
import pytest

from rsi.gate import lock
from rsi.gate.suites import digest_of
from rsi.gate.suites.fresh import make
from rsi.settings import Deployment, Home, gate_key
from rsi.store.ledger import Ledger
from rsi.store.locks import hold
from tests import night_made
from tests.commands.spoken import Terminal
from tests.gate.made import fresh_contracts
from tests.made import FixedClock


class Models(BaseHTTPRequestHandler):
    """An OpenAI-compatible server that only lists its models."""

    def do_GET(self) -> None:
        body = orjson.dumps({"data": [{"id": "judge-1"}]})
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    found = HTTPServer(("127.0.0.1", 0), Models)
    threading.Thread(target=found.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{found.server_port}"
    found.shutdown()


@pytest.fixture
def told(terminal: Terminal, home: Home, tiny_base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What the doctor says of a tiny home whose deployment file has other settings, by line."""
    contracts = night_made.contracts(tmp_path / "contracts")
    monkeypatch.setenv("RSI_CONTRACTS", str(contracts))
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    night_made.make_home(home.root, tiny_base)

    def run(**settings: object) -> dict[str, dict[str, object]]:
        plain = night_made.settings(tiny_base).model_dump(mode="json")
        Deployment.model_validate({**plain, **settings}).write(home.deployment_file)
        return orjson.loads(terminal("doctor", "--json").out)

    return run


def test_a_fresh_home_works_and_says_what_to_look_at(told) -> None:
    """Nothing is broken but what this machine lacks; nobody is named to approve, no snapshot, no Prefect."""
    found = told()

    assert {name for name, one in found.items() if one["state"] == "bad"} <= {"packages", "assets"}
    assert {name for name, one in found.items() if one["state"] == "look"} == {
        "approvers", "snapshot", "prefect",
    }  # fmt: skip
    assert "tiny/v1 with tiny-routing/v1 (8 items)" in found["contract"]["text"]
    assert found["engine"]["text"].startswith("local")
    assert "1 file" in found["inbox"]["text"]


def test_servers_that_do_not_answer_or_lack_the_model_are_named(told, server: str, monkeypatch) -> None:
    """With the key of the deployment file; one that answers is said to."""
    gone = "http://127.0.0.1:9"
    monkeypatch.setenv("PREFECT_API_URL", gone)
    found = told(
        engine=f"{server}/v1",
        judge={"url": server, "model": "another"},
        expand={"generator": {"url": gone, "model": "x"}},
    )

    assert found["engine"]["state"] == "ok"
    assert "judge-1" in found["engine"]["text"]
    assert found["judge"]["state"] == "bad"
    assert "wants another" in found["judge"]["text"]
    assert found["generator"]["state"] == "bad"
    assert "expand.generator.url" in found["generator"]["text"]
    assert found["prefect"]["state"] == "bad"


def test_what_is_missing_exits_with_2_and_says_what_to_do(told, terminal: Terminal) -> None:
    """A base that is nowhere, a contract that is not there."""
    found = told(base="/nowhere/base", contract="other/v1")

    assert "neither an asset nor a folder" in found["base"]["text"]
    assert "no contract other/v1" in found["contract"]["text"]
    done = terminal("doctor")
    assert done.code == 2
    assert "BAD  contract: no contract other/v1" in done.out


def test_a_night_that_was_killed_and_a_lock_that_is_held_are_told(told, home: Home) -> None:
    """Who holds it; once nobody does, how to go on."""
    Ledger(home.ledger, FixedClock()).append("night", night="2026-01-02", body={"ordinal": 1})
    with hold(home.night_lock, "night 2026-01-02", "today"):
        found = told()
        assert "night by night 2026-01-02 (process" in found["locks"]["text"]
        assert "rsi cancel" not in found["nights"]["text"]

    found = told()
    assert found["locks"]["text"] == "free"
    assert "rsi nightly --night 2026-01-02" in found["nights"]["text"]
    assert "rsi cancel" in found["nights"]["text"]


def test_a_contract_on_fresh_items_wants_the_gates_key(told, home: Home, tmp_path: Path) -> None:
    """Told before a night ends for want of it."""
    root = tmp_path / "contracts"
    made = fresh_contracts(tmp_path / "other")
    shutil.copytree(made / "suites/played", root / "suites/played")
    contract = (made / "gate/agent/v1.toml").read_text()
    pin = digest_of(root / "suites/tiny-routing/v1")
    routing = digest_of(made / "suites/routing/v1")
    (root / "gate/agent").mkdir()
    (root / "gate/agent/v1.toml").write_text(contract.replace(routing, pin).replace("routing/v1", "tiny-routing/v1"))

    found = told(contracts={"L1": "agent/v1"})["contract"]
    assert found["state"] == "bad" and "make it with `rsi gate key`" in str(found["text"])
    make(gate_key(home))
    assert "played/v1 (12 fresh items a night)" in str(told(contracts={"L1": "agent/v1"})["contract"]["text"])


def test_a_contract_that_nobody_approved_is_bad_and_a_gate_apart_is_not_looked_into(told, tmp_path: Path, monkeypatch):
    """The one would stop the night at its end; the other alone has the contracts' place."""
    root = tmp_path / "contracts"
    lock.write(root, lock.Lock())

    found = told()["contract"]
    assert found["state"] == "bad" and "nobody approved it" in str(found["text"])

    monkeypatch.setenv("RSI_GATE", "gate --here")
    monkeypatch.setenv("RSI_CONTRACTS", "/none/such")
    found = told()["contract"]
    assert found["state"] == "ok" and "`gate --here` starts" in str(found["text"])
