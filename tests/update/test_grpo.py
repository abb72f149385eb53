"""The arithmetic of group-relative policy optimisation."""

import pytest
import torch

from rsi.update.grpo import advantages, behaviour, loss, weights


def test_advantages_are_centred_and_scaled_within_each_group():
    """(r - mean) / deviation, by hand."""
    found = advantages(torch.tensor([[1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0]]))

    assert torch.allclose(found.values[0], torch.tensor([0.8660, -0.8660, -0.8660, 0.8660]), atol=1e-4)
    assert torch.allclose(found.values.mean(dim=1), torch.zeros(2), atol=1e-6)
    assert found.live.tolist() == [True, True]


def test_a_group_whose_rewards_are_equal_says_nothing():
    """All right or all wrong: no advantage, not live."""
    found = advantages(torch.tensor([[1.0, 1.0], [0.0, 0.0], [1.0, 0.0]]))

    assert found.live.tolist() == [False, False, True]
    assert found.values[:2].abs().sum() == 0


def test_exploration_gives_every_answer_its_share():
    """A label the policy has forgotten is still drawn."""
    mixed = behaviour(torch.log(torch.tensor([[0.97, 0.01, 0.01, 0.01]])), 0.2)

    assert mixed.sum().item() == pytest.approx(1)
    assert mixed.min().item() == pytest.approx(0.8 * 0.01 + 0.05)


def test_the_gradient_at_the_old_policy_is_minus_the_mean_advantage():
    """Where the ratio is one, d loss / d logprob = -A / samples / live groups."""
    said = torch.log(torch.tensor([[0.5, 0.5], [0.3, 0.7]])).requires_grad_()
    values, live = advantages(torch.tensor([[1.0, 0.0], [1.0, 1.0]]))

    loss(said, said.detach(), values, live).backward()

    assert torch.allclose(said.grad, torch.stack([-values[0] / 2, torch.zeros(2)]))


def test_a_ratio_outside_the_clip_stops_a_gain():
    """The surrogate does not reward going further."""
    old = torch.zeros(1, 2)
    far = torch.tensor([[0.5, -0.5]], requires_grad=True)

    loss(far, old, torch.tensor([[1.0, -1.0]]), torch.tensor([True])).backward()

    assert far.grad.abs().sum() == 0


def test_no_live_group_is_no_loss():
    """Zero, not a division by zero."""
    said = torch.zeros(2, 2, requires_grad=True)

    assert loss(said, said.detach(), torch.zeros(2, 2), torch.tensor([False, False])).item() == 0


def test_a_rare_right_answer_counts_whole_and_a_rare_wrong_one_hardly():
    """TOPR: no importance weight for what was better, a truncated one for what was worse."""
    policy = torch.log(torch.tensor([[0.001, 0.001, 0.9]]))
    drawn = torch.log(torch.tensor([[0.05, 0.05, 0.8]]))

    found = weights(policy, drawn, torch.tensor([[2.0, -1.0, -1.0]]))

    assert torch.allclose(found, torch.tensor([[1.0, 0.02, 1.0]]))
