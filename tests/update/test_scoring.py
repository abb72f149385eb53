"""Log-probabilities of given responses, and where their gradients come from."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from peft import LoraConfig, get_peft_model

from rsi.engine.weights import read_base
from rsi.registry.adapters import TARGETS
from rsi.update import scoring
from rsi.update.prefix import capture
from rsi.update.scoring import Decoder, full, passes, replayed

PROMPTS = [[5, 6, 7, 8, 9, 10, 11], [5, 6, 7, 20]]
RESPONSES = [[40, 41, 42], [50], [60, 61]]
ROWS = [0, 1, 0]


@pytest.fixture
def policy(tiny_base):
    """The tiny model with an adapter that acts; its parts and its trained parameters."""
    base, _ = read_base(tiny_base)
    torch.manual_seed(1)
    config = LoraConfig(r=4, lora_alpha=8, target_modules=list(TARGETS), init_lora_weights=False)
    model = get_peft_model(base, config).eval()
    inner = model.get_base_model()
    trained = [one for _, one in sorted(model.named_parameters()) if one.requires_grad]
    return Decoder(inner.get_decoder(), inner.get_output_embeddings()), trained


def plain(model: Decoder, prompt: list[int], response: list[int]) -> torch.Tensor:
    """Log-probs by one forward and a log-softmax over the whole vocabulary."""
    logits = model.head(model.body(input_ids=torch.tensor([[*prompt, *response]])).last_hidden_state)[0]
    found = logits.log_softmax(-1)[len(prompt) - 1 : -1]
    return found.gather(1, torch.tensor(response).unsqueeze(1)).squeeze(1)


@pytest.mark.parametrize("head_tokens", [1, 4, 256])
def test_both_ways_give_the_log_probs_of_a_plain_forward(policy, monkeypatch, head_tokens):
    """Zero past each response's end, whatever the size of the head's chunks."""
    monkeypatch.setattr(scoring, "HEAD_TOKENS", head_tokens)
    model, _ = policy
    ours = replayed(model, capture(model.body, PROMPTS), ROWS, RESPONSES)
    whole = full(model, [PROMPTS[row] for row in ROWS], RESPONSES)

    assert ours.shape == whole.shape == (3, 3)
    for row, (prompt, response) in enumerate(zip(ROWS, RESPONSES, strict=True)):
        expected = plain(model, PROMPTS[prompt], response)
        for found in (ours, whole):
            assert torch.allclose(found[row, : len(response)], expected, atol=1e-4)
            assert found[row, len(response) :].abs().sum() == 0


def test_full_back_propagation_is_that_of_a_plain_forward(policy):
    """Also through the prompt."""
    model, trained = policy
    ours = torch.autograd.grad(full(model, PROMPTS[:1], RESPONSES[:1]).sum(), trained)
    theirs = torch.autograd.grad(plain(model, PROMPTS[0], RESPONSES[0]).sum(), trained)

    assert all(
        torch.allclose(one, other, atol=1e-5, rtol=1e-4) for one, other in zip(ours, theirs, strict=True)
    )


def test_a_constant_prompt_leaves_the_gradient_nearly_where_it_was(policy):
    """The cosine to the whole gradient, printed; it is not one: the prompt's keys and values are constants."""
    model, trained = policy
    captured = capture(model.body, PROMPTS)
    ours = torch.autograd.grad(replayed(model, captured, ROWS, RESPONSES).sum(), trained)
    whole = torch.autograd.grad(full(model, [PROMPTS[row] for row in ROWS], RESPONSES).sum(), trained)
    one, other = (torch.cat([part.flatten() for part in parts]) for parts in (ours, whole))
    cosine = float(torch.nn.functional.cosine_similarity(one, other, dim=0))
    print(f"cosine to the whole gradient {cosine:.4f}")

    assert 0.3 < cosine < 1 - 1e-6


@given(lengths=st.lists(st.tuples(st.integers(1, 9000), st.integers(1, 500)), max_size=20))
def test_passes_hold_every_row_once_within_the_bound(lengths: list[tuple[int, int]]) -> None:
    """But for a row that is over it alone."""
    found = list(passes([one for one, _ in lengths], [one for _, one in lengths]))
    rows = [row for part in found for row in range(part.start, part.stop)]

    assert rows == list(range(len(lengths)))
    for part in found:
        count = part.stop - part.start
        assert count == 1 or count * max(map(sum, lengths[part])) <= scoring.REPLAY_KEYS
