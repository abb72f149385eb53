"""Running a training job: resume, steps, checkpoints, and the adapter at the end.

A job killed at any instant and run again ends in the same adapter: batches and draws depend on (seed, step)
alone, a checkpoint holds weights and optimiser moments, and what was logged after it is cut off and made again.
"""

import math
import shutil
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import orjson
import torch
from transformers import PreTrainedTokenizerBase

from rsi import faults
from rsi.engine import chat
from rsi.engine.weights import read_base
from rsi.errors import IntegrityError, RefusedError
from rsi.harness import hcp
from rsi.ids import canonical
from rsi.ports import Progress, Prompt
from rsi.records import Task
from rsi.registry import adapters
from rsi.registry.promote import probe_prompts
from rsi.settings import Home, Update
from rsi.store.files import write_whole
from rsi.update import correction, learner, objective, rollout
from rsi.update.job import Done, Job, batch, done, finish, folder, tasks_of
from rsi.update.prefix import capture

WARM_UP = 5
"""Steps over which the learning rate rises."""
CLIP_NORM = 1.0
"""Largest norm of a step's gradient."""


class Texts(NamedTuple):
    """What turns prompts and labels into tokens."""

    tokenizer: PreTrainedTokenizerBase
    harness: hcp.Harness

    def prompt(self, messages: Prompt) -> list[int]:
        """Tokens of a conversation up to the answer."""
        return chat.tokens(self.tokenizer, messages)

    def choices(self) -> list[list[int]]:
        """Tokens of every label."""
        return [chat.encode(self.tokenizer, word) for word in self.harness.words]


class Run(NamedTuple):
    """One job being worked on."""

    home: Home
    job: Job
    model: learner.Learner
    texts: Texts
    tasks: tuple[Task, ...]


def work(home: Home, job: Job, base: Path, progress: Progress) -> Done:
    """Train to the end, or find it done.

    Raises:
        IntegrityError: something that is frozen changed.
        RefusedError: the loss is no longer a number.
    """
    ended = done(home, job)
    if ended is not None:
        return ended
    tasks = tasks_of(home, job)
    model, tokenizer = read_base(base)
    run = Run(
        home,
        job,
        learner.build(home, model, job.settings, job.warm_start, job.frozen),
        Texts(tokenizer, hcp.load(home.harnesses, job.harness)),
        tasks,
    )
    before = learner.fingerprint(run.model)
    skipped = _steps(run, progress)
    if learner.fingerprint(run.model) != before:
        raise IntegrityError(
            f"job {job.digest[:12]} changed the base or an adapter of another role; nothing was kept"
        )
    groups = job.settings.steps * job.settings.prompts
    name = None if skipped == groups else _export(run)
    faults.point("update.before_complete")
    end = finish(home, job, Done(adapter=name, steps=job.settings.steps, skipped=skipped))
    with suppress(OSError):
        shutil.rmtree(folder(home, job) / "checkpoints")
    return end


def _steps(run: Run, progress: Progress) -> int:
    place, settings = folder(run.home, run.job), run.job.settings
    first, skipped = 0, 0
    saved = sorted((place / "checkpoints").glob("step-*"))
    if saved:
        first, skipped = learner.load_checkpoint(saved[-1], run.model)
    _cut_metrics(place / "metrics.jsonl", first)
    for step in range(first, settings.steps):
        row = _step(run, step)
        skipped += int(row["skipped"])
        with (place / "metrics.jsonl").open("ab") as file:
            file.write(canonical(row) + b"\n")
        faults.point("update.after_step")
        progress(
            "update", step + 1, settings.steps, f"reward {row['reward']:.2f}, {skipped} groups without signal"
        )
        if (step + 1) % settings.checkpoint_every == 0 and step + 1 < settings.steps:
            learner.save_checkpoint(
                place / "checkpoints" / f"step-{step + 1:06d}", run.model, step + 1, skipped
            )
            for old in sorted((place / "checkpoints").glob("step-*"))[:-1]:
                shutil.rmtree(old)
            faults.point("update.after_checkpoint")
    return skipped


def _step(run: Run, step: int) -> dict[str, float]:
    settings, model, started = run.job.settings, run.model, time.monotonic()
    tasks = batch(run.tasks, settings, step)
    prompts = [run.texts.prompt(run.texts.harness.route_prompt(one.messages)) for one in tasks]
    logprobs = rollout.policy(model.decoder, capture(model.decoder.body, prompts), run.texts.choices())
    drawn = rollout.draw(
        logprobs,
        tasks,
        run.texts.harness.roles,
        settings.samples,
        settings.exploration,
        f"{settings.seed}:{step}",
    )
    values, live = objective.advantages(drawn.rewards, settings.objective.scaling)
    loss, apart = _loss(settings, logprobs.gather(1, drawn.choices)[live], drawn.logprobs[live], values[live])
    norm = 0.0
    if bool(live.any()):
        for group in model.optimizer.param_groups:
            group["lr"] = settings.learning_rate * schedule(step, settings.steps)
        model.optimizer.zero_grad()
        loss.backward()
        norm = float(torch.nn.utils.clip_grad_norm_([one for _, one in model.parameters()], CLIP_NORM))
        if not math.isfinite(float(loss.detach()) + norm):
            raise RefusedError(
                f"training diverged at step {step + 1}: loss {float(loss.detach())}, gradient norm {norm}"
            )
        model.optimizer.step()
    right = [run.texts.harness.roles.index(one.expected) for one in tasks]
    return {
        "step": step + 1,
        "reward": float(drawn.rewards.mean()),
        "p_right": float(logprobs.detach().exp()[torch.arange(len(tasks)), torch.tensor(right)].mean()),
        "entropy": float(-(logprobs.detach().exp() * logprobs.detach()).sum(dim=1).mean()),
        "loss": float(loss.detach()),
        "gradient_norm": norm,
        "k3": apart.k3,
        "effective": apart.effective,
        "skipped": float((~live).sum()),
        "unscored": float(drawn.unscored),
        "prompt_tokens": float(sum(map(len, prompts))),
        "seconds": time.monotonic() - started,
    }


def _loss(
    settings: Update, said: torch.Tensor, drawn: torch.Tensor, values: torch.Tensor
) -> tuple[torch.Tensor, correction.Mismatch]:
    """Loss and mismatch of live groups; an answer out of a closed set is one token. All are [groups, samples]."""
    new, actor = said.unsqueeze(-1), drawn.unsqueeze(-1)
    mask = torch.ones_like(actor)
    weights = correction.weights(settings.correction, new, actor, mask, values)
    whole = objective.Whole(len(said), said.numel(), 1)
    loss = objective.loss(settings.objective, new, new.detach(), values, mask, whole=whole, weights=weights)
    return loss, correction.mismatch(new, actor, mask, weights)


def schedule(step: int, steps: int) -> float:
    """Factor of the learning rate: up over `WARM_UP` steps, level to the middle, then down to a tenth."""
    late = max(0.0, (step - steps / 2) / (steps / 2))
    return min(1.0, (step + 1) / WARM_UP) * (1.0 - 0.9 * late)


def _cut_metrics(path: Path, steps: int) -> None:
    """Keep the rows of finished steps only."""
    if not path.exists():
        return
    rows = [line for line in path.read_bytes().split(b"\n")[:-1] if orjson.loads(line)["step"] <= steps]
    write_whole(path, b"".join(line + b"\n" for line in rows))


def measure(run: Run, prompts: Sequence[Prompt]) -> tuple[tuple[float, ...], ...]:
    """Log-probs of the labels on prompts, by the trained adapter as it is in memory."""
    with torch.no_grad():
        captured = capture(run.model.decoder.body, [run.texts.prompt(one) for one in prompts])
        found = rollout.policy(run.model.decoder, captured, run.texts.choices())
    return tuple(tuple(round(value, 5) for value in row) for row in found.tolist())


def _export(run: Run) -> str:
    settings = run.job.settings
    with tempfile.TemporaryDirectory(dir=folder(run.home, run.job)) as draft:
        learner.export(run.model, Path(draft), run.job.base)
        card = adapters.Card(
            role=run.job.role,
            base=run.job.base,
            rank=settings.rank,
            alpha=settings.alpha,
            files=adapters.hashes(Path(draft)),
            harness=run.job.harness,
            probe=measure(run, probe_prompts(run.texts.harness)),
        )
        return adapters.freeze(run.home, Path(draft), card).name
