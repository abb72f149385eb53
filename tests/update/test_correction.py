"""What sampled tokens count where actor and learner disagree."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from rsi.algorithm import Correction, Level, Rule
from rsi.update.correction import mismatch, weights

ACTOR = torch.log(torch.tensor([[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]))
LEARNER = torch.log(torch.tensor([[0.5, 0.05, 0.9], [0.4, 0.6, 0.5]]))
"""Ratios 1, 0.1, 1.8 and 0.8, 1.2, 1."""
MASK = torch.ones(2, 3)
VALUES = torch.tensor([1.0, -1.0])


def found(rule: Rule, level: Level = Level.TOKEN, **more: float) -> list[list[float]]:
    """Weights of the two answers."""
    correction = Correction.model_validate({"rule": rule, "level": level, **more})
    rows: list[list[float]] = weights(correction, LEARNER, ACTOR, MASK, VALUES).tolist()
    return [pytest.approx(row) for row in rows]


def test_without_a_rule_every_token_counts_once():
    """And what is masked, nothing."""
    assert found(Rule.NONE) == [[1, 1, 1], [1, 1, 1]]
    mask = torch.tensor([[1.0, 0, 1], [1, 1, 0]])
    assert weights(Correction(), LEARNER, ACTOR, mask, VALUES).tolist() == mask.tolist()


def test_truncation_bounds_the_ratio_above():
    """TIS: a token cannot count more than `high`, and small ratios stay."""
    assert found(Rule.TRUNCATE, high=1.5) == [[1, 0.1, 1.5], [0.8, 1.2, 1]]


def test_icepop_throws_tokens_away_on_both_sides():
    """Inside the bounds the ratio is the weight."""
    assert found(Rule.ICEPOP, low=0.5, high=1.5) == [[1, 0, 0], [0.8, 1.2, 1]]
    assert found(Rule.MASK, low=0.5, high=1.5) == [[1, 0, 0], [1, 1, 1]]


def test_rejection_takes_the_whole_answer():
    """By the geometric mean of its ratios: 0.56 and 0.99."""
    assert found(Rule.REJECT, Level.SEQUENCE, low=0.9, high=1.1) == [[0, 0, 0], [1, 1, 1]]


def test_a_sequence_ratio_is_the_product_over_the_answer():
    """0.18 and 0.96, for each of its tokens."""
    assert found(Rule.TRUNCATE, Level.SEQUENCE) == [[0.18] * 3, [0.96] * 3]
    assert found(Rule.ICEPOP, Level.SEQUENCE, low=0.5) == [[0] * 3, [0.96] * 3]


def test_a_rare_right_answer_counts_whole_and_a_rare_wrong_one_hardly():
    """TOPR: no weight for what was better than its group, a truncated one for what was worse."""
    policy = torch.log(torch.tensor([[0.001], [0.001], [0.9]]))
    drawn = torch.log(torch.tensor([[0.05], [0.05], [0.8]]))
    values = torch.tensor([2.0, -1.0, -1.0])

    said = weights(Correction(rule=Rule.TOPR, level=Level.SEQUENCE), policy, drawn, torch.ones(3, 1), values)

    assert torch.allclose(said.flatten(), torch.tensor([1.0, 0.02, 1.0]))


def test_a_token_that_was_never_the_learners_takes_its_answer_with_it():
    """With `veto`, whatever the rule."""
    learner = LEARNER.clone()
    learner[0, 1] = ACTOR[0, 1] - 12
    assert weights(Correction(veto=True), learner, ACTOR, MASK, VALUES).tolist() == [[0, 0, 0], [1, 1, 1]]
    assert weights(Correction(), learner, ACTOR, MASK, VALUES).sum() == 6


@pytest.mark.parametrize("rule", [Rule.REJECT, Rule.TOPR])
def test_rules_of_answers_do_not_take_the_level_of_tokens(rule):
    """Said where the settings are read."""
    with pytest.raises(ValidationError, match="set level = 'sequence'"):
        Correction(rule=rule)


def test_the_measures_are_those_of_their_formulas():
    """By hand."""
    said = weights(Correction(rule=Rule.ICEPOP, high=1.5), LEARNER, ACTOR, MASK, VALUES)
    k = torch.tensor([1, 0.1, 1.8, 0.8, 1.2, 1.0])
    w = torch.tensor([1, 0, 0, 0.8, 1.2, 1.0])

    measured = mismatch(LEARNER, ACTOR, MASK, said)

    assert measured.k3 == pytest.approx(float((k - k.log() - 1).mean()), abs=1e-6)
    assert measured.chi_square == pytest.approx(float((k**2).mean() - 1), abs=1e-6)
    assert measured.effective == pytest.approx(float(w.sum() ** 2 / (6 * (w**2).sum())), abs=1e-6)
    assert measured.masked == pytest.approx(2 / 6)
    assert measured.largest == pytest.approx(float(-torch.log(torch.tensor(0.1))), abs=1e-5)
    assert measured.finite


@given(scale=st.floats(0, 3), seed=st.integers(0, 100))
def test_an_actor_made_wrong_shows_in_every_measure(scale: float, seed: int) -> None:
    """The further it is off, the larger the divergence; one that agrees shows none."""
    generator = torch.Generator().manual_seed(seed)
    learner = -torch.rand(4, 8, 16, generator=generator)
    noise = torch.randn(4, 8, 16, generator=generator)
    mask = torch.ones_like(learner)
    plain = Correction()

    def measured(by: float) -> tuple[float, float]:
        one = mismatch(
            learner, learner + by * noise, mask, weights(plain, learner, learner, mask, mask[..., 0])
        )
        return one.k3, one.largest

    assert measured(0) == (0, 0)
    assert measured(scale + 0.5)[0] > measured(scale)[0]
    assert measured(scale + 0.5)[1] > measured(scale)[1]
