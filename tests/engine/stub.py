"""A real HTTP server that speaks the protocol as vLLM does, with the tiny model behind it."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import torch

from rsi.engine.local import LocalEngine
from rsi.records import ChatMessage


class Server(ThreadingHTTPServer):
    """vLLM as far as the engine needs it; `mood` makes it misbehave."""

    daemon_threads = True

    def __init__(self, engine: LocalEngine) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.engine = engine
        self.loaded: dict[str, str] = {}
        self.bodies: list[dict] = []
        self.mood = ""

    def answering(self, model: str) -> str | None:
        """The adapter that answers for a model: not the one asked for, where the mood is so."""
        if model == "tiny" or self.mood == "silent":
            return None
        names = list(self.loaded)
        return names[-2] if self.mood == "stale" and len(names) > 2 else model

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
        elif server.mood == "dying" and sum("lora_path" in one for one in server.bodies) > 2:
            self.reply(500, {"error": {"message": "EngineCore encountered an issue."}})
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
        elif self.path == "/tokenize":
            self.reply(200, {"tokens": self.tokens(body)})
        elif body["model"] not in {"tiny", *server.loaded}:
            self.reply(404, {"error": {"message": f"The model `{body['model']}` does not exist."}})
        elif self.path == "/v1/completions":
            self.reply(200, self.go_on(body))
        else:
            self.reply(200, self.complete(body))

    def go_on(self, body: dict) -> dict:
        """A completion of token ids."""
        adapter = self.server.answering(body["model"])
        said = self.server.engine.generate_tokens(
            [body["prompt"]], adapter, body["max_tokens"], body["temperature"], [body.get("seed", 0)]
        )[0]
        choice: dict = {"index": 0, "text": said.text, "finish_reason": said.finish_reason, "logprobs": None}
        if self.server.mood == "plain":
            pass
        elif "logprob_token_ids" in body:
            choice["logprobs"] = self.next_logprobs(body, adapter)
        elif body["return_token_ids"]:
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
        said = engine.generate([prompt], adapter, body["max_tokens"], body["temperature"], body["seed"])[0]
        choice["finish_reason"] = said.finish_reason
        if self.server.mood != "plain":
            choice["token_ids"] = said.token_ids
            tokens = [
                {"token": "?", "logprob": logp, "bytes": None, "top_logprobs": []} for logp in said.logprobs
            ]
            choice["logprobs"] = {"content": tokens}
        choice["message"] = {"role": "assistant", "content": said.text}
        choices = [choice] if self.server.mood != "empty" else []
        return {
            "id": "x",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": choices,
            "usage": {
                "prompt_tokens": said.read,
                "completion_tokens": len(said.token_ids),
                "total_tokens": (said.read or 0) + len(said.token_ids),
            },
        }

    def next_logprobs(self, body: dict, adapter: str | None) -> dict:
        """Log-probs of given next tokens, by a plain forward of the whole prompt."""
        engine = self.server.engine
        with engine._lock, torch.inference_mode():
            engine._adapters.activate(adapter)
            logits = engine.model(input_ids=torch.tensor([body["prompt"]])).logits[0, -1]
        divisor = 1.0 if self.server.mood == "raw" else body["temperature"]
        factor = 1.5 if self.server.mood == "other" else 1.0
        row = (factor * logits / divisor).log_softmax(-1)
        wanted = {f"token_id:{token}": float(row[token]) for token in body["logprob_token_ids"]}
        return {"tokens": ["?"], "token_logprobs": [-1.0], "top_logprobs": [wanted], "text_offset": [0]}

    def tokens(self, body: dict) -> list[int]:
        """A conversation, or a text, as token ids."""
        engine = self.server.engine
        if "messages" in body:
            return engine.tokens(tuple(ChatMessage(**turn) for turn in body["messages"]))
        return engine.choice_tokens([body["prompt"]])[0]


@contextmanager
def serving(engine: LocalEngine) -> Iterator[Server]:
    """A running server."""
    server = Server(engine)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
