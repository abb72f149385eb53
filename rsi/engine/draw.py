"""Drawing tokens: a random stream for each prompt, and the token that a row of logits and its stream give."""

from collections.abc import Sequence
from random import Random

import torch

from rsi.engine.prefix import Tokens
from rsi.ids import digest


def stream(seed: int, row: Tokens) -> Random:
    """The random stream of a prompt that has a seed of its own."""
    return Random(digest([seed, row]))


def streams(rows: Sequence[Tokens], seed: int) -> list[Random]:
    """A random stream a prompt, apart for repetitions of one prompt."""
    seen: dict[Tokens, int] = {}
    found = []
    for row in rows:
        seen[row] = seen.get(row, -1) + 1
        found.append(Random(digest([seed, row, seen[row]])))
    return found


def pick(
    logits: torch.Tensor, temperature: float, streams: Sequence[Random]
) -> tuple[list[int], list[float]]:
    """The next token of each row and its log-probability; drawn by inverse transform.

    Args:
        logits: shape (rows, vocabulary).
        temperature: 0 takes the likeliest.
        streams: one a row where temperature is above 0, else none.
    """
    logp = (logits.double() / (temperature or 1.0)).log_softmax(-1)
    if temperature:
        cumulated = logp.exp().cumsum(-1)
        drawn = torch.tensor([[stream.random()] for stream in streams], dtype=torch.double)
        picked = torch.searchsorted(cumulated, drawn * cumulated[:, -1:], right=True)
        picked = picked.clamp(max=logits.shape[-1] - 1)
    else:
        picked = logits.argmax(-1, keepdim=True)
    return picked[:, 0].tolist(), logp.gather(1, picked)[:, 0].tolist()
