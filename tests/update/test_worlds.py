"""Rollouts of several turns: what was sampled is trained on, and nothing else."""

import orjson
import pytest
import torch
from transformers import AutoTokenizer

from rsi.engine.chat import Dialogue
from rsi.engine.weights import read_base
from rsi.environments import ENVIRONMENTS, Kind, kind
from rsi.harness.loop import Table
from rsi.harness.rules import Rules
from rsi.ports import Generation, silent
from rsi.records import OutcomeKind, Pool
from rsi.settings import Update
from rsi.tasks import bank
from rsi.tasks.worlds import task_of, world_of
from rsi.update import learner, objective
from rsi.update.job import submit
from rsi.update.worker import work
from rsi.update.worlds import Worlds
from rsi.verifiers import final_state
from tests.fakes import Cabinet, Scripted
from tests.harness.test_loop import put
from tests.made import tiny_job

SAMPLES = 4
SETTINGS = Update(samples=SAMPLES, prompts=1, rank=4, alpha=8)


class Follower:
    """An actor whose engine says given texts."""

    def __init__(self, sampler):
        self.sampler = sampler

    def follow(self, model, base):
        return "followed"

    def generate_tokens(self, *asked):
        return self.sampler.generate_tokens(*asked)


class Says:
    """A sampler that says the same in every call: the first text to the first row, and so on."""

    def __init__(self, dialogue, *texts):
        self._dialogue, self._texts = dialogue, texts

    def generate_tokens(self, prompts, adapter, max_tokens, temperature, seeds):
        said = [(text, self._dialogue.answer(text)) for text, _ in zip(self._texts, prompts, strict=False)]
        return [Generation(text, ids, (-0.5,) * len(ids), "stop") for text, ids in said]


@pytest.fixture
def cabinet(monkeypatch):
    """A task in a world of one drawer; the list of worlds that are opened next, then ordinary ones."""
    breaking: list[Cabinet] = []
    monkeypatch.setitem(
        ENVIRONMENTS, "cabinet", Kind(lambda: breaking.pop(0) if breaking else Cabinet(), lambda *_: ())
    )
    return task_of(put(), Cabinet()), breaking


@pytest.fixture
def model(tiny_base, tmp_path):
    """The tiny base with an adapter that acts."""
    base, _ = read_base(tiny_base)
    found = learner.build(tmp_path, base, SETTINGS, None, ())
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for _, one in found.parameters():
            one.add_(0.05 * torch.randn(one.shape, generator=generator))
    return found


def worlds(model, tiny_base, answers, settings=SETTINGS):
    """The practice, with what its engine says: by row and turn, or the same in every call."""
    dialogue = Dialogue(AutoTokenizer.from_pretrained(tiny_base))
    table = Table(dialogue, Rules(context=8192), final_state.check)
    sampler = Scripted(dialogue, answers) if isinstance(answers, dict) else Says(dialogue, *answers)
    return Worlds(model, Follower(sampler), table, settings, "b" * 64)


def test_a_bank_holds_tasks_in_worlds_and_gives_them_back(home):
    """With their tools, and the world in a column that no prompt shows."""
    desk = kind("desk")
    made = [task_of(one, desk.open()) for one in desk.tasks(5, 1, Pool.TRAIN)]
    name = bank.freeze(home, "desk-1", made)

    back = bank.load(home, name)

    assert {world_of(one).task_id for one in back} == {one.task_id for one in desk.tasks(5, 1, Pool.TRAIN)}
    assert all(orjson.loads(one.tools)[0]["type"] == "function" for one in back)


def test_groups_hold_what_was_sampled_and_what_it_was_worth(model, tiny_base, cabinet):
    """Rewards by final state; actor's log-probs at sampled tokens, nothing at those of tools."""
    task, _ = cabinet
    said = {0: ["put(key) done"], 1: ["put(hat) done"], 2: ["put(key)", "done"], 3: ["put(nothing)", "done"]}
    practice = worlds(model, tiny_base, said)

    groups = practice.draw([task], 0).groups

    assert groups.rewards.tolist() == [[1.0, 0.0, 1.0, 0.0]]
    assert groups.outcomes == {OutcomeKind.SCORED: 4}
    assert bool((groups.actor[groups.mask > 0] == -0.5).all())
    assert groups.actor[groups.mask == 0].abs().sum() == 0
    sampled = groups.mask.sum(dim=1)
    dialogue = Dialogue(AutoTokenizer.from_pretrained(tiny_base))
    assert sampled.tolist() == [sum(len(dialogue.answer(text)) for text in said[row]) for row in range(4)]
    assert groups.mask.shape[1] > sampled[2], "a tool's words stand between two answers"


def test_both_ways_of_scoring_agree_and_differ_in_their_gradients(model, tiny_base, cabinet):
    """Over a captured prompt, and with gradients through all of it."""
    task, _ = cabinet
    said = {row: ["put(key)", "done"] if row % 2 else ["put(hat) done"] for row in range(SAMPLES)}
    found = []
    for whole in (False, True):
        settings = SETTINGS.model_copy(update={"whole_prompt": whole})
        answers = {row: list(texts) for row, texts in said.items()}
        drawn = worlds(model, tiny_base, answers, settings).draw([task], 0)
        parts = list(drawn.score([1, 2, 3]))
        rows = [row for part, _ in parts for row in part]
        logprobs = torch.cat([new for _, new in parts]) * drawn.groups.mask[rows]
        gradient = torch.autograd.grad(logprobs.sum(), [one for _, one in model.parameters()])
        found.append((rows, logprobs.detach(), torch.cat([one.flatten() for one in gradient])))

    (rows, ours, prefix), (others, theirs, full) = found
    assert rows == others and sorted(rows) == [1, 2, 3]
    assert torch.allclose(ours, theirs, atol=1e-4)
    assert not torch.allclose(prefix, full, atol=1e-4)


def test_a_crashed_world_is_tried_once_more(model, tiny_base, cabinet):
    """In a fresh one; the group is whole again."""
    task, breaking = cabinet
    breaking += [Cabinet(breaks="call"), Cabinet(), Cabinet(), Cabinet()]

    groups = worlds(model, tiny_base, ["put(key) done"] * SAMPLES).draw([task], 0).groups

    assert groups.facts["crashes"] == 1
    assert groups.facts["failed_groups"] == 0
    assert groups.rewards.tolist() == [[1.0] * SAMPLES]


def test_a_group_whose_world_crashes_again_says_nothing(model, tiny_base, cabinet):
    """It is not trimmed to those that lived."""
    task, breaking = cabinet
    breaking += [Cabinet(breaks="call"), Cabinet(), Cabinet(), Cabinet(), Cabinet(breaks="call")]

    groups = worlds(model, tiny_base, ["put(key) done"] * 3 + ["put(hat) done"]).draw([task], 0).groups

    assert groups.facts["failed_groups"] == 1
    assert not bool(objective.advantages(groups.rewards).live.any())
    assert groups.outcomes[OutcomeKind.ERROR] == 1


def desk_job(home, tiny_base, **settings):
    """A small job on the desk, its bank stored in `home`."""
    desk = kind("desk")
    made = [task_of(one, desk.open()) for one in desk.tasks(8, 1, Pool.TRAIN)]
    name = bank.freeze(home, "desk-1", made)
    job = tiny_job(home, tiny_base, **settings)
    return job.model_copy(update={"bank": name, "hop": "world", "role": "L1"})


def test_shown_solutions_are_learnt(home, tiny_base):
    """Supervised training on played solutions lowers the loss, and leaves an adapter of the role."""
    place = submit(home, desk_job(home, tiny_base, algorithm="sft", steps=8, prompts=2, learning_rate=0.02))

    end = work(place, tiny_base, silent)

    rows = [orjson.loads(line) for line in (place / "metrics.jsonl").read_bytes().splitlines()]
    assert rows[-1]["loss"] < rows[0]["loss"] - 0.3
    assert end.adapter is not None
    assert end.adapter.startswith("L1-")


def test_rollouts_of_a_model_that_knows_nothing_leave_no_candidate(home, tiny_base):
    """The actor plays with the learner's weights; nothing is right, so nothing is learnt."""
    place = submit(home, desk_job(home, tiny_base, steps=2, prompts=1, samples=2))

    end = work(place, tiny_base, silent)

    rows = [orjson.loads(line) for line in (place / "metrics.jsonl").read_bytes().splitlines()]
    assert end.adapter is None
    assert "none of 2 steps found a group of answers with a signal" in end.ended
    assert all(row["sampled"] > 0 and row["reward"] == 0 for row in rows)
    assert not [path for path in place.rglob("*") if path.name.startswith("trained-")]
