"""Training with a real vLLM server as the actor, and what it must not get away with."""

import json
from pathlib import Path

import orjson
import pytest
import torch
from safetensors.torch import load_file, save_file

from rsi.algorithm import Update
from rsi.engine.chat import Dialogue
from rsi.engine.openai import OpenAIEngine
from rsi.engine.publish import EngineReplica, publish
from rsi.engine.weights import read_base
from rsi.environments import kind
from rsi.errors import RefusedError
from rsi.harness.loop import Table
from rsi.ports import silent
from rsi.records import ChatMessage, Pool
from rsi.tasks.worlds import task_of
from rsi.update import learner, served
from rsi.update.closed import Texts
from rsi.update.job import submit
from rsi.update.worker import work
from rsi.update.worlds import Worlds
from rsi.verifiers import final_state
from tests.made import REQUESTS, base_digest, router, tiny_job

pytestmark = [pytest.mark.vllm, pytest.mark.base, pytest.mark.timeout(1800)]
BOUND = 1e-3
"""Largest difference (nats) between both sides' log-probs of a sampled token, in float32."""
FEW = {"steps": 3, "prompts": 4, "samples": 8, "rank": 16, "alpha": 32, "learning_rate": 3e-3, "exploration": 0.0}


@pytest.fixture
def engine(url: str, smollm: Path) -> OpenAIEngine:
    """A client of the server."""
    return OpenAIEngine(url, "smollm2-135m", base_digest(smollm), workers=64, wait_s=600)


def shaken(model: learner.Learner, seed: int) -> None:
    """Move the trained weights far enough to be told from the base."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, one in model.parameters():
            if "lora_B" in name:
                one.add_(0.02 * torch.randn(one.shape, generator=generator))


def test_a_few_steps_of_routing(home, smollm, url, engine, capsys, monkeypatch):
    """Labels are drawn by what the server says; a new adapter a step, each proven; both sides agree."""
    seen: list[tuple[str, float, float]] = []
    check = served.Proof.check

    def told(self, name):
        effect = check(self, name)
        seen.append((name, *effect))
        return effect

    monkeypatch.setattr(served.Proof, "check", told)
    place = submit(home, tiny_job(home, smollm, actor=url, **FEW))

    end = work(place, smollm, silent)

    log = [orjson.loads(line) for line in (place / "metrics.jsonl").read_bytes().splitlines()]
    with capsys.disabled():
        print("\nrouting: adapter, largest difference from the base, from the learner (nats)")
        for name, effect, gap in seen:
            print(f"  {name}  {effect:.5f}  {gap:.6f}")
        for row in log:
            print(
                f"  step {row['step']:.0f}: reward {row['reward']:.3f}, {row['sampled']:.0f} labels, actor and "
                f"learner {row['mean']:.2e} apart in the mean, {row['largest']:.2e} at most; {row['seconds']:.1f} s"
            )
    assert end.adapter is not None
    assert len({name for name, _, _ in seen}) == 3
    assert seen[0][1] < BOUND < seen[-1][1], "fresh weights are the base, trained ones are not"
    assert all(gap < BOUND for _, _, gap in seen)
    assert all(row["largest"] < BOUND for row in log)
    assert not {name for name, _, _ in seen} & set(engine.adapters())


def test_episodes_of_the_desk(smollm, tmp_path, url, engine, home, capsys):
    """Tokens in, sampled ids and log-probs out; the learner gives the same ids the same log-probs."""
    settings = Update(actor=url, samples=4, prompts=1, rank=16, alpha=32)
    base, tokenizer = read_base(smollm)
    model = learner.build(tmp_path, base, settings, None, ())
    job = tiny_job(home, smollm).model_copy(update={"settings": settings})
    actor, _ = served.join(job, tmp_path, model, Texts(tokenizer, router()))
    harness = router()
    practice = Worlds(
        model, actor, Table(Dialogue(tokenizer), harness.agent, final_state.check), settings, job.base
    )
    desk = kind("desk")
    tasks = [task_of(one, desk.open()) for one in desk.tasks(1, 1, Pool.TRAIN)]
    lines, names = [], []

    for step in range(2):
        shaken(model, step)
        drawn = practice.draw(tasks, step)
        names.append(actor.follow(model, job.base))
        apart = []
        for rows, new in drawn.score(range(len(drawn.groups.mask))):
            sampled = drawn.groups.mask[rows] > 0
            apart.append((new.detach() - drawn.groups.actor[rows]).abs()[sampled])
        gaps = torch.cat(apart)
        lines.append(f"  {names[-1]}: {len(gaps)} tokens, mean {gaps.mean():.2e}, largest {gaps.max():.2e} nats")
        assert float(gaps.max()) < BOUND
    listed = set(engine.adapters())
    actor.close()

    with capsys.disabled():
        print("\nservice desk: difference of actor's and learner's log-probs of sampled tokens")
        print("\n".join(lines))
    assert names[0] != names[1]
    assert set(names) <= listed
    assert not set(names) & set(engine.adapters())


def renamed(folder: Path, target: Path) -> Path:
    """The same adapter with its layers under names that no such base has."""
    target.mkdir(parents=True)
    tensors = load_file(folder / "adapter_model.safetensors")
    wrong = {key.replace("model.model.layers", "model.model.blocks.layers"): one for key, one in tensors.items()}
    save_file(wrong, target / "adapter_model.safetensors", {"format": "pt"})
    (target / "adapter_config.json").write_bytes((folder / "adapter_config.json").read_bytes())
    return target


def test_an_adapter_with_wrong_module_names_is_caught(home, smollm, tmp_path, url, engine, capsys, monkeypatch):
    """The server takes it and answers 200 with the base's text; training stops before a rollout counts."""
    base, tokenizer = read_base(smollm)
    model = learner.build(tmp_path, base, Update(rank=16, alpha=32), None, ())
    shaken(model, 5)
    right = tmp_path / "right"
    right.mkdir()
    learner.export(model, right, base_digest(smollm))
    wrong = renamed(right, tmp_path / "wrong")
    ids = [tokenizer.encode("The capital of France is")]
    engine.load("planted", wrong)
    engine.load("right", right)
    bare, planted, acting = (
        engine.generate_tokens(ids, name, 12, 0.0, [1])[0] for name in (None, "planted", "right")
    )
    with capsys.disabled():
        for who, said in (("base", bare), ("planted adapter", planted), ("right one", acting)):
            print(f"\n{who} says {said.text!r}, its first token at {said.logprobs[0]:.4f} nats")
    assert planted.text == bare.text
    assert planted.logprobs == pytest.approx(bare.logprobs, abs=1e-4)
    assert acting.logprobs[0] != pytest.approx(bare.logprobs[0], abs=1e-2)
    engine.unload("planted")
    engine.unload("right")

    harness = router()
    prompts = [harness.route_prompt((ChatMessage(role="user", content=REQUESTS["L1"][0]),))]
    engine.load("right", right)
    measured = engine.choose(prompts, harness.words, "right")
    engine.unload("right")
    with pytest.raises(RefusedError, match="does not act"):
        publish([EngineReplica(engine)], "planted", wrong, prompts, harness.words, measured)
    (effect,) = publish([EngineReplica(engine)], "right", right, prompts, harness.words, measured)
    engine.unload("right")
    with capsys.disabled():
        print(f"published: the right one, {effect.effect:.3f} nats from the base")

    export = learner.export

    def misnamed(one, folder, digest):
        draft = tmp_path / f"draft-{len(list(tmp_path.iterdir()))}"
        draft.mkdir()
        export(one, draft, digest)
        made = renamed(draft, tmp_path / f"{draft.name}-wrong")
        for file in made.iterdir():
            (folder / file.name).write_bytes(file.read_bytes())

    place = submit(home, tiny_job(home, smollm, actor=url, **{**FEW, "prompts": 2, "samples": 4}))
    monkeypatch.setattr(learner, "export", misnamed)
    with pytest.raises(RefusedError, match="does not act: the actor answers as the base would") as caught:
        work(place, smollm, silent)
    with capsys.disabled():
        print(f"training: {caught.value}")
    assert not (place / "complete.json").exists()
    assert json.loads((right / "adapter_config.json").read_text())["r"] == 16
