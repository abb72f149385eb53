"""The engine behind an OpenAI-compatible server, vLLM first: prompts go out as chat, adapters are models.

vLLM loads adapters with ``--enable-lora`` and ``VLLM_ALLOW_RUNTIME_LORA_UPDATING=1``, from folders that it
reads under the same path. Structured output, prompt log-probs and token ids are fields of its own.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import httpx
import openai
from openai.types import CompletionChoice
from openai.types.chat import ChatCompletion

from rsi.engine.weigh import weigh
from rsi.errors import ContractError, TransientError
from rsi.ports import Generation, Prompt

PLAIN = {"top_p": 1.0, "top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0}
"""Sampling from the model's own distribution, whatever the server's or the model's defaults are."""

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
Turn = dict[str, str]


def endpoint(url: str) -> str:
    """The address under which a server's API lies, with its ``/v1``."""
    return f"{url.rstrip('/').removesuffix('/v1')}/v1"


class OpenAIEngine:
    """`rsi.ports.Engine` over HTTP: TransientError when the server is away, ContractError when it refuses."""

    def __init__(
        self,
        url: str,
        model: str,
        digest: str,
        key: str = "none",
        workers: int = 8,
        wait_s: float = 60.0,
        retries: int = 2,
    ) -> None:
        """Speak to the server at `url`, which ends in ``/v1``.

        Its base is called `model` there, unless it lists one base only, and `digest` in records.
        `key` is its bearer token; `workers` requests are in flight at once, each for up to `wait_s` seconds, and
        `retries` times more.
        """
        self._client = openai.OpenAI(base_url=url, api_key=key, timeout=wait_s, max_retries=retries)
        self._url, self._named, self._base, self._workers = url, model, digest, workers
        self._bare: str | None = None
        self._words: dict[str, list[int]] = {}

    @property
    def base(self) -> str:
        """Digest of the base model."""
        return self._base

    def tokens(self, prompt: Prompt) -> list[int]:
        """A conversation as the server reads it, up to where its answer begins."""
        return self._tokenized({"messages": _turns(prompt)})

    def choose(
        self, prompts: Sequence[Prompt], choices: Sequence[str], adapter: str | None
    ) -> list[tuple[float, ...]]:
        """The rows that `rsi.ports.Engine.choose` defines, from log-probs of the choices' tokens.

        (vLLM's ``structured_outputs.choice`` spells a choice in whatever tokens are likeliest, piece by piece, and so
        picks others than the policy that was trained.)

        Raises:
            ContractError: the server has no ``/tokenize``, or tells no log-probs of given tokens; vLLM does both.
        """
        for word in choices:
            if word not in self._words:
                self._words[word] = self._encoded(word)
        return weigh(self, self._all(self.tokens, prompts), [self._words[word] for word in choices], adapter)

    def generate(
        self,
        prompts: Sequence[Prompt],
        adapter: str | None,
        max_tokens: int,
        temperature: float = 0.0,
        seed: int = 0,
    ) -> list[Generation]:
        """One answer a prompt; token ids and log-probs are empty where the server gives none."""
        model = self._model(adapter)

        def one(prompt: Prompt) -> Generation:
            extra = {"return_token_ids": True, "logprobs": True, "seed": seed}
            whole = self._chat(model, _turns(prompt), max_tokens, extra, temperature)
            said, read = whole.choices[0], whole.usage.prompt_tokens if whole.usage else None
            told = (said.logprobs.content if said.logprobs else None) or ()
            ids = (said.model_extra or {}).get("token_ids") or ()
            ending = "length" if said.finish_reason == "length" else "stop"
            return Generation(
                said.message.content or "", tuple(ids), tuple(t.logprob for t in told), ending, read
            )

        return self._all(one, prompts)

    def structured(self, prompt: Prompt, schema: Mapping[str, object], max_tokens: int, seed: int = 0) -> str:
        """An answer that should be JSON of a schema, sampled; whether it is, the caller finds out."""
        form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": True}}
        extra = {"response_format": form, "seed": seed}
        said = self._chat(self._model(None), _turns(prompt), max_tokens, extra, temperature=1.0)
        return said.choices[0].message.content or ""

    def generate_tokens(
        self,
        prompts: Sequence[Sequence[int]],
        adapter: str | None,
        max_tokens: int,
        temperature: float,
        seeds: Sequence[int],
    ) -> list[Generation]:
        """One answer a prompt of token ids, over ``/completions``, which takes them as they are.

        Raises:
            ContractError: the server tells no token ids or no log-prob for each; vLLM does.
        """
        model = self._model(adapter)

        def one(asked: tuple[Sequence[int], int]) -> Generation:
            prompt, seed = asked
            choice = self._completion(
                model, prompt, max_tokens, temperature, {"seed": seed, "return_token_ids": True}
            )
            ids = tuple((choice.model_extra or {}).get("token_ids") or ())
            told = tuple((choice.logprobs.token_logprobs if choice.logprobs else None) or ())
            known = tuple(logp for logp in told if logp is not None)
            if not ids or len(known) != len(ids):
                raise ContractError(
                    f"{self._url} tells {len(ids)} token ids and {len(known)} log-probs of an answer; a "
                    "rollout needs one log-prob a token, as vLLM tells with return_token_ids"
                )
            return Generation(
                choice.text, ids, known, "length" if choice.finish_reason == "length" else "stop"
            )

        return self._all(one, list(zip(prompts, seeds, strict=True)))

    def next_logprobs(
        self,
        prompts: Sequence[Sequence[int]],
        wanted: Sequence[Sequence[int]],
        adapter: str | None,
        temperature: float = 1.0,
    ) -> list[tuple[float, ...]]:
        """Log-probability of each wanted token as the next after its prompt of token ids, as it would be sampled.

        Raises:
            ContractError: the server tells none of them; vLLM does from 0.32 on.
        """
        model = self._model(adapter)

        def one(asked: tuple[Sequence[int], Sequence[int]]) -> tuple[float, ...]:
            prompt, tokens = asked
            extra = {"logprob_token_ids": list(tokens), "return_tokens_as_token_ids": True}
            found = self._completion(model, prompt, 1, temperature, extra).logprobs
            told = (found.top_logprobs if found else None) or [{}]
            row = tuple(told[0].get(f"token_id:{token}", math.nan) for token in tokens)
            if any(map(math.isnan, row)):
                raise ContractError(
                    f"{self._url} tells no log-probs of given tokens; vLLM 0.32 and newer do (logprob_token_ids)"
                )
            return row

        return self._all(one, list(zip(prompts, wanted, strict=True)))

    def load(self, name: str, folder: Path) -> None:
        """Load an adapter on the server; the same again is nothing new."""
        there = self.adapters().get(name)
        if there is not None and there != folder:
            raise ContractError(f"{self._url} serves {name!r} from {there}, not {folder}: use another name")
        if there is None:
            self._post("/load_lora_adapter", {"lora_name": name, "lora_path": str(folder)})
            if name not in self.adapters():
                raise TransientError(f"{self._url} took adapter {name!r} but does not list it")

    def unload(self, name: str) -> None:
        """Forget an adapter."""
        self._post("/unload_lora_adapter", {"lora_name": name})

    def adapters(self) -> Mapping[str, Path]:
        """What the server lists with a parent, by name, with the path it was loaded from."""
        return {name: root for name, root, parent in self._models() if parent}

    def _models(self) -> list[tuple[str, Path, str | None]]:
        """Name, path and parent of every model the server lists."""
        with self._asking():
            told = [model.model_dump() for model in self._client.models.list()]
        return [(model["id"], Path(model.get("root") or ""), model.get("parent")) for model in told]

    def _model(self, adapter: str | None) -> str:
        if adapter is not None:
            return adapter
        if self._bare is None:
            bases = [name for name, _, parent in self._models() if not parent]
            if self._named not in bases and len(bases) != 1:
                raise ContractError(
                    f"{self._url} serves no {self._named!r} but {', '.join(bases) or 'nothing'}"
                )
            self._bare = self._named if self._named in bases else bases[0]
        return self._bare

    def _chat(
        self, model: str, turns: list[Turn], bound: int, extra: Mapping[str, object], temperature: float = 0.0
    ) -> ChatCompletion:
        with self._asking():
            said = self._client.chat.completions.create(
                model=model, messages=turns, max_tokens=bound, temperature=temperature, extra_body=extra
            )
        self._only(said.choices)
        return said

    def _completion(
        self,
        model: str,
        prompt: Sequence[int],
        bound: int,
        temperature: float,
        extra: Mapping[str, object],
    ) -> CompletionChoice:
        with self._asking():
            said = self._client.completions.create(
                model=model,
                prompt=list(prompt),
                max_tokens=bound,
                temperature=temperature,
                logprobs=0,
                extra_body={**PLAIN, **extra},
            )
        return self._only(said.choices)

    def _only(self, choices: Sequence[Answer]) -> Answer:
        if not choices:
            raise TransientError(f"{self._url} answered without a choice")
        return choices[0]

    def _encoded(self, text: str) -> list[int]:
        return self._tokenized({"prompt": text, "add_special_tokens": False})

    def _tokenized(self, body: Mapping[str, object]) -> list[int]:
        with self._asking():
            said = self._client.post(
                f"{self._url.removesuffix('/v1')}/tokenize", body=body, cast_to=httpx.Response
            )
        return [int(token) for token in said.json()["tokens"]]

    def _post(self, path: str, body: Mapping[str, str]) -> None:
        with self._asking():
            self._client.post(path, body=body, cast_to=httpx.Response)

    def _all(self, one: Callable[[Asked], Answer], asked: Sequence[Asked]) -> list[Answer]:
        with ThreadPoolExecutor(self._workers) as pool:
            return list(pool.map(one, asked))

    @contextmanager
    def _asking(self) -> Iterator[None]:
        away = (openai.APIConnectionError, openai.RateLimitError, openai.InternalServerError)
        try:
            yield
        except away as error:
            raise TransientError(f"{self._url} is away: {error}") from None
        except openai.APIStatusError as error:
            raise ContractError(f"{self._url} refuses ({error.status_code}): {error.message}") from None
        except openai.OpenAIError as error:
            raise TransientError(f"{self._url} answered something odd: {error}") from None


def _turns(prompt: Prompt) -> list[Turn]:
    return [{"role": turn.role, "content": turn.content} for turn in prompt]
