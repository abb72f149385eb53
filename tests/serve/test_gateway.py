"""The gateway as a process: start, signals, death, and who finds it."""

import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import openai
import orjson
import pytest

from rsi.assets import base_folder
from rsi.errors import ContractError
from rsi.serve.client import Registration, register, running, unregister
from rsi.serve.gateway import run
from rsi.settings import Deployment, Home, Serve
from rsi.store.files import write_whole
from tests.serve.served import BASE, CODER, FakeEngine, publish

ROOT = Path(__file__).resolve().parents[2]
PROCESS = """
import sys
from pathlib import Path
from rsi.records import Origin
from rsi.serve.gateway import run
from rsi.settings import Deployment, Home
from tests.serve.served import FakeEngine
"""
FAKE = "run(Home(Path(sys.argv[1])), Deployment(), port=0, origin=Origin.DEMO, engine=lambda _: FakeEngine())"


class Noon:
    """A clock that stands still."""

    def now(self) -> datetime:
        return datetime(2026, 8, 1, 12, 0, tzinfo=UTC)


@contextmanager
def process(home: Home, start: str = FAKE) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A gateway in a process of its own, and the line it printed when it was ready."""
    command = [sys.executable, "-c", PROCESS + start, str(home.root)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=pipe, text=True) as child:
        try:
            assert child.stdout is not None
            yield child, child.stdout.readline()
        finally:
            child.kill()


def ask(url: str, text: str) -> str:
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=20) as client:
        reply = client.chat.completions.create(model="auto", messages=[{"role": "user", "content": text}])
    return reply.choices[0].message.content or ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_6_a_signal_ends_it_cleanly(home: Home, number: signal.Signals) -> None:
    """The request in flight is answered, its trace's segment closed, the registration gone; exit 0."""
    publish(home, {"L2": CODER})
    with process(home) as (child, said):
        (gateway,) = running(home)
        assert gateway.url in said
        assert (gateway.health().base, gateway.version()[:12] in said) == (BASE, True)
        answers: list[str] = []
        flight = threading.Thread(target=lambda: answers.append(ask(gateway.url, "slow code")))
        flight.start()
        while gateway.health().queue == 0:
            pass
        child.send_signal(number)
        flight.join()
        out, err = child.communicate(timeout=20)

    assert answers == ["base: slow code"]
    assert (child.returncode, out, err) == (0, "", "")
    assert running(home) == []
    assert list(home.gateways.iterdir()) == []
    (segment,) = home.inbox.iterdir()
    assert segment.suffix == ".ndjson"
    (line,) = [orjson.loads(text) for text in segment.read_bytes().splitlines()]
    assert (line["origin"], line["error"]) == ("demo", None)


def test_kill_9_costs_nothing_that_was_answered(home: Home) -> None:
    """The next gateway hands the dead one's segment to ingest, and the dead one is not found any more."""
    publish(home, {})
    with process(home) as (child, _):
        (gateway,) = running(home)
        for n in range(5):
            ask(gateway.url, f"request {n}")
        child.kill()
        child.wait()
    assert running(home) == []
    assert [path.suffix for path in home.inbox.iterdir()] == [".open"]
    with process(home):
        (again,) = running(home)
        assert again.health().status == "ok"

        (segment,) = home.inbox.iterdir()
    assert segment.suffix == ".ndjson"
    lines = [orjson.loads(text) for text in segment.read_bytes().splitlines()]
    assert [line["messages"][0]["content"] for line in lines] == [f"request {n}" for n in range(5)]


def test_the_real_engine_serves_a_base_from_a_folder(home: Home, tiny_base: Path) -> None:
    """`rsi serve` as it is, with the deployment's base."""
    base = base_folder(str(tiny_base))[1]
    version = publish(home, {}, base=base)
    start = f"run(Home(Path(sys.argv[1])), Deployment(base={str(tiny_base)!r}), port=0)"
    with process(home, start) as (child, said):
        (gateway,) = running(home)
        with openai.OpenAI(base_url=f"{gateway.url}/v1", api_key="none", max_retries=0) as client:
            reply = client.chat.completions.create(
                model="auto", messages=[{"role": "user", "content": "some code"}], max_tokens=3
            )
        health = gateway.health()
        child.terminate()
        out, err = child.communicate(timeout=30)

    assert base[:12] in said
    assert (health.base, health.version, health.queue) == (base, version, 0)
    assert reply.usage is not None
    assert reply.usage.completion_tokens <= 3
    assert (child.returncode, out) == (0, ""), err


def test_without_a_version_it_does_not_start(home: Home) -> None:
    """The message names the command that makes one."""
    with pytest.raises(ContractError, match="rsi init"):
        run(home, Deployment(), port=0, engine=lambda _: FakeEngine())
    assert running(home) == []


def test_a_port_that_is_taken_is_said_before_the_model_is_loaded(home: Home) -> None:
    """With the address."""
    publish(home, {})
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ContractError, match=f"port {port}"):
            run(home, Deployment(serve=Serve(port=port)), engine=lambda _: pytest.fail("model loaded"))


def test_another_engine_is_refused(home: Home) -> None:
    """The gateway runs the model itself."""
    publish(home, {})
    with pytest.raises(ContractError, match="http://gpu:8000"):
        run(home, Deployment(engine="http://gpu:8000"), port=0)


def test_only_living_processes_are_found(home: Home) -> None:
    """Not a dead pid, not a pid that another process has now, not a torn file."""
    path = register(home, "http://127.0.0.1:1", BASE, Noon())
    said = Registration.model_validate_json(path.read_bytes())
    assert (said.url, said.started, said.base) == ("http://127.0.0.1:1", "2026-08-01T12:00:00+00:00", BASE)
    assert [gateway.url for gateway in running(home)] == ["http://127.0.0.1:1"]

    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    for name, change in (("dead", {"pid": child.pid}), ("other", {"born": 1})):
        text = said.model_copy(update=change).model_dump_json()
        write_whole(home.gateways / f"{name}.json", text.encode())
    write_whole(home.gateways / "torn.json", b"{")
    assert len(running(home)) == 1

    unregister(home)
    unregister(home)
    assert running(home) == []
