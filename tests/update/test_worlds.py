"""Rollouts of several turns: what was sampled is trained on, and nothing else."""

import threading

import orjson
import pytest
import torch
from transformers import AutoTokenizer

from rsi.algorithm import Update
from rsi.engine.chat import Dialogue
from rsi.engine.weights import read_base
from rsi.environments import ENVIRONMENTS, Kind, kind
from rsi.harness.loop import Table
from rsi.harness.rules import Rules
from rsi.ports import Generation, silent
from rsi.records import OutcomeKind, Pool
from rsi.tasks import bank
from rsi.tasks.worlds import task_of, world_of
from rsi.update import learner, objective
from rsi.update.course import Rota
from rsi.update.job import submit
from rsi.update.practice import Joined
from rsi.update.step import imitate
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

    assert groups.counts["crashes"] == 1
    assert groups.counts["failed_groups"] == 0
    assert groups.rewards.tolist() == [[1.0] * SAMPLES]


def test_a_group_whose_world_crashes_again_says_nothing(model, tiny_base, cabinet):
    """It is not trimmed to those that lived."""
    task, breaking = cabinet
    breaking += [Cabinet(breaks="call"), Cabinet(), Cabinet(), Cabinet(), Cabinet(breaks="call")]

    groups = worlds(model, tiny_base, ["put(key) done"] * 3 + ["put(hat) done"]).draw([task], 0).groups

    assert groups.counts["failed_groups"] == 1
    assert not bool(objective.advantages(groups.rewards).live.any())
    assert groups.outcomes[OutcomeKind.ERROR] == 1


@pytest.mark.parametrize(("retries", "failed"), [(0, 1), (1, 1), (2, 0)])
def test_a_crashed_world_is_tried_as_often_as_the_settings_say(model, tiny_base, cabinet, retries, failed):
    """Each time in a fresh one."""
    task, breaking = cabinet
    breaking += [Cabinet(breaks="call"), Cabinet(), Cabinet(), Cabinet(), Cabinet(breaks="reset")]
    settings = SETTINGS.model_copy(update={"retries": retries})

    drawn = worlds(model, tiny_base, ["put(key) done"] * SAMPLES, settings).draw([task], 0)

    assert drawn.groups.counts == {"crashes": min(retries, 2), "failed_groups": failed}
    assert drawn.groups.failed.tolist() == [bool(failed)]
    assert [one.reward for one in drawn.rollouts()] == [None if failed else 1.0, 1.0, 1.0, 1.0]


def test_a_verifier_that_hangs_is_a_crash_of_its_episode(model, tiny_base, cabinet):
    """It is left behind after the time that a world has."""
    task, _ = cabinet
    waits = threading.Event()
    practice = worlds(model, tiny_base, ["put(key) done"] * SAMPLES)

    def slow(state, expected):
        waits.wait(60)
        return final_state.check(state, expected)

    practice._table = practice._table._replace(score=slow, rules=Rules(context=8192, tool_seconds=0.05))
    drawn = practice.draw([task], 0)
    waits.set()

    assert drawn.groups.outcomes == {OutcomeKind.ERROR: SAMPLES}
    assert {one.stop for one in drawn.rollouts()} == {"crash"}
    assert drawn.groups.counts["failed_groups"] == 1


def test_rollouts_are_what_was_read_and_sampled(model, tiny_base, cabinet):
    """Tokens of prompt and response, which of them were sampled, and their log-probs."""
    task, _ = cabinet
    said = {row: ["put(key)", "done"] if row % 2 else ["put(hat) done"] for row in range(SAMPLES)}
    drawn = worlds(model, tiny_base, said).draw([task], 0)

    found = list(drawn.rollouts())

    dialogue = Dialogue(AutoTokenizer.from_pretrained(tiny_base))
    assert [one.sample for one in found] == list(range(SAMPLES))
    assert [one.reward for one in found] == [0.0, 1.0, 0.0, 1.0]
    for row, one in enumerate(found):
        assert one.task_id == task.task_id
        sampled = [token for token, mine in zip(one.response, one.sampled, strict=True) if mine]
        assert sampled == [token for text in said_of(row) for token in dialogue.answer(text)]
        assert list(one.logprobs) == [-0.5] * len(sampled)


def said_of(row):
    """What the row said."""
    return ["put(key)", "done"] if row % 2 else ["put(hat) done"]


@pytest.mark.parametrize("whole", [False, True], ids=["captured", "whole prompt"])
def test_draws_of_one_step_are_scored_as_one(model, tiny_base, cabinet, whole):
    """Rows of the second behind those of the first, each with its own log-probs; read afresh as well."""
    task, _ = cabinet
    settings = SETTINGS.model_copy(update={"whole_prompt": whole})
    short = worlds(model, tiny_base, ["put(key) done"] * SAMPLES, settings).draw([task], 0)
    long = worlds(model, tiny_base, {row: ["put(key)", "done"] for row in range(SAMPLES)}, settings).draw([task], 0, 1)
    both = Joined([short, long])

    def scored(drawn, rows, way="score"):
        return {
            row: value[: int(drawn.groups.mask.shape[1])].detach()
            for some, found in getattr(drawn, way)(rows)
            for row, value in zip(some, found, strict=True)
        }

    found = scored(both, [1, 3, 5, 6])
    alone = {**scored(short, [1, 3]), 5: scored(long, [1])[1], 6: scored(long, [2])[2]}
    assert sorted(found) == [1, 3, 5, 6]
    for row, value in alone.items():
        assert torch.allclose(found[row][: len(value)], value, atol=1e-5)
    again = scored(both, [1, 3, 5, 6], "afresh")
    assert all(torch.allclose(again[row], found[row], atol=1e-5) for row in found)
    assert both.groups.rewards.tolist() == [[1.0] * SAMPLES] * 2
    assert both.groups.mask.shape == (2 * SAMPLES, long.groups.mask.shape[1])
    assert both.groups.facts["turns"] == 1.5


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


@pytest.mark.parametrize("breaks", ["reset", "call"])
def test_a_solution_whose_world_crashes_is_not_shown(model, tiny_base, cabinet, breaks):
    """Neither a fragment nor nothing is learnt from; the others are."""
    task, breaking = cabinet
    breaking += [Cabinet(breaks=breaks), Cabinet()]
    practice = worlds(model, tiny_base, [])
    course, two = Rota([task], 17), SETTINGS.model_copy(update={"prompts": 2})

    row = imitate(model, practice, two, course, 0)

    assert (row["live"], row["skipped"]) == (1.0, 1.0)
    assert row["loss"] > 0
    breaking += [Cabinet(breaks=breaks), Cabinet(breaks=breaks)]
    nothing = imitate(model, practice, two, course, 1)
    assert (nothing["live"], nothing["loss"], nothing["gradient_norm"]) == (0.0, 0.0, 0.0)


def test_rollouts_of_a_model_that_knows_nothing_leave_no_candidate(home, tiny_base):
    """The actor plays with the learner's weights; nothing is right, so nothing is learnt."""
    place = submit(home, desk_job(home, tiny_base, steps=2, prompts=1, samples=2, refill=0))

    end = work(place, tiny_base, silent)

    rows = [orjson.loads(line) for line in (place / "metrics.jsonl").read_bytes().splitlines()]
    assert end.adapter is None
    assert "none of 2 steps found a group of answers with a signal" in end.ended
    assert all(row["sampled"] > 0 and row["reward"] == 0 for row in rows)
    assert not [path for path in place.rglob("*") if path.name.startswith("trained-")]
