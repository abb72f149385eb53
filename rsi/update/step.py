"""One step of training: draw answers, find what they say, and move the adapter.

Groups that carry no signal are counted and left out; groups are never trimmed. With several passes over the same
answers the ratio is taken against the policy that drew them, and prompts are captured once for all passes: how stale
that may get is bounded by `rsi.settings.Update.passes`.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from rsi.errors import RefusedError
from rsi.records import OutcomeKind, Task
from rsi.settings import Update
from rsi.update import correction, objective
from rsi.update.learner import Learner
from rsi.update.practice import Drawn, Practice

WARM_UP = 5
"""Steps over which the learning rate rises."""
CLIP_NORM = 1.0
"""Largest norm of a step's gradient."""


@dataclass(frozen=True)
class _Batch:
    """The answers of groups with signal; rows of the drawn groups."""

    rows: list[int]
    values: torch.Tensor
    """[N], advantages of all rows."""
    actor: torch.Tensor
    mask: torch.Tensor
    old: torch.Tensor
    """[N, T], the policy that was current when they were drawn; filled by the first pass."""
    weights: torch.Tensor
    whole: objective.Whole


def take(
    learner: Learner, practice: Practice, settings: Update, tasks: Sequence[Task], step: int
) -> dict[str, float]:
    """Step `step` (from 0) on these tasks; its row of ``metrics.jsonl``.

    Raises:
        RefusedError: the loss or its gradient is no longer a number.
    """
    began = time.monotonic()
    drawn = practice.draw(tasks, step)
    groups = drawn.groups
    values, live = objective.advantages(groups.rewards, settings.objective.scaling)
    row = {
        "step": float(step + 1),
        "reward": float(groups.rewards.mean()),
        "live": float(live.sum()),
        "skipped": float((~live).sum()),
        "sampled": float(groups.mask.sum()),
        **{f"outcome_{kind.value}": float(groups.outcomes[kind]) for kind in OutcomeKind},
        **groups.facts,
        "loss": 0.0,
        "gradient_norm": 0.0,
    }
    if bool(live.any()):
        batch = _batch(drawn, values, live, practice.longest)
        row |= _passes(learner, settings, drawn, batch, step)
    return {**row, "seconds": time.monotonic() - began}


def imitate(
    learner: Learner, practice: Practice, settings: Update, tasks: Sequence[Task], step: int
) -> dict[str, float]:
    """A step of supervised training: the mean negative log-prob of the tokens of right answers to these tasks.

    Raises:
        RefusedError: the loss or its gradient is no longer a number.
    """
    began = time.monotonic()
    drawn = practice.show(tasks)
    mask = drawn.groups.mask
    tokens = float(mask.sum())
    learner.optimizer.zero_grad()
    loss = 0.0
    for rows, new in drawn.score(range(len(mask))):
        part = -(new * mask[rows]).sum() / max(tokens, 1.0)
        part.backward()
        loss += float(part.detach())
    norm = _moved(learner, settings, step, loss)
    return {
        "step": float(step + 1),
        "live": float(len(tasks)),
        "skipped": 0.0,
        "sampled": tokens,
        "loss": loss,
        "gradient_norm": norm,
        "seconds": time.monotonic() - began,
    }


def _moved(learner: Learner, settings: Update, step: int, loss: float) -> float:
    """Take the optimiser's step; the gradient's norm."""
    for group in learner.optimizer.param_groups:
        group["lr"] = settings.learning_rate * schedule(step, settings.steps)
    norm = float(torch.nn.utils.clip_grad_norm_([one for _, one in learner.parameters()], CLIP_NORM))
    if not math.isfinite(loss + norm):
        raise RefusedError(f"training diverged at step {step + 1}: loss {loss}, gradient norm {norm}")
    learner.optimizer.step()
    return norm


def schedule(step: int, steps: int) -> float:
    """Factor of the learning rate: up over `WARM_UP` steps, level to the middle, then down to a tenth."""
    late = max(0.0, (step - steps / 2) / (steps / 2))
    return min(1.0, (step + 1) / WARM_UP) * (1.0 - 0.9 * late)


def _batch(drawn: Drawn, values: torch.Tensor, live: torch.Tensor, longest: int) -> _Batch:
    groups = drawn.groups
    samples = values.shape[1]
    rows = [row for row in range(values.numel()) if bool(live[row // samples])]
    return _Batch(
        rows=rows,
        values=values.flatten(),
        actor=groups.actor,
        mask=groups.mask,
        old=torch.zeros_like(groups.actor),
        weights=torch.zeros_like(groups.actor),
        whole=objective.Whole(len(rows), int(groups.mask[rows].sum()), longest),
    )


def _passes(learner: Learner, settings: Update, drawn: Drawn, batch: _Batch, step: int) -> dict[str, float]:
    """Move the adapter, once a pass; what the log says of it."""
    loss = norm = clipped = 0.0
    for number in range(settings.passes):
        learner.optimizer.zero_grad()
        loss = clipped = 0.0
        for rows, new in drawn.score(batch.rows):
            if number == 0:
                _remember(settings, batch, rows, new)
            part = _loss(settings, batch, rows, new)
            part.backward()
            loss += float(part.detach())
            clipped += len(rows) * _clipped(settings, batch, rows, new)
        norm = _moved(learner, settings, step, loss)
    rows = batch.rows
    apart = correction.mismatch(batch.old[rows], batch.actor[rows], batch.mask[rows], batch.weights[rows])
    if not apart.finite:
        raise RefusedError(
            f"training diverged at step {step + 1}: the actor's log-probs are no numbers ({apart})"
        )
    return {
        "loss": loss,
        "gradient_norm": norm,
        "clipped": clipped / len(rows),
        **apart._asdict(),
    }


def _remember(settings: Update, batch: _Batch, rows: list[int], new: torch.Tensor) -> None:
    """What the answers count, by the policy that was current when they were drawn."""
    batch.old[rows] = new.detach()
    batch.weights[rows] = correction.weights(
        settings.correction, batch.old[rows], batch.actor[rows], batch.mask[rows], batch.values[rows]
    )


def _loss(settings: Update, batch: _Batch, rows: list[int], new: torch.Tensor) -> torch.Tensor:
    return objective.loss(
        settings.objective,
        new,
        batch.old[rows],
        batch.values[rows],
        batch.mask[rows],
        whole=batch.whole,
        weights=batch.weights[rows],
    )


def _clipped(settings: Update, batch: _Batch, rows: list[int], new: torch.Tensor) -> float:
    return objective.clipped_share(
        settings.objective, new.detach(), batch.old[rows], batch.values[rows], batch.mask[rows]
    )
