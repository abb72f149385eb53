"""The arithmetic of policy optimisation over groups of answers."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rsi.algorithm import Level, Normalisation, Objective, Scaling
from rsi.update.objective import Whole, advantages, clipped_share, divergence, loss, ratios, reduced

MASK = torch.tensor([[1.0, 1, 1], [1, 0, 0], [1, 1, 0], [1, 1, 1]])
"""Four answers of up to three tokens."""
WHOLE = Whole(answers=4, tokens=9, longest=4)


def drawn(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Log-probs of now and then, and advantages."""
    generator = torch.Generator().manual_seed(seed)
    old = -torch.rand(MASK.shape, generator=generator)
    new = old + 0.5 * torch.randn(MASK.shape, generator=generator)
    return new, old, torch.tensor([1.0, -1.0, 0.5, -0.5])


def test_advantages_are_centred_and_scaled_within_each_group():
    """(r - mean) / deviation, by hand."""
    found = advantages(torch.tensor([[1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0]]))

    assert torch.allclose(found.values[0], torch.tensor([0.8660, -0.8660, -0.8660, 0.8660]), atol=1e-4)
    assert torch.allclose(found.values.mean(dim=1), torch.zeros(2), atol=1e-6)
    assert found.live.tolist() == [True, True]


def test_without_scaling_advantages_are_centred_only():
    """A hard group with one right answer does not count more than an even one."""
    found = advantages(torch.tensor([[1.0, 0.0, 0.0, 0.0]]), Scaling.NONE)

    assert torch.allclose(found.values, torch.tensor([[0.75, -0.25, -0.25, -0.25]]))


def test_a_group_whose_rewards_are_equal_says_nothing():
    """All right or all wrong: no advantage, not live."""
    found = advantages(torch.tensor([[1.0, 1.0], [0.0, 0.0], [1.0, 0.0]]))

    assert found.live.tolist() == [False, False, True]
    assert found.values[:2].abs().sum() == 0


def test_the_gradient_at_the_old_policy_is_minus_the_mean_advantage():
    """Where the ratio is one, d loss / d logprob = -A / (answers x length)."""
    _, old, values = drawn()
    said = old.clone().requires_grad_()

    loss(Objective(), said, old, values, MASK, whole=WHOLE).backward()

    assert said.grad is not None
    lengths = MASK.sum(dim=-1, keepdim=True)
    assert torch.allclose(said.grad, -values.unsqueeze(-1) * MASK / (4 * lengths))


@pytest.mark.parametrize(
    ("normalisation", "expected"),
    [
        # Tokens that each lose 1: answers of 3, 1, 2 and 3.
        (Normalisation.ANSWER, 1.0),
        (Normalisation.TOKEN, 1.0),
        (Normalisation.LENGTH, (3 + 1 + 2 + 3) / 4 / 4),
    ],
)
def test_losses_of_tokens_become_one_as_the_papers_say(normalisation, expected):
    """By hand, at a ratio of one and an advantage of minus one."""
    old = torch.zeros_like(MASK)
    values = -torch.ones(4)
    found = loss(Objective(normalisation=normalisation), old, old, values, MASK, whole=WHOLE)

    assert float(found) == pytest.approx(expected)


def test_the_answers_mean_weighs_short_answers_more_than_the_tokens_mean():
    """Only one answer loses: a long one weighs a quarter of the answers, but a third of the tokens."""
    old, values = torch.zeros_like(MASK), torch.tensor([-1.0, 0.0, 0.0, 0.0])

    by_answer = loss(Objective(), old, old, values, MASK, whole=WHOLE)
    by_token = loss(Objective(normalisation=Normalisation.TOKEN), old, old, values, MASK, whole=WHOLE)

    assert float(by_answer) == pytest.approx(1 / 4)
    assert float(by_token) == pytest.approx(3 / 9)


def test_one_ratio_for_the_whole_answer_is_the_geometric_mean():
    """And its gradient reaches every token of the answer."""
    new, old, _ = drawn()
    said = new.requires_grad_()
    found = ratios(said, old, MASK, Level.SEQUENCE)

    mean = ((new - old) * MASK).sum(-1) / MASK.sum(-1)
    assert torch.allclose(found, mean.exp().unsqueeze(-1).expand_as(MASK))
    found[0, 0].backward()
    assert said.grad is not None
    assert bool((said.grad[0] != 0).all())


def test_a_ratio_outside_the_clip_stops_a_gain():
    """The surrogate does not reward going further; each side has its own bound."""
    old, mask = torch.zeros(2, 1), torch.ones(2, 1)
    values = torch.tensor([1.0, -1.0])
    whole = Whole(2, 2, 1)
    far = torch.tensor([[0.3], [-0.3]], requires_grad=True)

    loss(Objective(), far, old, values, mask, whole=whole).backward()
    assert far.grad is not None
    assert far.grad.abs().sum() == 0
    assert clipped_share(Objective(), far.detach(), old, values, mask) == 1

    far.grad = None
    loss(Objective(clip_high=0.5), far, old, values, mask, whole=whole).backward()
    assert far.grad is not None
    assert (far.grad != 0).flatten().tolist() == [True, False]


def test_padding_and_other_peoples_turns_count_nothing():
    """Whatever stands under a mask of 0 changes neither loss nor gradient."""
    new, old, values = drawn()
    wild = torch.where(MASK > 0, new, torch.full_like(new, -50.0)).requires_grad_()
    for objective in (Objective(), Objective(level=Level.SEQUENCE)):
        one = loss(objective, new, old, values, MASK, whole=WHOLE)
        other = loss(objective, wild, old, values, MASK, whole=WHOLE)
        assert float(one) == pytest.approx(float(other.detach()))
    other.backward()
    assert wild.grad is not None
    assert wild.grad[MASK == 0].abs().sum() == 0


@given(seed=st.integers(0, 1000), normalisation=st.sampled_from(Normalisation), level=st.sampled_from(Level))
def test_parts_of_a_step_add_up_to_the_whole(seed: int, normalisation: Normalisation, level: Level) -> None:
    """So that a step may be worked off answer by answer, within any memory."""
    new, old, values = drawn(seed)
    objective = Objective(normalisation=normalisation, level=level, clip_high=0.28)
    whole = loss(objective, new, old, values, MASK, whole=WHOLE)
    parts = [
        loss(objective, new[one], old[one], values[one], MASK[one], whole=WHOLE)
        for one in (slice(0, 1), slice(1, 4))
    ]

    assert float(sum(parts)) == pytest.approx(float(whole), abs=1e-6)


def test_nothing_sampled_is_no_loss():
    """Zero, not a division by zero."""
    empty = torch.zeros(0, 3)
    found = loss(Objective(), empty, empty, torch.zeros(0), empty, whole=Whole(0, 0, 4))
    assert found.item() == 0


def test_the_divergence_from_the_base_has_the_gradient_of_the_divergence():
    """Summed over all that may be sampled, with its probability: value and gradient of KL(policy || base)."""
    generator = torch.Generator().manual_seed(4)
    logits, base = torch.randn(2, 6, generator=generator, dtype=torch.double)
    logits.requires_grad_()
    reference = base.log_softmax(0)
    mask = torch.ones(6, 1, dtype=torch.double)

    def sampled(weigh):
        new = logits.log_softmax(0)
        old = new.detach()
        return (old.exp() * weigh(new, old).squeeze(-1)).sum()

    def ours(new, old):
        return divergence(new.unsqueeze(-1), old.unsqueeze(-1), reference.unsqueeze(-1), mask)

    def unweighted(new, old):
        return ours(new, new)

    exact = (logits.log_softmax(0).exp() * (logits.log_softmax(0) - reference)).sum()
    (wanted,) = torch.autograd.grad(exact, logits)
    (found,) = torch.autograd.grad(sampled(ours), logits)
    (other,) = torch.autograd.grad(sampled(unweighted), logits)

    assert float(sampled(ours).detach()) == pytest.approx(float(exact.detach()))
    assert torch.allclose(found, wanted)
    assert not torch.allclose(other, wanted, atol=1e-3), "without the ratio it is another gradient"


def test_the_base_costs_what_the_objective_says():
    """Nothing where it is not asked; else the divergence of each token, as the rest of the loss counts it."""
    new, old, values = drawn()
    reference = old - 0.3 * MASK

    def of(kl, **given):
        return float(loss(Objective(kl=kl), new, old, values, MASK, whole=WHOLE, **given))

    apart = reduced(Normalisation.ANSWER, divergence(new, old, reference, MASK), MASK, WHOLE)
    assert of(0.5, reference=reference) == pytest.approx(of(0.0) + 0.5 * float(apart), abs=1e-6)
    assert float(apart) > 0
    assert of(0.0, reference=reference) == of(0.0)
