"""Response-only training gives the numbers and the gradients it claims."""

import pytest
import torch
from peft import LoraConfig, get_peft_model

from rsi.engine.weights import read_base
from rsi.registry.adapters import TARGETS
from rsi.update import prefix
from rsi.update.prefix import capture, replay

PROMPTS = [[5, 6, 7, 8, 9, 10, 11], [5, 6, 7, 20], [5, 6, 7, 30, 31, 32, 33, 34, 35, 36]]
RESPONSES = [[40, 41, 42], [50], [60, 61]]


@pytest.fixture
def model(tiny_base):
    """The tiny model with an adapter that acts."""
    base, _ = read_base(tiny_base)
    torch.manual_seed(1)
    made = get_peft_model(
        base, LoraConfig(r=4, lora_alpha=8, target_modules=list(TARGETS), init_lora_weights=False)
    )
    return made.eval()


def body(model):
    """The decoder without its head."""
    return model.get_base_model().get_decoder()


def full(model, prompt, response):
    """Hidden states that predict the response, by one plain forward."""
    hidden = body(model)(input_ids=torch.tensor([[*prompt, *response[:-1]]])).last_hidden_state
    return hidden[0, len(prompt) - 1 :]


@pytest.mark.parametrize("limit", [4, 2048])
def test_replay_equals_the_full_forward(model, monkeypatch, limit):
    """For prompts of unlike length, packed into one pass or several."""
    monkeypatch.setattr(prefix, "PACK_TOKENS", limit)

    hidden = replay(body(model), capture(body(model), PROMPTS), range(3), RESPONSES)

    for row, (prompt, response) in enumerate(zip(PROMPTS, RESPONSES, strict=True)):
        assert torch.allclose(hidden[row, : len(response)], full(model, prompt, response), atol=1e-4)


def test_one_prompt_may_be_answered_many_times(model):
    """Rows name the prompt they answer."""
    hidden = replay(body(model), capture(body(model), PROMPTS[:2]), [1, 0, 1], [[40], [41], [42, 43]])

    assert torch.allclose(hidden[0, 0], full(model, PROMPTS[1], [40])[0], atol=1e-4)
    assert torch.allclose(hidden[2, :2], full(model, PROMPTS[1], [42, 43]), atol=1e-4)


def test_the_gradient_is_that_of_a_forward_over_a_constant_prompt(model):
    """Keys and values of the prompt count as constants, to float tolerance."""
    prompt, response = PROMPTS[0], RESPONSES[0]
    names = [name for name, one in model.named_parameters() if one.requires_grad]

    def gradient(hidden):
        model.zero_grad()
        hidden.square().sum().backward()
        return {name: one.grad.clone() for name, one in model.named_parameters() if one.requires_grad}

    ours = gradient(replay(body(model), capture(body(model), [prompt]), [0], [response])[0])
    with torch.no_grad():
        cache = body(model)(input_ids=torch.tensor([prompt[:-1]]), use_cache=True).cache
    output = body(model)(input_ids=torch.tensor([[prompt[-1], *response[:-1]]]), cache=cache, use_cache=True)
    theirs = gradient(output.last_hidden_state[0])

    assert all(torch.allclose(ours[name], theirs[name], atol=1e-4, rtol=1e-4) for name in names)
    assert sum(one.abs().sum() for one in ours.values()) > 0


def test_prompts_that_share_everything_but_their_end_work(model):
    """The shortest prompt is a prefix of the others."""
    prompts = [[5, 6], [5, 6, 7]]

    hidden = replay(body(model), capture(body(model), prompts), [0, 1], [[9], [9]])

    assert torch.allclose(hidden[0, 0], full(model, prompts[0], [9])[0], atol=1e-4)
    assert torch.allclose(hidden[1, 0], full(model, prompts[1], [9])[0], atol=1e-4)
