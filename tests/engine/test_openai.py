"""The remote engine against a real HTTP server that speaks the protocol as vLLM does, with the tiny model."""

import json
import math
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rsi.engine.local import LocalEngine
from rsi.engine.openai import OpenAIEngine
from rsi.errors import ContractError, TransientError
from rsi.ports import Prompt
from rsi.records import ChatMessage
from tests.engine.adapters import make_adapter

CHOICES = ["chat", "agent", "code", "ui"]


class Server(ThreadingHTTPServer):
    """vLLM as far as the engine needs it; `mood` makes it misbehave."""

    daemon_threads = True

    def __init__(self, engine: LocalEngine) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.engine = engine
        self.loaded: dict[str, str] = {}
        self.bodies: list[dict] = []
        self.mood = ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    """The routes."""

    server: Server

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def reply(self, status: int, body: object) -> None:
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "text/plain" if isinstance(body, str) else "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        models = [
            {"id": "tiny", "object": "model", "created": 0, "owned_by": "t", "root": "tiny", "parent": None}
        ]
        models += [
            {"id": name, "object": "model", "created": 0, "owned_by": "t", "root": path, "parent": "tiny"}
            for name, path in self.server.loaded.items()
        ]
        self.reply(200, {"object": "list", "data": models if self.server.mood != "bare" else []})

    def do_POST(self) -> None:
        server = self.server
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        server.bodies.append(body)
        if server.mood == "down":
            self.reply(503, {"error": {"message": "warming up"}})
        elif self.path == "/v1/load_lora_adapter":
            if server.mood != "forgetful":
                server.engine.load(body["lora_name"], Path(body["lora_path"]))
                server.loaded[body["lora_name"]] = body["lora_path"]
            self.reply(200, f"Success: LoRA adapter '{body['lora_name']}' added successfully.")
        elif self.path == "/v1/unload_lora_adapter":
            if server.loaded.pop(body["lora_name"], None) is None:
                self.reply(
                    404, {"error": {"message": f"The lora adapter '{body['lora_name']}' cannot be found."}}
                )
            else:
                server.engine.unload(body["lora_name"])
                self.reply(200, "Success")
        elif body["model"] not in {"tiny", *server.loaded}:
            self.reply(404, {"error": {"message": f"The model `{body['model']}` does not exist."}})
        elif self.path == "/v1/completions":
            self.reply(200, self.go_on(body))
        else:
            self.reply(200, self.complete(body))

    def go_on(self, body: dict) -> dict:
        """A completion of token ids."""
        adapter = None if body["model"] == "tiny" else body["model"]
        said = self.server.engine.generate_tokens(
            [body["prompt"]], adapter, body["max_tokens"], body["temperature"], [body["seed"]]
        )[0]
        choice: dict = {"index": 0, "text": said.text, "finish_reason": said.finish_reason, "logprobs": None}
        if self.server.mood != "plain" and body["return_token_ids"]:
            tokens = [str(token) for token in said.token_ids]
            choice |= {
                "token_ids": said.token_ids,
                "logprobs": {
                    "tokens": tokens,
                    "token_logprobs": said.logprobs,
                    "text_offset": [0] * len(tokens),
                },
            }
        return {
            "id": "x",
            "object": "text_completion",
            "created": 0,
            "model": body["model"],
            "choices": [choice],
        }

    def complete(self, body: dict) -> dict:
        """A chat completion."""
        engine = self.server.engine
        adapter = None if body["model"] == "tiny" else body["model"]
        prompt = tuple(ChatMessage(**turn) for turn in body["messages"])
        choice: dict = {"index": 0, "finish_reason": "stop", "logprobs": None}
        extra: dict = {}
        text = ""
        if "structured_outputs" in body:
            words = body["structured_outputs"]["choice"]
            row = engine.choose([prompt], words, adapter)[0]
            text = words[row.index(max(row))] if self.server.mood != "free" else "something else"
        elif "prompt_logprobs" in body:
            if self.server.mood != "plain":
                extra["prompt_logprobs"] = self.prompt_logprobs(prompt, adapter)
        else:
            said = engine.generate([prompt], adapter, body["max_tokens"], body["temperature"], body["seed"])[
                0
            ]
            text, choice["finish_reason"] = said.text, said.finish_reason
            if self.server.mood != "plain":
                choice["token_ids"] = said.token_ids
                tokens = [
                    {"token": "?", "logprob": logp, "bytes": None, "top_logprobs": []}
                    for logp in said.logprobs
                ]
                choice["logprobs"] = {"content": tokens}
        choice["message"] = {"role": "assistant", "content": text}
        choices = [choice] if self.server.mood != "empty" else []
        return {
            "id": "x",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": choices,
            **extra,
        }

    def prompt_logprobs(self, prompt: Prompt, adapter: str | None) -> list[dict | None]:
        """One entry a token of prompt and final answer, as vLLM gives them: the first is null."""
        engine = self.server.engine
        start, answer = engine.tokens(prompt[:-1]), engine.choice_tokens([prompt[-1].content])[0]
        row = engine.logprobs([prompt[:-1]], [prompt[-1].content], adapter)[0]
        decode = engine.tokenizer.decode
        places: list[dict | None] = [None]
        places += [
            {str(one): {"logprob": -1.0, "rank": 1, "decoded_token": decode([one])}} for one in start[1:]
        ]
        return places + [
            {str(one): {"logprob": logp, "rank": 1, "decoded_token": decode([one])}}
            for one, logp in zip(answer, row, strict=True)
        ]


@pytest.fixture
def server(tiny_base: Path) -> Iterator[Server]:
    """A running server."""
    server = Server(LocalEngine(tiny_base, "b" * 64))
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


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


def test_choose_picks_what_the_server_picks(server: Server, remote: OpenAIEngine, lora: Path) -> None:
    """One 0 a row, where the local engine's best is, in the order of prompts, with and without an adapter."""
    remote.load("L0-x", lora)
    for adapter in (None, "L0-x"):
        best = [row.index(max(row)) for row in server.engine.choose(ASKED, CHOICES, adapter)]
        rows = remote.choose(ASKED, CHOICES, adapter)
        assert [row.index(0.0) for row in rows] == best
        assert all(sorted(row) == [-math.inf, -math.inf, -math.inf, 0.0] for row in rows)
    chats = [body for body in server.bodies if "messages" in body]
    assert all(
        body["temperature"] == 0 and body["structured_outputs"] == {"choice": CHOICES} for body in chats
    )
    assert {body["model"] for body in chats} == {"tiny", "L0-x"}


def test_an_answer_outside_the_choices_is_an_error(server: Server, remote: OpenAIEngine) -> None:
    """A server that ignores the choices is not believed."""
    server.mood = "free"
    with pytest.raises(TransientError, match="'something else'; only"):
        remote.choose(ASKED[:1], CHOICES, None)


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


def test_logprobs_and_score_equal_the_local_ones(server: Server, remote: OpenAIEngine, lora: Path) -> None:
    """Log-probs of given answers, of one token and of many, and the table of choices, are the model's."""
    remote.load("L0-x", lora)
    answers = ["chat", "none of these", "code", "several words here", *["ui"] * 6]
    told, own = remote.logprobs(ASKED, answers, "L0-x"), server.engine.logprobs(ASKED, answers, "L0-x")
    assert all(mine == pytest.approx(theirs, abs=1e-4) for mine, theirs in zip(told, own, strict=True))
    choices = [*CHOICES, "none of these"]
    for mine, theirs in zip(
        remote.score(ASKED[:3], choices, "L0-x"),
        server.engine.choose(ASKED[:3], choices, "L0-x"),
        strict=True,
    ):
        assert mine == pytest.approx(theirs, abs=1e-4)
    assert remote.score([], choices, None) == []
    server.mood = "plain"
    with pytest.raises(ContractError, match="gives no log-probs of 'chat'"):
        remote.logprobs(ASKED[:1], ["chat"], None)


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
