"""What the policy says of responses, however they are put together."""

import pytest
import torch

from rsi.algorithm import Update
from rsi.engine.weights import read_base
from rsi.update import learner
from rsi.update.prefix import capture
from rsi.update.responses import Responses
from rsi.update.scoring import full, replayed

PROMPTS = [(1, 30, 31, 32, 40), (1, 30, 31, 32, 41, 42, 43), (1, 50)]
SAID = [
    (PROMPTS[0], (5, 6, 7)),
    (PROMPTS[1], (8,)),
    (PROMPTS[0], (5, 6, 7)),
    (PROMPTS[2], tuple(range(60, 72))),
    (PROMPTS[1], (5, 6, 7)),
    (PROMPTS[0], (9, 10)),
]


@pytest.fixture
def model(tiny_base, tmp_path):
    """The tiny base with an adapter that acts."""
    base, _ = read_base(tiny_base)
    found = learner.build(tmp_path, base, Update(rank=4, alpha=8), None, ())
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for _, one in found.parameters():
            one.add_(0.05 * torch.randn(one.shape, generator=generator))
    return found


def told(model, parts, width=12):
    """Log-probs by row, and the gradient of their weighted sum."""
    rows, found = [], []
    for part, new in parts:
        rows += part
        found.append(torch.nn.functional.pad(new, (0, width - new.shape[1])))
    logprobs = torch.cat(found)[torch.tensor(rows).argsort()]
    weights = torch.arange(1.0, 1 + logprobs.numel()).view_as(logprobs)
    wanted = torch.autograd.grad((weights * logprobs).sum(), [one for _, one in model.parameters()])
    return sorted(rows), logprobs.detach(), torch.cat([one.flatten() for one in wanted])


def test_all_together_say_what_each_says_alone(model):
    """Log-probs and gradients, with two rows alike and prompts that share their start."""
    alone = (
        ([row], replayed(model.decoder, capture(model.decoder.body, [prompt]), [0], [response]))
        for row, (prompt, response) in enumerate(SAID)
    )

    ours = told(model, Responses(model.decoder, SAID, whole_prompt=False).score(range(len(SAID))))
    theirs = told(model, alone)

    assert ours[0] == theirs[0] == list(range(len(SAID)))
    assert torch.allclose(ours[1], theirs[1], atol=1e-4)
    assert torch.allclose(ours[2], theirs[2], rtol=1e-3, atol=1e-3)


def test_gradients_through_the_prompt_are_those_of_a_full_forward(model):
    """Where the job asks for them."""
    alone = (
        ([row], full(model.decoder, [prompt], [response])) for row, (prompt, response) in enumerate(SAID)
    )

    ours = told(model, Responses(model.decoder, SAID, whole_prompt=True).score(range(len(SAID))))
    theirs = told(model, alone)

    assert torch.allclose(ours[1], theirs[1], atol=1e-4)
    assert torch.allclose(ours[2], theirs[2], rtol=1e-3, atol=1e-3)


def test_equal_responses_run_once_and_unlike_ones_apart(model):
    """Four rows of two lengths that differ little, one of them twice, and a long one: two passes."""
    said = [SAID[0], SAID[2], SAID[4], SAID[3]]

    parts = list(Responses(model.decoder, said, whole_prompt=False).score(range(4)))

    assert [sorted(part) for part, _ in parts] == [[3], [0, 1, 2]]
    assert [tuple(new.shape) for _, new in parts] == [(1, 12), (3, 3)]
    assert torch.equal(parts[1][1][parts[1][0].index(0)], parts[1][1][parts[1][0].index(1)])


def test_a_second_call_takes_the_prompts_that_were_captured(model):
    """Though the weights have moved since: that is what bounds the passes over the same answers."""
    scored = Responses(model.decoder, SAID, whole_prompt=False)
    before = torch.cat([new[:, :1] for _, new in scored.score([0, 2])]).detach()
    with torch.no_grad():
        for _, one in model.parameters():
            one.mul_(1.5)
    again = torch.cat([new[:, :1] for _, new in scored.score([0, 2])]).detach()
    fresh = torch.cat(
        [new[:, :1] for _, new in Responses(model.decoder, SAID, whole_prompt=False).score([0, 2])]
    )

    assert not torch.allclose(before, again)
    assert not torch.allclose(again, fresh.detach(), atol=1e-6)
