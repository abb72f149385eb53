"""A gateway over a fake engine, on a real socket of the loopback."""

import math
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import openai
import orjson
import pytest
import uvicorn
from fastapi import FastAPI

from rsi.harness import hcp
from rsi.ports import Generation, Prompt, SystemClock
from rsi.records import Version
from rsi.registry import adapters, champion, versions
from rsi.serve.client import Gateway, token
from rsi.serve.gateway import create_app
from rsi.serve.service import Options
from rsi.settings import Home
from rsi.store.ledger import Ledger

BASE = "b" * 64
HARNESS = hcp.Harness(
    name="test",
    prompts=hcp.Prompts(route="Which one?", answer={"L2": "You write code."}),
    labels={"chat": "L0", "agent": "L1", "code": "L2", "ui": "L3"},
    sampling=hcp.Sampling(max_tokens=20),
)


class FakeEngine:
    """Routes by the label word in the request when an adapter is on, always to chat on the bare base.

    An answer is one token a word: who speaks, the system text, the request. The weights
    ``broken`` do not load. `hold` stops `generate` until it is set again; ``slow`` requests take a second.
    """

    base = BASE

    def __init__(self) -> None:
        self.loaded: dict[str, Path] = {}
        self.hold = threading.Event()
        self.hold.set()
        self.asked: list[tuple[Prompt, str | None, int, float, int]] = []

    def choose(
        self, prompts: Sequence[Prompt], choices: Sequence[str], adapter: str | None
    ) -> list[tuple[float, ...]]:
        assert adapter is None or adapter in self.loaded
        return [self._scores(prompt[-1].content, choices, adapter) for prompt in prompts]

    def _scores(self, text: str, choices: Sequence[str], adapter: str | None) -> tuple[float, ...]:
        if "nan" in text:
            return (math.nan,) * len(choices)
        if "tie" in text:
            return (math.log(1 / len(choices)),) * len(choices)
        if "crash" in text:
            raise RuntimeError("router is on fire")
        best = next((word for word in choices if word in text), choices[0]) if adapter else choices[0]
        rest = math.log(0.1 / (len(choices) - 1)) if len(choices) > 1 else 0.0
        return tuple(math.log(0.9) if word == best else rest for word in choices)

    def generate(
        self,
        prompts: Sequence[Prompt],
        adapter: str | None,
        max_tokens: int,
        temperature: float = 0.0,
        seed: int = 0,
    ) -> list[Generation]:
        assert self.hold.wait(30)
        if any("slow" in prompt[-1].content for prompt in prompts):
            time.sleep(1)
        assert adapter is None or adapter in self.loaded
        self.asked += [(prompt, adapter, max_tokens, temperature, seed) for prompt in prompts]
        return [self._answer(prompt, adapter, max_tokens) for prompt in prompts]

    def _answer(self, prompt: Prompt, adapter: str | None, max_tokens: int) -> Generation:
        words = f"{adapter or 'base'}: {' / '.join(message.content for message in prompt)}".split(" ")
        kept = words[:max_tokens]
        reason = "stop" if len(kept) == len(words) else "length"
        return Generation(" ".join(kept), tuple(range(len(kept))), (0.0,) * len(kept), reason)

    def logprobs(
        self, prompts: Sequence[Prompt], answers: Sequence[str], adapter: str | None
    ) -> list[tuple[float, ...]]:
        return [(0.0,) for _ in answers]

    def tokens(self, prompt: Prompt) -> list[int]:
        return [0] * sum(len(message.content.split()) for message in prompt)

    def load(self, name: str, folder: Path) -> None:
        if "broken" in (folder / "adapter_model.safetensors").read_text():
            raise RuntimeError(f"{name} does not fit")
        self.loaded[name] = folder

    def unload(self, name: str) -> None:
        del self.loaded[name]

    def adapters(self) -> Mapping[str, Path]:
        return dict(self.loaded)


@dataclass(frozen=True)
class Site:
    """A gateway that runs, and everything around it."""

    home: Home
    engine: FakeEngine
    url: str
    client: openai.OpenAI
    admin: Gateway

    def lines(self) -> list[dict[str, object]]:
        """What was spooled so far."""
        paths = sorted(self.home.inbox.iterdir())
        return [orjson.loads(line) for path in paths for line in path.read_bytes().splitlines()]


def adapter(home: Home, role: str, salt: str, base: str = BASE) -> str:
    """Make an adapter whose weights are `salt`; its name."""
    with tempfile.TemporaryDirectory() as draft:
        (Path(draft) / "adapter_config.json").write_text("{}")
        (Path(draft) / "adapter_model.safetensors").write_text(salt)
        card = adapters.Card(
            role=role,
            base=base,
            rank=1,
            alpha=1,
            files=adapters.hashes(Path(draft)),
            harness=HARNESS.digest,
            probe=(),
        )
        return adapters.freeze(home, Path(draft), card).name


def _name(role: str, salt: str) -> str:
    with tempfile.TemporaryDirectory() as home:
        return adapter(Home(Path(home)), role, salt)


ROUTER, CODER, NEW = _name("L0", "router"), _name("L2", "coder"), _name("L2", "new")
BROKEN = _name("L2", "broken")
"""The fake engine does not load it."""
_SALTS = {ROUTER: "router", CODER: "coder", NEW: "new", BROKEN: "broken"}


def publish(home: Home, by_role: Mapping[str, str], harness: hcp.Harness = HARNESS, base: str = BASE) -> str:
    """Make a version of these adapters the champion, as a promotion would, and return its digest."""
    for role, name in by_role.items():
        adapter(home, role, _SALTS[name])
    stored = hcp.store(home.harnesses, harness)
    version = Version(base=base, adapters=dict(by_role), harness=stored, parent=None)
    ledger = Ledger(home.ledger, SystemClock())
    ledger.append("promotion" if champion.moves(ledger) else "genesis", output=versions.save(home, version))
    return champion.point(home, SystemClock())


@contextmanager
def served(app: FastAPI) -> Iterator[str]:
    """Run an application on a free port; its address."""
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", ws="none"))
    thread = threading.Thread(target=server.run)
    thread.start()
    deadline = time.monotonic() + 20
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)


@contextmanager
def opened(home: Home, options: Options | None = None, engine: FakeEngine | None = None) -> Iterator[Site]:
    """A gateway over a home that has a champion."""
    engine = engine or FakeEngine()
    with (
        served(create_app(home, engine, options or Options(namespace="test", wait_ms=1))) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=20) as client,
        Gateway(url, token(home)) as admin,
    ):
        yield Site(home, engine, url, client, admin)


@pytest.fixture
def site(home: Home) -> Iterator[Site]:
    """A gateway whose champion has a router and a coder."""
    publish(home, {"L0": ROUTER, "L2": CODER})
    with opened(home) as site:
        yield site
