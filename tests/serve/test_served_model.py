"""The gateway over the real engine: the tiny model with LoRA adapters of its own."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import openai
import orjson
import pytest

from rsi.engine.local import LocalEngine
from rsi.harness import hcp
from rsi.ports import Prompt
from rsi.records import ChatMessage, Version
from rsi.registry import adapters
from rsi.serve.client import Gateway, token
from rsi.serve.gateway import create_app
from rsi.serve.service import Options
from rsi.settings import Home
from rsi.store.files import write_whole
from tests.serve.served import BASE, HARNESS, served

TEXTS = ("write me a poem", "ui for a shop", "reverse a list in code", "turn the lights off")
RANK = 4


def lora(base: Path, home: Home, role: str, seed: int) -> str:
    """A LoRA on all linear layers with random weights, as training publishes one; its name."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    torch.manual_seed(seed)
    config = LoraConfig(r=RANK, lora_alpha=8, target_modules=list(adapters.TARGETS), init_lora_weights=False)
    model = get_peft_model(AutoModelForCausalLM.from_pretrained(base), config)
    draft = home.root / f"draft-{role}-{seed}"
    model.save_pretrained(draft)
    return adapters.freeze(
        home,
        draft,
        adapters.Card(
            role=role,
            base=BASE,
            rank=RANK,
            alpha=8,
            files=adapters.hashes(draft),
            harness=HARNESS.digest,
            probe=(),
        ),
    ).name


def publish(home: Home, by_role: dict[str, str]) -> str:
    """Make a version with these adapters the champion; its digest."""
    stored = hcp.store(home.harnesses, HARNESS)
    version = Version(base=BASE, adapters=by_role, harness=stored, parent=None)
    placed = {role: {"name": name, "path": str(home.adapters / name)} for role, name in by_role.items()}
    said = {"version": version.digest, "adapters": placed, "harness": stored, "base": BASE}
    write_whole(home.champion, orjson.dumps(said))
    return version.digest


def asked(text: str) -> Prompt:
    return HARNESS.route_prompt((ChatMessage(role="user", content=text),))


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory, tiny_base: Path) -> Home:
    """A home whose first version is the bare base, with two adapters waiting."""
    home = Home(tmp_path_factory.mktemp("served"))
    publish(home, {})
    return home


@pytest.fixture
def parts(here: Home, tiny_base: Path) -> Iterator[tuple[Home, LocalEngine, openai.OpenAI, Gateway]]:
    """A gateway over a fresh engine, its clients, and the engine to compare with."""
    engine = LocalEngine(tiny_base, BASE)
    with (
        served(create_app(here, engine, Options(max_tokens=8))) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=60) as client,
        Gateway(url, token(here)) as admin,
    ):
        yield here, LocalEngine(tiny_base, BASE), client, admin


def ask(client: openai.OpenAI, text: str, model: str = "auto") -> openai.types.chat.ChatCompletion:
    turns = [{"role": "user", "content": text}]
    return client.chat.completions.create(model=model, messages=turns, max_tokens=6)  # type: ignore[arg-type]


def test_a_published_adapter_acts_in_the_gateway_as_in_training(
    parts: tuple[Home, LocalEngine, openai.OpenAI, Gateway], tiny_base: Path
) -> None:
    """Loaded and probed over HTTP: unlike the base, like the engine it was measured on; then it routes."""
    home, engine, client, admin = parts
    name = lora(tiny_base, home, "L0", seed=1)
    admin.load(name, home.adapters / name)
    prompts = [asked(text) for text in TEXTS]
    engine.load(name, home.adapters / name)
    measured = engine.choose(prompts, HARNESS.words, name)
    acting, bare = admin.probe(prompts, HARNESS.words, name), admin.probe(prompts, HARNESS.words, None)

    for here, there, base in zip(acting, measured, bare, strict=True):
        assert here == pytest.approx(there, abs=1e-3)
        assert max(abs(a - b) for a, b in zip(here, base, strict=True)) > 1e-2
    version = publish(home, {"L0": name})
    try:
        replies = [ask(client, text) for text in TEXTS]
        assert admin.version() == version
    finally:
        admin.rotate()
        publish(home, {})
    lines = [orjson.loads(line) for path in home.inbox.iterdir() for line in path.read_bytes().splitlines()]
    routes = {line["messages"][0]["content"]: line["route"] for line in lines if line["version"] == version}
    for text, scores in zip(TEXTS, measured, strict=True):
        assert routes[text]["label"] == HARNESS.words[scores.index(max(scores))]
        by_word = dict(zip(HARNESS.words, scores, strict=True))
        assert routes[text]["logprobs"] == pytest.approx(by_word, abs=1e-3)
    for reply in replies:
        assert reply.usage is not None
        assert 1 <= reply.usage.completion_tokens <= 6


def test_answers_are_the_engines_own(parts: tuple[Home, LocalEngine, openai.OpenAI, Gateway]) -> None:
    """Alone or in a batch, whole or streamed; usage counts the tokens that the model read and wrote."""
    _, engine, client, _ = parts
    prompts = [(ChatMessage(role="user", content=text),) for text in TEXTS]
    expected = engine.generate(prompts, None, 6)
    with ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(lambda text: ask(client, text, "base"), TEXTS))
    with client.chat.completions.create(
        model="base", messages=[{"role": "user", "content": TEXTS[0]}], max_tokens=6, stream=True
    ) as stream:
        streamed = "".join(chunk.choices[0].delta.content or "" for chunk in stream)

    assert [reply.choices[0].message.content for reply in replies] == [one.text for one in expected]
    assert streamed == expected[0].text
    for prompt, reply, one in zip(prompts, replies, expected, strict=True):
        assert reply.usage is not None
        assert reply.usage.prompt_tokens == len(engine.tokens(prompt))
        assert reply.usage.completion_tokens == len(one.token_ids)


def test_a_prompt_too_long_is_the_callers_fault_and_nobody_elses(
    parts: tuple[Home, LocalEngine, openai.OpenAI, Gateway],
) -> None:
    """400 for one, answers for those that came at the same time."""
    _, _, client, _ = parts
    with ThreadPoolExecutor(4) as pool:
        good = [pool.submit(ask, client, text, "base") for text in TEXTS[:3]]
        bad = pool.submit(ask, client, "long " * 2000, "base")

        with pytest.raises(openai.BadRequestError, match="context"):
            bad.result()
        assert [one.result().model for one in good] == ["base"] * 3


def test_promotions_while_requests_run(
    parts: tuple[Home, LocalEngine, openai.OpenAI, Gateway], tiny_base: Path
) -> None:
    """Every reply comes from one whole version, and none fails."""
    home, _, client, admin = parts
    names = [lora(tiny_base, home, "L0", seed) for seed in (2, 3)]
    stop, models = threading.Event(), list[str]()

    def hammer() -> None:
        while not stop.is_set():
            models.append(ask(client, TEXTS[0], "L0").model)

    threads = [threading.Thread(target=hammer) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for name in (*names, names[0]):
            version = publish(home, {"L0": name})
            assert admin.version() == version
            assert ask(client, TEXTS[0], "L0").model == name
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        publish(home, {})

    assert set(models) <= {"base", *names}
    assert len(models) > 3
