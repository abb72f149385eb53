"""Written answers as rollouts: what was sampled, judged by the task's verifier."""

import pytest
import torch

from rsi.algorithm import Update
from rsi.engine.chat import Dialogue
from rsi.engine.weights import read_base
from rsi.ports import Generation
from rsi.records import OutcomeKind
from rsi.update import learner
from rsi.update.written import Written
from rsi.verifiers import gold
from tests.made import router
from tests.tasks.test_columns import CALL

SETTINGS = Update(samples=2, prompts=1, rank=4, alpha=8, answer_tokens=40)


class Says:
    """An actor that says given texts."""

    def __init__(self, dialogue, *texts):
        self.dialogue, self.texts, self.asked = dialogue, texts, []

    def follow(self, model, base):
        return "followed"

    def generate_tokens(self, prompts, adapter, max_tokens, temperature, seeds):
        self.asked.append((adapter, max_tokens, temperature, tuple(seeds)))
        said = [(text, tuple(self.dialogue.answer(text))) for text in self.texts]
        return [Generation(text, ids, (-0.5,) * len(ids), "stop") for text, ids in said]


@pytest.fixture
def practice(tiny_base, tmp_path):
    """With an actor that is right once and once says nothing of use."""
    base, tokenizer = read_base(tiny_base)
    model = learner.build(tmp_path, base, SETTINGS, None, ())
    dialogue = Dialogue(tokenizer)
    actor = Says(dialogue, gold(CALL.verifier, CALL.expected), "no")
    return Written(model, actor, dialogue, router(), SETTINGS, "b" * 64), actor


def test_answers_are_judged_by_the_tasks_verifier(practice):
    """One is right, one is not; each draws from a seed of its own, other ones in the next step."""
    written, actor = practice

    drawn = written.draw([CALL], 0)
    groups = drawn.groups
    written.draw([CALL], 1)
    written.draw([CALL], 1, 1)

    assert groups.rewards.tolist() == [[1.0, 0.0]]
    assert [(one.sample, one.reward, one.stop) for one in drawn.rollouts()] == [
        (0, 1.0, "stop"),
        (1, 0.0, "stop"),
    ]
    assert groups.outcomes[OutcomeKind.SCORED] == 2
    assert groups.mask.sum(dim=1).tolist() == [len(actor.dialogue.answer(text)) for text in actor.texts]
    assert float(groups.actor.sum()) == -0.5 * float(groups.mask.sum())
    assert len({seed for asked in actor.asked for seed in asked[3]}) == 6
    assert actor.asked[0][:3] == ("followed", 40, 1.0)


def test_a_shown_answer_is_right_and_scored_with_a_graph(practice):
    """The verifier's own, one row a task."""
    written, _ = practice

    shown = written.show([CALL, CALL])
    parts = list(shown.score([0, 1]))

    assert shown.groups.rewards.tolist() == [[1.0], [1.0]]
    assert sorted(row for rows, _ in parts for row in rows) == [0, 1]
    found = torch.cat([new for _, new in parts])
    assert found.shape == shown.groups.mask.shape and found.requires_grad
    assert bool((found.detach() * shown.groups.mask < 0).any())
