"""Gate, promotion and serving on two real vLLM servers behind two gateways."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import httpx
import openai
import pytest
import torch

from rsi.algorithm import Update
from rsi.context import Base, Context, Start, World
from rsi.engine.openai import OpenAIEngine
from rsi.engine.publish import PROBES, Rows
from rsi.engine.weights import read_base
from rsi.errors import RsiError
from rsi.gate.stage import judge
from rsi.ports import Engine, Prompt, silent
from rsi.records import Approval, ChatMessage, Decision
from rsi.registry import adapters, approval, champion, versions
from rsi.registry.promote import probe_prompts, promote
from rsi.serve.client import Gateway, token
from rsi.serve.gateway import create_app
from rsi.serve.service import Options
from rsi.settings import Home
from rsi.store.ledger import Ledger
from rsi.update import learner
from rsi.update.closed import Labels, Texts
from tests import night_made
from tests.fakes import Taught
from tests.made import FixedClock, base_digest, router
from tests.serve.served import served
from tests.vllm.server import running

pytestmark = [pytest.mark.vllm, pytest.mark.base, pytest.mark.timeout(2400)]
SMALL = 8
"""The second server's largest rank: it refuses an adapter of rank 16."""
ROLE = "L0"


class Place(NamedTuple):
    """A home whose two gateways each serve from a vLLM server of their own."""

    home: Home
    base: Path
    urls: tuple[str, ...]
    engines: tuple[OpenAIEngine, ...]
    gateways: tuple[str, ...]


@pytest.fixture(scope="module")
def place(
    url: str, request: pytest.FixtureRequest, smollm: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    """Both servers, both gateways, and a first version without adapters in service."""
    root = tmp_path_factory.mktemp("two")
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("RSI_CONTRACTS", str(night_made.contracts(root / "contracts")))
        other = os.environ.get("RSI_VLLM_SMALL_URL") or stack.enter_context(
            running(request.getfixturevalue("program"), smollm, root / "vllm.log", SMALL)
        )
        home = night_made.make_home(root / "home", smollm)
        engines = tuple(
            OpenAIEngine(one, "smollm2-135m", base_digest(smollm), wait_s=600) for one in (url, other)
        )
        gateways = tuple(
            stack.enter_context(served(create_app(home, engine, Options(max_tokens=64)))) for engine in engines
        )
        yield Place(home, smollm, (url, other), engines, gateways)


def made(place: Place, rank: int) -> str:
    """An adapter as training leaves one, of a rank, that changes what the base says; its name."""
    base, tokenizer = read_base(place.base)
    settings = Update(rank=rank, alpha=2 * rank)
    model = learner.build(place.home.root, base, settings, None, ())
    generator = torch.Generator().manual_seed(rank)
    with torch.no_grad():
        for name, one in model.parameters():
            if "lora_B" in name:
                one.add_(0.03 * torch.randn(one.shape, generator=generator))
    draft = place.home.root / f"draft-{rank}"
    draft.mkdir()
    learner.export(model, draft, base_digest(place.base))
    measured = Labels(model.decoder, Texts(tokenizer, router()), settings).measure(probe_prompts(router()))
    card = adapters.Card(
        role=ROLE,
        base=base_digest(place.base),
        rank=rank,
        alpha=2 * rank,
        files=adapters.hashes(draft),
        harness=router().digest,
        probe=measured,
    )
    return adapters.freeze(place.home, draft, card).name


def gated(place: Place, name: str, night: str) -> str:
    """A candidate with that adapter, gated on the first server and approved; its verdict."""
    home, clock = place.home, FixedClock()
    now = champion.current(Ledger(home.ledger, clock))
    candidate = versions.save(
        home, versions.load(home, now).model_copy(update={"adapters": {ROLE: name}, "parent": now})
    )
    deployment = night_made.settings(place.base)

    def engine() -> Engine:
        # What is asked is asked of the server; held-out requests are then answered right, for a verdict that passes.
        return Taught(place.engines[0], night_made.HELD_OUT)

    world = World(clock, silent, lambda: Base(place.base, base_digest(place.base)), engine)
    start = Start(night=night, champion=now, ordinal=0, deployment=deployment.digest, previous=None)
    verdict = judge(Context(home, deployment, world, start), candidate)
    found = approval.verdict(home, verdict)
    assert found.judgement == "pass", found
    approval.open_request(home, clock, deployment, found)
    said = Approval(
        verdict=verdict, decision=Decision.APPROVE, approver="ada", reason="looks right", via="command"
    )
    approval.answer(home, clock, deployment, said, verdict[:8])
    return verdict


def ask(url: str, text: str) -> tuple[str, str]:
    """What a gateway answers from L0, and as which version."""
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=600) as client:
        turns = [{"role": "user", "content": text}]
        raw = client.chat.completions.with_raw_response.create(
            model=ROLE, messages=turns, max_tokens=64, temperature=0.0
        )
    return raw.parse().choices[0].message.content or "", raw.headers.get("x-rsi-version", "")


class Watched:
    """A gateway as a replica, with somebody who is told when its last probe is done."""

    def __init__(self, gateway: Gateway, probed: Callable[[], None]) -> None:
        self.load, self.unload, self._gateway, self._probed = gateway.load, gateway.unload, gateway, probed

    def probe(self, prompts: Sequence[Prompt], choices: Sequence[str], adapter: str | None) -> Rows:
        rows = self._gateway.probe(prompts, choices, adapter)
        if adapter is None:
            self._probed()
        return rows


def test_publishing_to_two_servers(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """One refuses: the champion stays. Both accept: they switch, and a request in flight ends as it began."""
    home, clock = place.home, FixedClock()
    ledger = Ledger(home.ledger, clock)
    genesis = champion.current(ledger)
    wide, narrow = made(place, 16), made(place, SMALL)
    first = gated(place, wide, "2026-01-05")
    with ExitStack() as stack:
        replicas = [stack.enter_context(Gateway(one, token(home), 600)) for one in place.gateways]

        with pytest.raises(RsiError) as refused:
            promote(home, clock, first, replicas, place.base)

        assert champion.current(ledger) == genesis
        assert all(wide not in engine.adapters() for engine in place.engines)
        assert [one.version() for one in replicas] == [genesis, genesis]
        before = ask(place.gateways[0], PROBES[0])

        second = gated(place, narrow, "2026-01-06")
        with ThreadPoolExecutor(1) as pool:
            flying: list[Future[tuple[str, str]]] = []

            def depart() -> None:
                """Ask something long of the first gateway, the moment before the pointer moves."""
                flying.append(pool.submit(ask, place.gateways[0], PROBES[0]))
                while not httpx.get(f"{place.gateways[0]}/health", timeout=60).json()["queue"]:
                    assert not flying[0].done()

            record = promote(
                home, clock, second, [replicas[0], Watched(replicas[1], depart)], place.base
            )
            switched = [one.version() for one in replicas]
            assert not flying[0].done(), "it is still being answered when both have switched"
            landed = flying[0].result()
        after = [ask(one, PROBES[0]) for one in place.gateways]

        assert champion.current(ledger) == record.output != genesis
        assert switched == [record.output] * 2
    with capsys.disabled():
        print(f"\nrefused: {str(refused.value)[:300]}")
        print(f"effects on both (nats from the base, from training): {record.body['effects']}")
        print(f"before {before}\nin flight {landed}\nafter {after}")
    assert landed == before
    assert after[0] == after[1] != before


def test_the_gate_asks_the_server_what_it_would_ask_here(place: Place) -> None:
    """Held-out requests are routed by the server's log-probs as by the local engine's."""
    from rsi.engine.local import LocalEngine

    local = LocalEngine(place.base, base_digest(place.base))
    prompts = [
        router().route_prompt((ChatMessage(role="user", content=text),))
        for texts in night_made.HELD_OUT.values()
        for text in texts
    ]
    here = local.choose(prompts, router().words, None)
    there = place.engines[0].choose(prompts, router().words, None)

    assert [row.index(max(row)) for row in here] == [row.index(max(row)) for row in there]
    assert max(abs(a - b) for one, two in zip(here, there, strict=True) for a, b in zip(one, two, strict=True)) < 1e-3
    asked = [(ChatMessage(role="user", content=text),) for text, _ in night_made.QUESTIONS]
    assert [one.text for one in local.generate(asked, None, 4)] == [
        one.text for one in place.engines[0].generate(asked, None, 4)
    ]
