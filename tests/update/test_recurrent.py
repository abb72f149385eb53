"""Response-only training of models with recurrent layers: the same promises as over keys and values alone."""

import copy

import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import Lfm2Config, Lfm2ForCausalLM, LlamaConfig, LlamaForCausalLM
from transformers.models.qwen3_5 import Qwen3_5ForCausalLM, Qwen3_5TextConfig

from rsi.errors import ContractError
from rsi.update.layers import Attention, Recurrence, recurrent, state_of
from rsi.update.prefix import capture
from rsi.update.scoring import Decoder, full, replayed

PROMPTS = [[5, 6, 7, 8, 9, 10, 11, 12, 13], [5, 6, 7, 20], [30, 31]]
RESPONSES = [[40, 41, 42], [50], [60, 61]]
SIZES = {
    "vocab_size": 96,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "initializer_range": 0.3,
    "pad_token_id": 0,
}


def short_convolutions():
    """LFM2: gated short convolutions, and attention."""
    kinds = ["conv", "full_attention", "conv"]
    return Lfm2ForCausalLM(Lfm2Config(**SIZES, num_hidden_layers=3, layer_types=kinds, conv_L_cache=3))


def gated_delta_rule():
    """Qwen3.5: linear attention by the gated delta rule with a convolution before it, and attention."""
    kinds = ["linear_attention", "full_attention", "linear_attention"]
    heads = {"linear_num_key_heads": 2, "linear_num_value_heads": 4}
    widths = {"linear_key_head_dim": 8, "linear_value_head_dim": 8, "head_dim": 8}
    config = Qwen3_5TextConfig(**SIZES, num_hidden_layers=3, layer_types=kinds, **heads, **widths)
    return Qwen3_5ForCausalLM(config)


@pytest.fixture(params=[short_convolutions, gated_delta_rule], ids=["lfm2", "qwen3_5"])
def model(request):
    """A tiny model with recurrent layers and an adapter that acts."""
    torch.manual_seed(1)
    base = request.param()
    config = LoraConfig(r=4, lora_alpha=8, target_modules="all-linear", init_lora_weights=False)
    return get_peft_model(base, config).eval()


def parts(model):
    """What scoring needs."""
    inner = model.get_base_model()
    return Decoder(inner.get_decoder(), inner.get_output_embeddings())


def test_layers_are_told_apart(model):
    """Both kinds stand in one model."""
    found = capture(parts(model).body, PROMPTS)

    assert recurrent(parts(model).body)
    assert [type(one) for one in found.state] == [Recurrence, Attention, Recurrence]


def test_log_probs_of_responses_are_those_of_the_full_forward(model):
    """For prompts of unlike length, a response of one token, and a prompt that is answered twice."""
    decoder = parts(model)
    rows, responses = [0, 1, 2, 0], [*RESPONSES, [70, 71]]

    with torch.no_grad():
        ours = replayed(decoder, capture(decoder.body, PROMPTS), rows, responses)
        for row, response in enumerate(responses):
            theirs = full(decoder, [PROMPTS[rows[row]]], [response])[0]
            assert torch.allclose(ours[row, : len(response)], theirs, atol=1e-4)


def test_the_state_is_left_as_it_is(model):
    """A second replay gives the same numbers: nothing was written in place."""
    decoder = parts(model)
    captured = capture(decoder.body, PROMPTS)

    first = replayed(decoder, captured, range(3), RESPONSES)
    second = replayed(decoder, captured, range(3), RESPONSES)

    assert torch.equal(first, second)


@pytest.mark.parametrize("row", [0, 1], ids=["three tokens", "one token"])
def test_the_gradient_is_that_over_a_constant_prompt(model, row):
    """Against differences of the library's own forward from a copy of its state, along the gradient."""
    decoder, prompt, response = parts(model), PROMPTS[row], RESPONSES[row]
    trained = [one for one in model.parameters() if one.requires_grad]
    ours = torch.autograd.grad(
        replayed(decoder, capture(decoder.body, [prompt]), [0], [response]).sum(), trained
    )
    size = torch.sqrt(sum(one.square().sum() for one in ours))
    whole = torch.autograd.grad(full(decoder, [prompt], [response]).sum(), trained)
    with torch.no_grad():
        state = decoder.body(input_ids=torch.tensor([prompt[:-1]]), use_cache=True).cache

    def value(by: float) -> float:
        with torch.no_grad():
            for one, along in zip(trained, ours, strict=True):
                one.add_(along, alpha=by / float(size))
            cache = copy.deepcopy(state)
            tokens = torch.tensor([[prompt[-1], *response[:-1]]])
            hidden = decoder.body(input_ids=tokens, cache=cache, use_cache=True).last_hidden_state
            found = decoder.head(hidden)[0].double().log_softmax(-1)
            for one, along in zip(trained, ours, strict=True):
                one.sub_(along, alpha=by / float(size))
        return float(found.gather(1, torch.tensor(response)[:, None]).sum())

    slope = (value(1e-3) - value(-1e-3)) / 2e-3

    assert slope == pytest.approx(float(size), rel=0.02)
    cosine = sum(float((a * b).sum()) for a, b in zip(ours, whole, strict=True))
    cosine /= float(size) * float(torch.sqrt(sum(one.square().sum() for one in whole)))
    assert 0 < cosine < 0.9999, "full back-propagation sees the prompt as well"


def test_attention_alone_is_no_recurrence():
    """And a layer that is neither is refused."""
    model = LlamaForCausalLM(LlamaConfig(**SIZES, num_hidden_layers=1))

    assert not recurrent(model)
    with pytest.raises(ContractError, match="whole_prompt"):
        state_of([object()], 1)
