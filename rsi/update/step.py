"""One step of training: draw answers, find what they say, and move the adapter.

Groups that carry no signal are counted, left out, and replaced by the next tasks as often as the settings say; groups
are never trimmed. With several passes over the same answers the ratio is taken against the policy that drew them, and
prompts are captured once for all passes: how stale that may get is bounded by `rsi.algorithm.Update.passes`.
"""

import math
import time
from dataclasses import dataclass

import torch

from rsi.algorithm import Update
from rsi.errors import RefusedError
from rsi.records import OutcomeKind
from rsi.update import correction, objective
from rsi.update.course import Course
from rsi.update.learner import Learner
from rsi.update.practice import Drawn, Joined, Practice

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
    reference: torch.Tensor | None
    """[N, T], the base; only where the objective looks at it."""


class Diverged(RefusedError):
    """Loss, gradient or log-probs are no numbers any more."""


def take(
    learner: Learner, practice: Practice, settings: Update, course: Course, step: int
) -> dict[str, float]:
    """Step `step` (from 0) on the next tasks; its row of ``metrics.jsonl``.

    Raises:
        Diverged: the loss or its gradient is no longer a number.
    """
    began = time.monotonic()
    drawn, refilled = _drawn(practice, settings, course, step)
    groups = drawn.groups
    values, live = objective.advantages(groups.rewards, settings.objective.scaling)
    row = {
        "step": float(step + 1),
        "reward": float(groups.rewards.mean()),
        "live": float(live.sum()),
        "skipped": float((~live).sum()),
        "refilled": float(refilled),
        "sampled": float(groups.mask.sum()),
        "length": float(groups.mask.sum() / len(groups.mask)),
        **{f"outcome_{kind.value}": float(groups.outcomes[kind]) for kind in OutcomeKind},
        **groups.facts,
        **groups.counts,
        **course.facts(),
        "loss": 0.0,
        "gradient_norm": 0.0,
    }
    if bool(live.any()):
        batch = _batch(learner, settings, drawn, values, live, practice.longest)
        row |= _passes(learner, settings, drawn, batch, step)
    return {**row, "seconds": time.monotonic() - began}


def _drawn(practice: Practice, settings: Update, course: Course, step: int) -> tuple[Drawn, int]:
    """The answers of a step, and how many groups were drawn in place of others that said nothing."""
    parts: list[Drawn] = []
    most = practice.refills if settings.refill is None else settings.refill
    wanted, refilled = settings.prompts, 0
    for again in range(most + 1):
        tasks = course.following(wanted)
        parts.append(practice.draw(tasks, step, again))
        groups = parts[-1].groups
        means = groups.rewards.mean(dim=1).tolist()
        course.learnt(
            tasks, [None if bad else mean for mean, bad in zip(means, groups.failed.tolist(), strict=True)]
        )
        refilled += wanted if again else 0
        wanted = int((~objective.advantages(groups.rewards).live).sum())
        if not wanted:
            break
    return parts[0] if len(parts) == 1 else Joined(parts), refilled


def imitate(
    learner: Learner, practice: Practice, settings: Update, course: Course, step: int
) -> dict[str, float]:
    """A step of supervised training: the mean negative log-prob of the tokens of right answers to the next tasks.

    What was to be shown and did not come out right, its world crashed say, is skipped.

    Raises:
        Diverged: the loss or its gradient is no longer a number.
    """
    began = time.monotonic()
    tasks = course.following(settings.prompts)
    drawn = practice.show(tasks)
    mask = drawn.groups.mask
    right = [row for row, reward in enumerate(drawn.groups.rewards.flatten().tolist()) if reward >= 1]
    tokens = float(mask[right].sum())
    learner.optimizer.zero_grad()
    loss = 0.0
    moved = {"gradient_norm": 0.0}
    for rows, new in drawn.score(right):
        part = -(new * mask[rows]).sum() / max(tokens, 1.0)
        part.backward()
        loss += float(part.detach())
    if right:
        moved = _moved(learner, settings, step, loss)
    return {
        "step": float(step + 1),
        "live": float(len(right)),
        "skipped": float(len(mask) - len(right)),
        "sampled": tokens,
        "loss": loss,
        **moved,
        "seconds": time.monotonic() - began,
    }


def _moved(learner: Learner, settings: Update, step: int, loss: float) -> dict[str, float]:
    """Take the optimiser's step, after the price of forgetting; what the log says of it."""
    kept = {} if learner.rehearsal is None else {"rehearsal_kl": learner.rehearsal.pay(step)}
    for group in learner.optimizer.param_groups:
        group["lr"] = settings.learning_rate * schedule(step, settings.steps)
    norm = float(torch.nn.utils.clip_grad_norm_([one for _, one in learner.parameters()], CLIP_NORM))
    if not math.isfinite(sum(kept.values(), loss + norm)):
        numbers = {"loss": loss, "gradient norm": norm, **kept}
        said = ", ".join(f"{name} {value}" for name, value in numbers.items())
        raise Diverged(f"training diverged at step {step + 1}: {said}")
    learner.optimizer.step()
    return {"gradient_norm": norm, **kept}


def schedule(step: int, steps: int) -> float:
    """Factor of the learning rate: up over `WARM_UP` steps, level to the middle, then down to a tenth."""
    late = max(0.0, (step - steps / 2) / (steps / 2))
    return min(1.0, (step + 1) / WARM_UP) * (1.0 - 0.9 * late)


def _batch(
    learner: Learner,
    settings: Update,
    drawn: Drawn,
    values: torch.Tensor,
    live: torch.Tensor,
    longest: int,
) -> _Batch:
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
        reference=_reference(learner, drawn, rows) if settings.objective.kl else None,
    )


def _reference(learner: Learner, drawn: Drawn, rows: list[int]) -> torch.Tensor:
    """Log-probs [N, T] of the rows under the base."""
    found = torch.zeros_like(drawn.groups.actor)
    with learner.bare():
        for some, logprobs in drawn.afresh(rows):
            found[some] = logprobs
    return found


def _passes(learner: Learner, settings: Update, drawn: Drawn, batch: _Batch, step: int) -> dict[str, float]:
    """Move the adapter, once a pass; what the log says of it."""
    loss = clipped = 0.0
    moved: dict[str, float] = {}
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
        moved = _moved(learner, settings, step, loss)
    rows = batch.rows
    apart = correction.mismatch(batch.old[rows], batch.actor[rows], batch.mask[rows], batch.weights[rows])
    if not apart.finite:
        raise Diverged(
            f"training diverged at step {step + 1}: the actor's log-probs are no numbers ({apart})"
        )
    return {
        "loss": loss,
        **moved,
        "clipped": clipped / len(rows),
        **apart._asdict(),
        **_away(batch),
    }


def _away(batch: _Batch) -> dict[str, float]:
    """How far the policy that drew the answers was from the base, nats a token; nothing where nobody looks."""
    if batch.reference is None:
        return {}
    rows, old = batch.rows, batch.old[batch.rows]
    apart = objective.divergence(old, old, batch.reference[rows], batch.mask[rows])
    return {"kl": float(apart.sum()) / max(batch.whole.tokens, 1)}


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
        reference=None if batch.reference is None else batch.reference[rows],
    )


def _clipped(settings: Update, batch: _Batch, rows: list[int], new: torch.Tensor) -> float:
    return objective.clipped_share(
        settings.objective, new.detach(), batch.old[rows], batch.values[rows], batch.mask[rows]
    )
