"""Log-probabilities of given responses under the policy, with a graph, in memory that the caller bounds.

Two ways, chosen by the job: over a captured prompt (`rsi.update.prefix`), whose keys and values are constants, or over
prompt and response together with full back-propagation. In both the head, whose output is a whole vocabulary a token,
is run on the positions that predict response tokens and on no others, in chunks that are computed again on the way
back instead of being kept.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch.utils.checkpoint import checkpoint

from rsi.update.prefix import Captured, replay

if TYPE_CHECKING:
    from transformers import PreTrainedModel

HEAD_TOKENS = 256
"""Positions whose logits are in memory at once."""
REPLAY_KEYS = 16_384
"""Most keys that the rows of one pass look at, all rows together; a row that needs more is a pass of its own."""


class Decoder(NamedTuple):
    """The parts of a causal language model that scoring needs."""

    body: "PreTrainedModel"
    """Tokens to hidden states."""
    head: torch.nn.Module
    """Hidden states to logits."""


def passes(prompts: Sequence[int], responses: Sequence[int]) -> Iterator[slice]:
    """Rows that run together; arguments are the lengths of each row's prompt and response."""
    begin, widest = 0, 0
    for row, (prompt, response) in enumerate(zip(prompts, responses, strict=True)):
        wide = max(widest, prompt + response)
        if row > begin and wide * (row - begin + 1) > REPLAY_KEYS:
            yield slice(begin, row)
            begin, wide = row, prompt + response
        widest = wide
    if begin < len(prompts):
        yield slice(begin, len(prompts))


def replayed(
    model: Decoder, captured: Captured, rows: Sequence[int], responses: Sequence[Sequence[int]]
) -> torch.Tensor:
    """Log-probs [rows, T] (nats) of response tokens over captured prompts; zero past a response's end.

    `rows[i]` is the captured prompt that `responses[i]` answers; T is the longest response.
    """
    return _predicted(model, replay(model.body, captured, rows, responses), responses)


def full(
    model: Decoder, prompts: Sequence[Sequence[int]], responses: Sequence[Sequence[int]]
) -> torch.Tensor:
    """The same by one forward over prompt and response, through which gradients flow whole."""
    return _predicted(model, read_whole(model, prompts, responses), responses)


def read_whole(
    model: Decoder, prompts: Sequence[Sequence[int]], responses: Sequence[Sequence[int]]
) -> torch.Tensor:
    """Hidden states [rows, T, width] that predict response tokens, by that forward; zero past a response's end."""
    rows = [[*prompt, *response[:-1]] for prompt, response in zip(prompts, responses, strict=True)]
    width = max(map(len, rows))
    # Padding stands on the right, where attention is causal and nothing real sees it.
    tokens = torch.tensor([row + [0] * (width - len(row)) for row in rows])
    hidden = model.body(input_ids=tokens, use_cache=False).last_hidden_state
    longest = max(map(len, responses))
    kept = [
        torch.nn.functional.pad(
            one[len(prompt) - 1 : len(prompt) - 1 + len(response)], (0, 0, 0, longest - len(response))
        )
        for one, prompt, response in zip(hidden, prompts, responses, strict=True)
    ]
    return torch.stack(kept)


def _predicted(model: Decoder, hidden: torch.Tensor, responses: Sequence[Sequence[int]]) -> torch.Tensor:
    """Log-probs of the tokens that hidden states [rows, T, width] predict."""
    rows, width = hidden.shape[:2]
    targets = torch.zeros(rows, width, dtype=torch.long)
    mask = torch.zeros(rows, width, dtype=torch.bool)
    for row, response in enumerate(responses):
        targets[row, : len(response)] = torch.tensor(list(response), dtype=torch.long)
        mask[row, : len(response)] = True
    chosen, wanted = hidden[mask], targets[mask]
    found = [
        checkpoint(
            _head,
            model.head,
            chosen[at : at + HEAD_TOKENS],
            wanted[at : at + HEAD_TOKENS],
            use_reentrant=False,
        )
        for at in range(0, len(chosen), HEAD_TOKENS)
    ]
    logprobs = torch.cat(found) if found else chosen.new_zeros(0)
    return torch.zeros(rows, width).masked_scatter(mask, logprobs)


def _head(head: torch.nn.Module, hidden: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    logits = head(hidden).float()
    taken: torch.Tensor = logits.gather(1, targets.unsqueeze(1)).squeeze(1) - logits.logsumexp(dim=-1)
    return taken
