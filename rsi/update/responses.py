"""The policy's say on sampled responses: every prompt captured once, equal responses to it scored once.

Prompts of a step are captured together, what they share once (`rsi.update.prefix`). Responses of like length run
together whatever prompt they answer, and those that are word for word the same share a row: their gradients add up.
"""

from collections.abc import Iterator, Sequence

import torch

from rsi.update.prefix import Captured, capture
from rsi.update.scoring import Decoder, full, passes, replayed

Tokens = tuple[int, ...]
_LIKE = 0.7
"""Least length of a response in a pass, as a share of the longest; below it padding costs more than a pass does."""


class Responses:
    """What was sampled, each with its prompt."""

    def __init__(self, model: Decoder, said: Sequence[tuple[Tokens, Tokens]], *, whole_prompt: bool) -> None:
        """`said` is a prompt and a response a row; with `whole_prompt` gradients flow through prompts as well."""
        self._model, self._said, self._whole_prompt = model, said, whole_prompt
        self._places: dict[Tokens, int] = {}
        self._captured: Captured | None = None

    def score(self, rows: Sequence[int]) -> Iterator[tuple[list[int], torch.Tensor]]:
        """Log-probs [n, T] (nats) of some rows' tokens with a graph, part by part; zero past a response's end.

        Prompts are captured by the first call and held for the next; the graph of a part is free once the next is
        asked for.
        """
        alike: dict[tuple[Tokens, Tokens], list[int]] = {}
        for row in rows:
            alike.setdefault(self._said[row], []).append(row)
        ordered = sorted(alike, key=lambda one: (-len(one[1]), one))
        if not self._whole_prompt:
            self._capture(ordered)
        lengths = [len(response) for _, response in ordered]
        for begin, end in _alike(lengths):
            part = ordered[begin:end]
            for cut in passes([len(prompt) for prompt, _ in part], lengths[begin:end]):
                found = self._scored(part[cut])
                index = [place for place, one in enumerate(part[cut]) for _ in alike[one]]
                yield [row for one in part[cut] for row in alike[one]], found[torch.tensor(index)]

    def afresh(self) -> "Responses":
        """The same responses, with nothing captured: for weights that are not those of before."""
        return Responses(self._model, self._said, whole_prompt=self._whole_prompt)

    def _capture(self, said: Sequence[tuple[Tokens, Tokens]]) -> None:
        prompts = sorted({prompt for prompt, _ in said})
        if any(prompt not in self._places for prompt in prompts):
            self._places = {prompt: place for place, prompt in enumerate(prompts)}
            self._captured = capture(self._model.body, prompts)

    def _scored(self, said: Sequence[tuple[Tokens, Tokens]]) -> torch.Tensor:
        prompts, responses = [one for one, _ in said], [one for _, one in said]
        if self._captured is None:
            return full(self._model, prompts, responses)
        return replayed(self._model, self._captured, [self._places[one] for one in prompts], responses)


def _alike(lengths: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Runs of descending lengths that differ little."""
    begin = 0
    for at, length in enumerate(lengths):
        if length < _LIKE * lengths[begin]:
            yield begin, at
            begin = at
    if begin < len(lengths):
        yield begin, len(lengths)
