"""Response-only training: the prompt is evaluated once without a graph, the response with one.

After LongStraw (response-only replay over a frozen prompt state): `capture` runs every prompt up to its last
token under `no_grad` and keeps keys and values; `replay` runs the last prompt token and the response on top of
them, with a graph over just these positions. Gradients therefore flow through what the adapter does at the
answer, not through what it did to the prompt's keys and values, which count as constants. Time and memory of
the backward pass depend on the response, not on the prompt.

Tokens shared by all prompts of a batch (the route text) are evaluated once, for all of them, where every layer is an
attention layer; a layer with a recurrent state reads each prompt from its beginning.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from transformers import DynamicCache
from transformers.cache_utils import Cache

from rsi.update.layers import Attention, LayerState, recurrent, state_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel

PACK_TOKENS = 2048
"""Most tokens in one packed pass: bounds the mask and the activations."""

State = tuple[tuple[torch.Tensor, torch.Tensor], ...]
"""Keys and values a layer, each [batch, heads, length, head width]."""


@dataclass(frozen=True)
class Captured:
    """Prompts up to their last token."""

    state: tuple[LayerState, ...]
    """What each layer keeps of the prompts; a row a prompt."""
    mask: torch.Tensor
    """[prompts, length], 1 where a key counts."""
    lengths: torch.Tensor
    """[prompts], tokens captured: the position of the last prompt token."""
    last: torch.Tensor
    """[prompts], that token."""


def shared(prompts: Sequence[Sequence[int]]) -> int:
    """How many leading tokens all prompts have in common, leaving each at least its last token."""
    limit = min(len(prompt) for prompt in prompts) - 1
    first = prompts[0]
    for at in range(limit):
        if any(prompt[at] != first[at] for prompt in prompts):
            return at
    return limit


def _state(cache: DynamicCache) -> State:
    return tuple((layer.keys.detach(), layer.values.detach()) for layer in cache.layers)


def packs(lengths: Sequence[int]) -> list[list[int]]:
    """Places of sequences that share one packed pass of up to `PACK_TOKENS` tokens, in order."""
    found: list[list[int]] = []
    held = 0
    for place, length in enumerate(lengths):
        if not found or held + length > PACK_TOKENS:
            found.append([])
            held = 0
        found[-1].append(place)
        held += length
    return found


def _packed(model: "PreTrainedModel", prefix: State, common: int, rests: Sequence[Sequence[int]]) -> State:
    """Run token lists as one sequence, each seeing the prefix and itself only; keys and values of all of it."""
    lengths = torch.tensor([len(rest) for rest in rests])
    owner = torch.repeat_interleave(torch.arange(len(rests)), lengths)
    within = torch.cat([torch.arange(len(rest)) for rest in rests])
    total = len(owner)
    sees = torch.ones(total, common + total, dtype=torch.bool)
    sees[:, common:] = (owner[:, None] == owner[None, :]) & (within[:, None] >= within[None, :])
    tokens = torch.tensor([[token for rest in rests for token in rest]])
    return _state(
        model(
            input_ids=tokens,
            attention_mask=sees[None, None],
            position_ids=(common + within)[None],
            cache=DynamicCache(prefix or None),
            use_cache=True,
        ).cache
    )


def capture(model: "PreTrainedModel", prompts: Sequence[Sequence[int]]) -> Captured:
    """Keys and values of token lists, each of at least two tokens; `model` is the decoder without its head.

    Prompts of unlike length are packed into one sequence with a block mask, so that no time goes into padding.
    """
    with torch.no_grad():
        return _captured(model, prompts)


def _captured(model: "PreTrainedModel", prompts: Sequence[Sequence[int]]) -> Captured:
    if recurrent(model):
        return _one_by_one(model, prompts)
    common = shared(prompts)
    rests = [list(prompt[common:-1]) for prompt in prompts]
    width = max(len(rest) for rest in rests)
    prefix: State = ()
    if common:
        prefix = _state(model(input_ids=torch.tensor([list(prompts[0][:common])]), use_cache=True).cache)
    rows: list[State] = []
    for pack in packs([len(rest) for rest in rests]):
        state = _packed(model, prefix, common, [rests[place] for place in pack]) if width else prefix
        start = common
        for place in pack:
            end = start + len(rests[place])
            rows.append(
                tuple(
                    (_row(keys, common, start, end, width), _row(values, common, start, end, width))
                    for keys, values in state
                )
            )
            start = end
    kept = tuple(
        Attention(torch.cat([row[layer][0] for row in rows]), torch.cat([row[layer][1] for row in rows]))
        for layer in range(len(rows[0]))
    )
    mask = torch.ones(len(prompts), common + width, dtype=torch.long)
    for place, rest in enumerate(rests):
        mask[place, common + len(rest) :] = 0
    lengths = torch.tensor([len(prompt) - 1 for prompt in prompts])
    return Captured(kept, mask, lengths, torch.tensor([prompt[-1] for prompt in prompts]))


def _one_by_one(model: "PreTrainedModel", prompts: Sequence[Sequence[int]]) -> Captured:
    """Each prompt by itself: a recurrent state would carry one prompt of a packed sequence into the next."""
    caches = [
        model(input_ids=torch.tensor([list(prompt[:-1])]), use_cache=True).cache.layers for prompt in prompts
    ]
    lengths = torch.tensor([len(prompt) - 1 for prompt in prompts])
    width = int(lengths.max())
    state = tuple(state_of(layers, width) for layers in zip(*caches, strict=True))
    mask = (torch.arange(width)[None, :] < lengths[:, None]).long()
    return Captured(state, mask, lengths, torch.tensor([prompt[-1] for prompt in prompts]))


def _row(packed: torch.Tensor, common: int, start: int, end: int, width: int) -> torch.Tensor:
    """One prompt's part of packed keys or values, padded to [1, heads, common + width, head width]."""
    row = torch.cat([packed[:, :, :common], packed[:, :, start:end]], dim=2)
    return torch.nn.functional.pad(row, (0, 0, 0, width - (end - start)))


def replay(
    model: "PreTrainedModel", captured: Captured, rows: Sequence[int], responses: Sequence[Sequence[int]]
) -> torch.Tensor:
    """Hidden states that predict each response token, with a graph.

    `rows[i]` is the prompt that `responses[i]` answers. Returns [responses, longest response, width]; positions
    past a response's end hold nothing of use.
    """
    index = torch.tensor(list(rows))
    width = max(len(response) for response in responses)
    tokens = torch.zeros(len(responses), width, dtype=torch.long)
    tokens[:, 0] = captured.last[index]
    for row, response in enumerate(responses):
        tokens[row, 1 : len(response)] = torch.tensor(list(response[:-1]), dtype=torch.long)
    mask = torch.cat([captured.mask[index], torch.ones(len(responses), width, dtype=torch.long)], dim=1)
    positions = captured.lengths[index].unsqueeze(1) + torch.arange(width)
    output = model(
        input_ids=tokens,
        attention_mask=mask,
        position_ids=positions,
        cache=Cache(layers=[one.at(index) for one in captured.state]),
        use_cache=True,
    )
    return output.last_hidden_state
