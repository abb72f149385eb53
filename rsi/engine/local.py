"""The engine in this process: transformers and PEFT, one frozen base in float32, adapters by name.

Prompts are padded on the right: attention is causal, so what stands before a pad never sees it, and
positions need no shifting. Only decoding steps, whose keys lie behind the pads, take a mask. The output
layer, a fifth of a small model's work, is run on the positions that are asked for and on no others.

Numbers agree with a plain forward of each prompt alone to 1e-4 nats. The same prompts give the same bits in
whatever order they are asked; other company in the batch changes the last bits only.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from types import MappingProxyType

import torch
from peft import PeftModel
from transformers import Cache, PreTrainedModel, PreTrainedTokenizerBase

from rsi.engine import chat, draw, weights
from rsi.engine.prefix import WASTE, KeyValues, PrefixCache, Tokens, passes, shared_start
from rsi.engine.turns import Kept, Pass, Turns, begun
from rsi.errors import ContractError
from rsi.ports import Generation, Prompt

PREFIX_TOKENS = 4096
"""Tokens of shared prefixes kept, over all adapters; 46 KB each for the 135M base."""
TURN_TOKENS = 16384
"""Tokens kept of the last call of `generate_tokens`, for turns that go on from it."""
# Padding is paid once, a decoding step is paid per pass: long answers are better off in few passes.
_SHORT = 8
_DECODING_WASTE = 0.5


class LocalEngine:
    """`rsi.ports.Engine` on this machine's processor. One lock guards the model, so threads may share it."""

    def __init__(
        self, folder: Path, digest: str, threads: int | None = None, prefix_tokens: int = PREFIX_TOKENS
    ) -> None:
        """Read the base from `folder`.

        Args:
            folder: config, tokenizer with chat template, and safetensors.
            digest: what the base is called in records.
            threads: processor threads of torch in this process; None leaves them as they are.
            prefix_tokens: how many tokens of shared prefixes to keep; 0 shares nothing.

        Raises:
            ContractError: the folder is no base model that this engine runs.
        """
        if threads is not None:
            torch.set_num_threads(threads)
        self._base = digest
        self._lock = threading.RLock()
        self._model, self._tokenizer = weights.read_base(folder)
        self._adapters = weights.Adapters(self._model)
        self._prefixes = PrefixCache(prefix_tokens)
        self._sharing = prefix_tokens > 0
        self._turns = Turns(TURN_TOKENS if self._sharing else 0)
        self._special = frozenset(self._tokenizer.all_special_ids)
        self._context = int(self._model.config.get_text_config().max_position_embeddings)
        self._eos = weights.stop_tokens(self._model, self._tokenizer)

    # --- what is loaded -------------------------------------------------------------------------------------

    @property
    def base(self) -> str:
        """Digest of the base model."""
        return self._base

    @property
    def model(self) -> PeftModel | PreTrainedModel:
        """The base wrapped by PEFT once an adapter is loaded, the bare base before."""
        return self._adapters.wrapped or self._model

    @property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        """The base's tokenizer."""
        return self._tokenizer

    @property
    def eos_ids(self) -> tuple[int, ...]:
        """Tokens that end an answer."""
        return self._eos

    def load(self, name: str, folder: Path) -> None:
        """Load a LoRA folder under a name; the same folder again is nothing new.

        Raises:
            ContractError: the name was used for another folder or other content, or the folder does not fit.
        """
        with self._lock:
            self._adapters.load(name, folder)

    def unload(self, name: str) -> None:
        """Forget an adapter and what was computed with it.

        Raises:
            ContractError: no such adapter is loaded.
        """
        with self._lock:
            self._adapters.unload(name)
            self._prefixes.forget(name)
            self._turns.forget(name)

    def adapters(self) -> Mapping[str, Path]:
        """Folder of each loaded adapter, by name."""
        with self._lock:
            return MappingProxyType(dict(self._adapters.folders))

    # --- text to tokens -------------------------------------------------------------------------------------

    def tokens(self, prompt: Prompt) -> list[int]:
        """A conversation as the model reads it, up to where its answer begins.

        Raises:
            ContractError: the chat template refuses the conversation.
        """
        return chat.tokens(self._tokenizer, prompt)

    def choice_tokens(self, choices: Sequence[str]) -> list[list[int]]:
        """The tokens of each choice.

        Raises:
            ContractError: there is none, one is empty, or two read the same.
        """
        options = [chat.encode(self._tokenizer, choice) for choice in choices]
        if not options or not all(options) or len({tuple(option) for option in options}) != len(options):
            raise ContractError(f"choices must be distinct words, at least one; found {list(choices)}")
        return options

    # --- what an engine answers -----------------------------------------------------------------------------

    def choose(
        self, prompts: Sequence[Prompt], choices: Sequence[str], adapter: str | None
    ) -> list[tuple[float, ...]]:
        """Log-probabilities (nats) of every choice, one row a prompt: see `rsi.ports.Engine.choose`.

        Raises:
            ContractError: unknown adapter, bad choices, or a prompt longer than the model's context.
        """
        options = self.choice_tokens(choices)
        rows: list[tuple[float, ...]] = [()] * len(prompts)
        with self._lock, torch.inference_mode():
            asked = self._rows(prompts)
            for group in self._passes(asked, adapter, room=max(map(len, options))):
                scores = self._scores(group, options).double().log_softmax(-1)
                for place, row in zip(group.places, scores.tolist(), strict=True):
                    rows[place] = tuple(row)
        return rows

    def generate(
        self,
        prompts: Sequence[Prompt],
        adapter: str | None,
        max_tokens: int,
        temperature: float = 0.0,
        seed: int = 0,
    ) -> list[Generation]:
        """One answer a prompt; temperature 0 is greedy.

        Each prompt draws from a stream of its own, seeded by (seed, prompt, how often that prompt came before
        in this call), so its answer does not depend on what else is asked. The token that ends an answer is
        part of `token_ids` and `logprobs`, not of `text`. Log-probs are those of the distribution sampled
        from, that is at `temperature`; of a greedy answer, those at temperature 1.

        Raises:
            ContractError: unknown adapter, a bad bound, or a prompt that leaves no room for `max_tokens`.
        """
        with self._lock, torch.inference_mode():
            asked = self._rows(prompts)
            return self._generate(asked, adapter, max_tokens, temperature, draw.streams(asked, seed))

    def generate_tokens(
        self,
        prompts: Sequence[Sequence[int]],
        adapter: str | None,
        max_tokens: int,
        temperature: float,
        seeds: Sequence[int],
    ) -> list[Generation]:
        """`generate` of prompts that are tokens already; each draws from a stream of (its seed, its tokens).

        Equal prompts are read once. A prompt that goes on from one of the call before, with the answer that it got, is
        read from there on: to the same numbers but for their last bits.

        Raises:
            ContractError: as `generate`, an empty prompt, or unequal numbers of prompts and seeds.
        """
        if len(seeds) != len(prompts) or not all(map(len, prompts)):
            raise ContractError(
                f"{len(prompts)} prompts with {len(seeds)} seeds: each needs one, and a token at least"
            )
        asked = [tuple(prompt) for prompt in prompts]
        streams = [draw.stream(seed, row) for seed, row in zip(seeds, asked, strict=True)]
        with self._lock, torch.inference_mode():
            last = self._turns.take(adapter)
            return self._generate(asked, adapter, max_tokens, temperature, streams, last)

    # --- the work -------------------------------------------------------------------------------------------

    def _generate(
        self,
        asked: Sequence[Tokens],
        adapter: str | None,
        max_tokens: int,
        temperature: float,
        streams: Sequence[Random],
        last: Mapping[Tokens, Kept] | None = None,
    ) -> list[Generation]:
        """An answer a row, drawn from its stream; with what the last call read, what this one reads is kept."""
        if max_tokens < 1 or not 0 <= temperature < float("inf"):
            raise ContractError(
                f"max_tokens must be 1 or more and temperature 0 or more, not {max_tokens} and {temperature}"
            )
        answers: dict[int, Generation] = {}
        waste = WASTE if max_tokens <= _SHORT else _DECODING_WASTE
        for group in self._passes(asked, adapter, room=max_tokens, waste=waste, last=last):
            drawing = [streams[place] for place in group.places] if temperature else []
            whole = [asked[place] for place in group.places] if last is not None else []
            made = self._decode(group, max_tokens, temperature, drawing, whole)
            answers.update(zip(group.places, made, strict=True))
        return [answers[place]._replace(read=len(row)) for place, row in enumerate(asked)]

    def _rows(self, prompts: Sequence[Prompt]) -> list[Tokens]:
        return [tuple(self.tokens(prompt)) for prompt in prompts]

    def _passes(
        self,
        rows: Sequence[Tokens],
        adapter: str | None,
        room: int = 0,
        waste: float = WASTE,
        last: Mapping[Tokens, Kept] | None = None,
    ) -> Iterator[Pass]:
        """Prompts cut into passes under an adapter."""
        self._adapters.activate(adapter)
        start = shared_start(rows, self._special) if self._sharing else 0
        longest = max(map(len, rows), default=0)
        if longest + room > self._context:
            raise ContractError(
                f"a prompt of {longest} tokens with {room} to answer is over the model's context of "
                f"{self._context}: shorten the conversation or ask for fewer tokens"
            )
        common = rows[0][:start] if start else ()
        prefix = self._prefixes.get(adapter, common, lambda: self._prefix(common)) if start else ()
        before = begun(rows, start, last or {})
        rests = [row[start + len(one or ()) :] for row, one in zip(rows, before, strict=True)]
        # Rows with equal rests may follow different words: what runs together must not hang on the order of the call.
        order = sorted(range(len(rows)), key=rows.__getitem__)
        for group in passes([rests[place] for place in order], start, waste):
            places = [order[one] for one in group]
            read = [before[place] for place in places]
            yield Pass(places, [rests[place] for place in places], start, prefix, read if any(read) else ())

    def _prefix(self, tokens: Tokens) -> KeyValues:
        _, cache = self._forward(Pass([0], [tokens], 0, ()), keep=True)
        return weights.key_values(cache)

    def _forward(self, group: Pass, keep: bool) -> tuple[torch.Tensor, Cache]:
        """Hidden states (rows, S, width) of the rests; with `keep`, the keys and values of all so far."""
        state = group.state()
        cache = weights.cache_of(self._model, state, len(group.rests)) if keep or state else None
        # Keys that were read before are padded, and the pads lie before what is read now.
        padded = {"attention_mask": group.mask(0), "position_ids": group.positions} if group.before else {}
        done = self._model.get_decoder()(
            input_ids=group.ids, cache=cache, use_cache=cache is not None, **padded
        )
        return done.last_hidden_state, cache

    def _logits(self, hidden: torch.Tensor) -> torch.Tensor:
        return self._model.get_output_embeddings()(hidden)

    def _scores(self, group: Pass, options: Sequence[Sequence[int]]) -> torch.Tensor:
        """Summed log-probs of the options after each prompt, shape (rows, options)."""
        long = any(len(option) > 1 for option in options)
        hidden, cache = self._forward(group, keep=long)
        rows = torch.arange(len(group.rests))
        first = self._logits(hidden[rows, group.lengths - 1]).log_softmax(-1)
        scores = first[:, [option[0] for option in options]]
        kept = weights.key_values(cache) if long else ()
        for column, option in enumerate(options):
            if len(option) > 1:
                scores[:, column] += self._rest_of(group, kept, option)
        return scores

    def _rest_of(self, group: Pass, kept: KeyValues, option: Sequence[int]) -> torch.Tensor:
        """Summed log-probs of an option's tokens after its first, shape (rows,)."""
        rows, steps = len(group.rests), len(option) - 1
        done = self._model.get_decoder()(
            input_ids=torch.tensor(option[:-1]).expand(rows, steps),
            position_ids=(group.read + group.lengths)[:, None] + torch.arange(steps),
            attention_mask=group.mask(steps),
            cache=weights.cache_of(self._model, kept, rows),
            use_cache=True,
        )
        logp = self._logits(done.last_hidden_state).log_softmax(-1)
        return logp[:, torch.arange(steps), torch.tensor(option[1:])].sum(-1)

    def _decode(
        self,
        group: Pass,
        max_tokens: int,
        temperature: float,
        streams: Sequence[Random],
        whole: Sequence[Tokens] = (),
    ) -> list[Generation]:
        """Answers to the prompts of one pass; rows that have ended leave the batch, and of `whole` prompts are kept."""
        once, copies = group.once()
        hidden, cache = self._forward(once, keep=True)
        logits = self._logits(hidden[torch.arange(len(once.rests)), once.lengths - 1])
        if len(once.rests) < len(copies):
            logits = logits[copies]
            cache.batch_select_indices(torch.tensor(copies))
        ids: list[list[int]] = [[] for _ in group.rests]
        logp: list[list[float]] = [[] for _ in group.rests]
        alive = list(range(len(group.rests)))
        for step in range(max_tokens):
            picked, chances = draw.pick(
                logits, temperature, [streams[row] for row in alive] if streams else []
            )
            for row, token, chance in zip(alive, picked, chances, strict=True):
                ids[row].append(token)
                logp[row].append(chance)
            more = step < max_tokens - 1
            going = [place for place, token in enumerate(picked) if more and token not in self._eos]
            if whole:
                ended = [(row, at) for at, row in enumerate(alive) if at not in going]
                self._keep(group, cache, ended, {row: (*whole[row], *ids[row][:-1]) for row, _ in ended})
            if not going:
                break
            if len(going) < len(alive):
                alive = [alive[place] for place in going]
                cache.batch_select_indices(torch.tensor(going))
            done = self._model.get_decoder()(
                input_ids=torch.tensor([[picked[place]] for place in going]),
                position_ids=((group.read + group.lengths)[alive] + step)[:, None],
                attention_mask=group.mask(step + 1)[alive],
                cache=cache,
                use_cache=True,
            )
            logits = self._logits(done.last_hidden_state[:, -1])
        return [self._answer(tokens, chances) for tokens, chances in zip(ids, logp, strict=True)]

    def _keep(
        self, group: Pass, cache: Cache, ended: Sequence[tuple[int, int]], read: Mapping[int, Tokens]
    ) -> None:
        """Keep what was `read` of the rows of a pass that have ended, given with their places in the cache."""
        state = weights.key_values(cache)
        for row, at in ended:
            decoded = len(read[row]) - int(group.read[row]) - len(group.rests[row])
            columns = group.columns(row, decoded)
            if self._turns.wants(read[row], len(columns)):
                own = (
                    (keys[at : at + 1, :, columns], values[at : at + 1, :, columns]) for keys, values in state
                )
                self._turns.keep(Kept(read[row], group.start, tuple(own)))

    def _answer(self, ids: Sequence[int], logp: Sequence[float]) -> Generation:
        ended = ids[-1] in self._eos
        text = self._tokenizer.decode(ids[:-1] if ended else ids, skip_special_tokens=True)
        return Generation(str(text), tuple(ids), tuple(logp), "stop" if ended else "length")
