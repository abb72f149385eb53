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
from openai.types.chat import ChatCompletion

from rsi.errors import ContractError, TransientError
from rsi.ports import Generation, Prompt

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
Turn = dict[str, str]


def endpoint(url: str) -> str:
    """Where a server's API lies, whether its address says so or not: it ends in ``/v1``."""
    return f"{url.rstrip('/').removesuffix('/v1')}/v1"


class OpenAIEngine:
    """`rsi.ports.Engine` over HTTP: TransientError when the server is away, ContractError when it refuses."""

    def __init__(
        self, url: str, model: str, digest: str, key: str = "none", workers: int = 8, wait_s: float = 60.0
    ) -> None:
        """Speak to the server at `url`, which ends in ``/v1``.

        Its base is called `model` there, unless it lists one base only, and `digest` in records.
        `key` is its bearer token; `workers` requests are in flight at once, each for up to `wait_s` seconds.
        """
        self._client = openai.OpenAI(base_url=url, api_key=key, timeout=wait_s)
        self._url, self._named, self._base, self._workers = url, model, digest, workers
        self._bare: str | None = None

    @property
    def base(self) -> str:
        """Digest of the base model."""
        return self._base

    def choose(
        self, prompts: Sequence[Prompt], choices: Sequence[str], adapter: str | None
    ) -> list[tuple[float, ...]]:
        """Log-prob 0 for the choice the server picks and -inf for the others; `score` gives them all.

        Raises:
            TransientError: it answered outside the choices.
        """
        model, bound = self._model(adapter), max(map(len, choices), default=0) + 1

        def one(prompt: Prompt) -> tuple[float, ...]:
            extra = {"structured_outputs": {"choice": list(choices)}}
            word = self._chat(model, _turns(prompt), bound, extra).choices[0].message.content
            if word not in choices:
                raise TransientError(f"{self._url} answered {str(word)[:80]!r}; only {list(choices)} may be")
            return tuple(0.0 if choice == word else -math.inf for choice in choices)

        return self._all(one, prompts)

    def score(
        self, prompts: Sequence[Prompt], choices: Sequence[str], adapter: str | None
    ) -> list[tuple[float, ...]]:
        """The rows that `rsi.ports.Engine.choose` defines, at one request a choice: for probes."""
        pairs = [(prompt, choice) for prompt in prompts for choice in choices]
        told = self.logprobs([prompt for prompt, _ in pairs], [choice for _, choice in pairs], adapter)
        sums = [math.fsum(row) for row in told]
        rows = [sums[at : at + len(choices)] for at in range(0, len(sums), len(choices))]
        tops = [max(row) for row in rows]
        totals = [
            top + math.log(math.fsum(math.exp(logp - top) for logp in row))
            for row, top in zip(rows, tops, strict=True)
        ]
        return [tuple(logp - total for logp in row) for row, total in zip(rows, totals, strict=True)]

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
            said = self._chat(model, _turns(prompt), max_tokens, extra, temperature).choices[0]
            told = (said.logprobs.content if said.logprobs else None) or ()
            ids = (said.model_extra or {}).get("token_ids") or ()
            ending = "length" if said.finish_reason == "length" else "stop"
            return Generation(said.message.content or "", tuple(ids), tuple(t.logprob for t in told), ending)

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
            with self._asking():
                said = self._client.completions.create(
                    model=model,
                    prompt=list(prompt),
                    max_tokens=max_tokens,
                    temperature=temperature,
                    seed=seed,
                    logprobs=0,
                    extra_body={"return_token_ids": True},
                )
            if not said.choices:
                raise TransientError(f"{self._url} answered without a choice")
            choice = said.choices[0]
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

    def logprobs(
        self, prompts: Sequence[Prompt], answers: Sequence[str], adapter: str | None
    ) -> list[tuple[float, ...]]:
        """Log-probability of each token of a given answer, from the end of vLLM's prompt log-probs.

        Raises:
            ContractError: the server gives none, or they do not end with the answer.
        """
        model = self._model(adapter)

        def one(asked: tuple[Prompt, str]) -> tuple[float, ...]:
            prompt, answer = asked
            extra = {"prompt_logprobs": 0, "add_generation_prompt": False, "continue_final_message": True}
            said = self._chat(model, [*_turns(prompt), {"role": "assistant", "content": answer}], 1, extra)
            row = _tail((said.model_extra or {}).get("prompt_logprobs") or (), answer)
            if row is None:
                raise ContractError(f"{self._url} gives no log-probs of {answer[:80]!r}; vLLM would")
            return row

        return self._all(one, list(zip(prompts, answers, strict=True)))

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
        if not said.choices:
            raise TransientError(f"{self._url} answered without a choice")
        return said

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


def _tail(
    places: Sequence[Mapping[str, Mapping[str, object]] | None], answer: str
) -> tuple[float, ...] | None:
    """Log-probs of the last tokens that spell `answer`; None where they do not."""
    text, row = "", list[float]()
    for place in reversed(places):
        if len(text) >= len(answer):
            break
        token = next(iter((place or {}).values()), {})
        text = f"{token.get('decoded_token', '')}{text}"
        row.insert(0, float(str(token.get("logprob", "nan"))))
    return tuple(row) if text == answer else None


def _turns(prompt: Prompt) -> list[Turn]:
    return [{"role": turn.role, "content": turn.content} for turn in prompt]
