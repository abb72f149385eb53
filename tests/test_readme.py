"""Every command of the README runs, but `make demo` and `make test` itself; what a reader types works."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import orjson
import pytest

from rsi.ports import SystemClock
from rsi.registry import approval
from rsi.settings import PROJECT, Home
from rsi.store.ledger import Ledger
from tests import night_made

README = (PROJECT / "README.md").read_text()
BLOCKS = [
    [
        re.sub(r"\s+#.*$", "", line).strip()
        for line in block.splitlines()
        if line.strip() and not line.startswith("export ")
    ]
    for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
]
MAKE, LOOK, OWN, ANALYSE, SERVE, SERVER, DEPLOY, ANSWER = BLOCKS
"""The commands, block by block; each block is run by a test below, but the first."""


def shell(line: str, home: Home, **environment: str) -> str:
    """Run one line of the README; its output."""
    done = subprocess.run(
        ["bash", "-c", line],
        env=environ(home, **environment), cwd=home.root.parent, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return done.stdout


def environ(home: Home, **environment: str) -> dict[str, str]:
    """Variables as after the README's exports, with the commands of this environment first."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "RSI_HOME": str(home.root), "OMP_NUM_THREADS": "1", **environment}


@pytest.fixture(scope="module")
def asked(tmp_path_factory, tiny_base):
    """A tiny home whose night passed, waiting for an answer; and its contracts."""
    root = tmp_path_factory.mktemp("readme")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RSI_CONTRACTS", str(night_made.contracts(root / "contracts")))
        home = night_made.make_home(root / "home", tiny_base)
        ending = night_made.run_night(home, tiny_base, taught=True, clock=SystemClock())
    assert ending.judgement == "pass", ending.reason
    return home, {"RSI_CONTRACTS": str(root / "contracts"), "PREFECT_API_URL": ""}


def test_the_first_block_is_the_two_commands():
    """What a newcomer types; continuous integration runs the second."""
    assert MAKE == ["make demo", "make test"]
    assert "make test" in (PROJECT / ".ci" / "run").read_text()


def test_answering_promoting_and_looking_around(asked):
    """The lines about approval, then those about looking around, on a home that has all of it."""
    home, environment = asked
    digits = approval.waiting(Ledger(home.ledger, SystemClock()), SystemClock().now())[0].verdict[:8]
    approve, promote = ANSWER

    said = {
        line: shell(line.replace("1a2b3c4d", digits), home, **environment)
        for line in [approve, promote, *LOOK]
    }

    assert "is in service" in said["rsi promote"]
    assert "adapter L0: L0-" in said["rsi lineage champion"]
    assert "all invariants hold" in said["rsi verify"]
    assert "Gate: pass" in said["rsi report"]
    assert "traffic" in said[next(line for line in LOOK if line.startswith("rsi sql"))]
    assert "is in service again" in said[LOOK[-1]]


@pytest.mark.base
@pytest.mark.slow
def test_your_own_traces(tmp_path, smollm):
    """From an empty home and a folder of logs to a night that says why it stays quiet."""
    home = Home(tmp_path / "home")
    (tmp_path / "logs").mkdir()
    for name in ("broken.jsonl", "chat.jsonl", "gateway.ndjson", "otlp.json"):
        shutil.copy(PROJECT / "data" / "traces" / name, tmp_path / "logs")

    said = {line: shell(line, home) for line in OWN}

    assert "is in service" in said["rsi init"]
    assert "quarantined" in said["rsi ingest logs/"]
    assert "rsi quarantine show" in said["rsi quarantine list"]
    assert "would read" in said["rsi nightly --dry-run"]
    assert "a night trains from 20 on" in said["rsi nightly"]
    asked = {line.split()[-1]: shell(line, home) for line in ANALYSE}
    assert "v_llm_calls" in asked["--schema"]
    assert "settled" in asked["retry"]
    assert (home.root.parent / "calls.parquet").stat().st_size
    assert b"resourceSpans" in (home.root.parent / "exported.jsonl").read_bytes()


def test_serving_and_the_python_lines(asked, tmp_path):
    """The gateway starts, the snippet gets an answer, feedback is taken, SIGTERM ends it."""
    home, environment = asked
    (snippet,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    (line,) = SERVE
    serving = subprocess.Popen(
        ["bash", "-c", f"exec {line.replace('8080', '0')} --max-tokens 4"],
        env=environ(home, **environment), stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        url = re.search(r"http://\S+/v1", serving.stdout.readline()).group()
        found: dict[str, object] = {}
        exec(compile(snippet.replace("http://127.0.0.1:8080/v1", url), "README", "exec"), found)
        told = httpx.post(
            f"{url}/feedback",
            json={"trace_id": found["answer"].id, "name": "route", "score": 0, "correction": "L3"},
        )
        assert told.is_success, told.text
    finally:
        serving.send_signal(signal.SIGTERM)
    assert serving.wait(60) == 0
    assert any(b'"rsi.feedback/1"' in path.read_bytes() for path in home.inbox.glob("gateway-*.ndjson"))


@pytest.mark.flow
@pytest.mark.slow
def test_the_prefect_lines(asked, tmp_path):
    """Server and flows start, and the three kinds of deployments are there."""
    home, environment = asked
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    variables = environ(home, **environment) | {
        "PREFECT_HOME": str(tmp_path / "prefect"),
        "PREFECT_SERVER_API_PORT": str(port),
        "PREFECT_API_URL": f"http://127.0.0.1:{port}/api",
    }
    (server,), (deploy,) = SERVER, DEPLOY
    started = []
    try:
        started.append(_start(server, variables, tmp_path / "server.log"))
        _until(
            lambda: httpx.get(f"{variables['PREFECT_API_URL']}/health").is_success, tmp_path / "server.log"
        )
        started.append(_start(deploy, variables, tmp_path / "deploy.log"))
        _until(lambda: {"nightly", "promote", "gate"} <= _deployed(variables), tmp_path / "deploy.log")
    finally:
        for process in reversed(started):
            os.killpg(process.pid, signal.SIGTERM)
        for process in started:
            process.wait(60)


def _start(line: str, variables: dict[str, str], log: Path) -> subprocess.Popen:
    with log.open("wb") as file:
        return subprocess.Popen(
            ["bash", "-c", f"exec {line}"], env=variables, stdout=file, stderr=file, start_new_session=True
        )


def _deployed(variables: dict[str, str]) -> set[str]:
    found = httpx.post(f"{variables['PREFECT_API_URL']}/deployments/filter", json={}).json()
    flows = httpx.post(f"{variables['PREFECT_API_URL']}/flows/filter", json={}).json()
    names = {one["id"]: one["name"] for one in flows}
    return {names[one["flow_id"]] for one in found}


def _until(done, log: Path, seconds: float = 150) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if done():
                return
        except (httpx.HTTPError, orjson.JSONDecodeError, KeyError):
            pass
        time.sleep(1)
    raise AssertionError(f"not ready after {seconds} s: {log.read_text()[-2000:]}")
