"""What layers keep of a prompt, as constants to go on from: keys and values, or the state of a recurrence.

The library's recurrent layers write their states in place, which is right for serving and wrong under a graph: the
state that the backward pass needs would be gone. Here a state is read and never written.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

import torch
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer, LinearAttentionCacheLayerMixin, LinearAttentionLayer

from rsi.errors import ContractError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Layer: TypeAlias = "DynamicLayer | LinearAttentionLayer"
"""A layer of the library's cache."""


class LayerState(Protocol):
    """What one layer keeps of some prompts."""

    def at(self, rows: torch.Tensor) -> Layer:
        """Those rows, as a layer of a cache to replay on; `rows` is [n], and may name a prompt more than once."""
        ...


@dataclass(frozen=True)
class Attention:
    """Keys and values, each [prompts, heads, length, head width]; shorter prompts are padded behind."""

    keys: torch.Tensor
    values: torch.Tensor

    def at(self, rows: torch.Tensor) -> DynamicLayer:
        """A layer to which keys and values are appended."""
        layer = DynamicLayer()
        layer.update(self.keys[rows], self.values[rows])
        return layer


@dataclass(frozen=True)
class Recurrence:
    """The state behind the last token: of short convolutions (the last columns), and of the recurrence itself.

    Each [prompts, ...]; None where the layer has no such state.
    """

    conv: tuple[torch.Tensor | None, ...]
    hidden: tuple[torch.Tensor | None, ...]

    def at(self, rows: torch.Tensor) -> LinearAttentionLayer:
        """A layer that goes on from the state and leaves it as it is."""
        return _Continued(
            [None if one is None else one[rows] for one in self.conv],
            [None if one is None else one[rows] for one in self.hidden],
        )


class _Continued(LinearAttentionLayer):  # type: ignore[misc]
    """A state to go on from once; what comes behind is handed on and not kept."""

    def __init__(self, conv: Sequence[torch.Tensor | None], hidden: Sequence[torch.Tensor | None]) -> None:
        super().__init__(number_of_states=len(conv))
        self.conv_states = dict(enumerate(conv))
        self.recurrent_states = dict(enumerate(hidden))
        self.has_previous_state = dict.fromkeys(range(len(conv)), True)
        # Else a single token would go through the kernel that writes the convolution's state in place.
        self.record_past = True

    def update_conv_state(self, conv_states: torch.Tensor, state_idx: int = 0, **_: object) -> torch.Tensor:
        """The columns that the convolution reads."""
        before = self.conv_states[state_idx]
        return conv_states if before is None else torch.cat([before, conv_states], dim=-1)

    def update_recurrent_state(
        self, recurrent_states: torch.Tensor, state_idx: int = 0, **_: object
    ) -> torch.Tensor:
        """The new state, which nobody asks for again."""
        return recurrent_states


def recurrent(model: "PreTrainedModel") -> bool:
    """Whether a model has layers with a recurrent state."""
    layers = DynamicCache(config=model.config).layers
    return any(isinstance(one, LinearAttentionCacheLayerMixin) for one in layers)


def state_of(layers: Sequence[Layer], width: int) -> LayerState:
    """What one layer keeps of prompts, from the caches of each, which are of up to `width` tokens.

    Raises:
        ContractError: the layer is of a kind that is neither.
    """
    if all(type(one) is DynamicLayer for one in layers):
        return Attention(
            torch.cat([_padded(one.keys, width) for one in layers]),
            torch.cat([_padded(one.values, width) for one in layers]),
        )
    if all(type(one) is LinearAttentionLayer for one in layers):
        return Recurrence(
            tuple(_stacked([one.conv_states[at] for one in layers]) for at in layers[0].conv_states),
            tuple(
                _stacked([one.recurrent_states[at] for one in layers]) for at in layers[0].recurrent_states
            ),
        )
    raise ContractError(
        f"a layer of kind {type(layers[0]).__name__} cannot be captured; train with update.whole_prompt = true"
    )


def _padded(found: torch.Tensor, width: int) -> torch.Tensor:
    return torch.nn.functional.pad(found.detach(), (0, 0, 0, width - found.shape[2]))


def _stacked(found: Sequence[torch.Tensor | None]) -> torch.Tensor | None:
    there = [one.detach() for one in found if one is not None]
    return torch.cat(there) if there else None
