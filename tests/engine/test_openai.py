"""The remote engine against a real HTTP server that speaks the protocol as vLLM does, with the tiny model."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rsi.engine.local import LocalEngine
from rsi.engine.openai import OpenAIEngine
from rsi.errors import ContractError, TransientError
from rsi.ports import Prompt
from rsi.records import ChatMessage
from tests.engine.adapters import make_adapter
from tests.engine.stub import Server, serving

CHOICES = ["chat", "agent", "code", "ui"]


@pytest.fixture
def server(tiny_base: Path) -> Iterator[Server]:
    """A running server."""
    with serving(LocalEngine(tiny_base, "b" * 64)) as server:
        yield server


@pytest.fixture
def remote(server: Server) -> OpenAIEngine:
    """The engine that speaks to it."""
    return OpenAIEngine(server.url, "tiny", "b" * 64)


@pytest.fixture(scope="module")
def lora(tiny_base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An adapter folder."""
    return make_adapter(tiny_base, tmp_path_factory.mktemp("lora") / "one", seed=1)


def prompts(*texts: str) -> list[Prompt]:
    """Prompts of one user turn."""
    return [(ChatMessage(role="user", content=text),) for text in texts]


ASKED = prompts(
    "hi", "write a page", "sort a list", "turn off the lights", "x", "y", "z", "zz", "zzz", "zzzz"
)


def test_generate_carries_tokens_and_logprobs(server: Server, remote: OpenAIEngine) -> None:
    """Text, token ids, log-probs and ending are the server's; temperature, seed and bound reach it."""
    found = remote.generate(ASKED, None, 5, temperature=0.7, seed=3)
    alone = [server.engine.generate([prompt], None, 5, temperature=0.7, seed=3)[0] for prompt in ASKED]
    assert found == alone
    server.mood = "plain"
    bare = remote.generate(ASKED[:1], None, 5, temperature=0.7, seed=3)[0]
    assert bare == alone[0]._replace(token_ids=(), logprobs=())


def test_tokens_go_out_as_they_are_and_come_back_with_logprobs(
    server: Server, remote: OpenAIEngine, lora: Path
) -> None:
    """Equal to the local engine, row by row, with and without an adapter; refused where a server tells no ids."""
    remote.load("L0-one", lora)
    rows, seeds = [[5, 6, 7, 8], [9, 10, 11]], [3, 4]
    for adapter in (None, "L0-one"):
        told = remote.generate_tokens(rows, adapter, 5, 1.0, seeds)
        here = server.engine.generate_tokens(rows, adapter, 5, 1.0, seeds)

        assert [one.token_ids for one in told] == [one.token_ids for one in here]
        assert [one.logprobs for one in told] == [pytest.approx(one.logprobs, abs=1e-4) for one in here]
    server.mood = "plain"
    with pytest.raises(ContractError, match="0 token ids and 0 log-probs"):
        remote.generate_tokens(rows, None, 5, 1.0, seeds)


def test_choices_equal_the_local_ones(server: Server, remote: OpenAIEngine, lora: Path) -> None:
    """The table of choices, of one token and of many, is the model's."""
    remote.load("L0-x", lora)
    choices = [*CHOICES, "none of these"]
    for mine, theirs in zip(
        remote.choose(ASKED[:3], choices, "L0-x"),
        server.engine.choose(ASKED[:3], choices, "L0-x"),
        strict=True,
    ):
        assert mine == pytest.approx(theirs, abs=1e-4)
    assert remote.choose([], choices, None) == []
    assert {body["model"] for body in server.bodies if "logprob_token_ids" in body} == {"L0-x"}
    server.mood = "plain"
    with pytest.raises(ContractError, match="tells no log-probs of given tokens"):
        remote.choose(ASKED[:1], ["chat", "none of these"], None)


def test_adapters_come_and_go(server: Server, remote: OpenAIEngine, lora: Path, tmp_path: Path) -> None:
    """Loading lists an adapter with its path, twice is once, another path is refused, unloading ends it."""
    assert dict(remote.adapters()) == {}
    remote.load("L0-x", lora)
    remote.load("L0-x", lora)
    assert dict(remote.adapters()) == {"L0-x": lora}
    assert sum("lora_path" in body for body in server.bodies) == 1
    with pytest.raises(ContractError, match="use another name"):
        remote.load("L0-x", tmp_path)
    remote.unload("L0-x")
    assert dict(remote.adapters()) == {}
    with pytest.raises(ContractError, match=r"404.*cannot be found"):
        remote.unload("L0-x")
    server.mood = "forgetful"
    with pytest.raises(TransientError, match="does not list it"):
        remote.load("L0-x", lora)


def test_errors_say_what_to_do(server: Server, remote: OpenAIEngine) -> None:
    """An unknown model is the caller's error; a server that is busy, empty or gone may be asked again."""
    assert remote.base == "b" * 64
    with pytest.raises(ContractError, match=r"404.*does not exist"):
        remote.generate(ASKED[:1], "nobody", 1)
    other = OpenAIEngine(server.url, "another name for it", "b" * 64)
    assert other.generate(ASKED[:1], None, 1) == remote.generate(ASKED[:1], None, 1)
    server.mood = "empty"
    with pytest.raises(TransientError, match="without a choice"):
        remote.generate(ASKED[:1], None, 1)
    server.mood = "bare"
    with pytest.raises(ContractError, match="serves no 'tiny' but nothing"):
        OpenAIEngine(server.url, "tiny", "b" * 64).generate(ASKED[:1], None, 1)
    server.mood = "down"
    with pytest.raises(TransientError, match="is away"):
        remote.generate(ASKED[:1], None, 1)
    server.server_close()
    with pytest.raises(TransientError, match="is away"):
        OpenAIEngine("http://127.0.0.1:9/v1", "tiny", "b" * 64).adapters()
