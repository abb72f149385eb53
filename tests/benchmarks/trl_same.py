"""The same tokens, advantages and old log-probs given to our loss and to TRL's: how far apart loss and gradient are."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors.torch import load_file

from rsi.algorithm import Level, Normalisation, Objective, Update
from rsi.engine.weights import read_base
from rsi.settings import OFFLINE
from rsi.update import learner, objective
from rsi.update.scoring import full

PYTHON = "RSI_TRL_PYTHON"
"""Names the Python of TRL's environment."""
SIDE = Path(__file__).with_name("trl_side.py")
CASES: Mapping[str, tuple[str, Objective]] = {
    "grpo": ("grpo", Objective()),
    "dr_grpo": ("dr_grpo", Objective(normalisation=Normalisation.LENGTH)),
    "dapo": ("dapo", Objective(normalisation=Normalisation.TOKEN, clip_high=0.28)),
    "gspo": ("grpo", Objective(level=Level.SEQUENCE, clip_low=0.03, clip_high=0.04)),
}
"""Name -> TRL's loss type, and the same of ours."""
LONGEST = 16
"""Most tokens that an answer may have: the denominator of Dr. GRPO."""


class Apart(NamedTuple):
    """Relative differences of ours to TRL's."""

    name: str
    loss: float
    """|ours - theirs| / |theirs|."""
    gradient: float
    """The same of the whole gradient's norm."""
    clipped: float
    """Share of tokens at which the clip stopped the gradient: what was compared is not the easy case alone."""


class Given(NamedTuple):
    """Two prompts with answers of unlike length."""

    prompts: list[list[int]]
    answers: list[list[int]]
    advantages: torch.Tensor
    old: torch.Tensor
    """[N, T]."""
    mask: torch.Tensor

    @property
    def whole(self) -> objective.Whole:
        """The size of the step."""
        return objective.Whole(len(self.answers), int(self.mask.sum()), LONGEST)


def trl_python() -> Path | None:
    """TRL's environment, where one is named."""
    said = os.environ.get(PYTHON)
    return Path(said) if said else None


def ask(python: Path, place: Path, asked: Mapping[str, object], *before: str) -> dict[str, object]:
    """Have TRL's side do something in its environment; what it found."""
    place.mkdir(parents=True, exist_ok=True)
    (place / "asked.json").write_text(json.dumps(asked))
    told = subprocess.run(
        [*before, str(python), str(SIDE), str(place)],
        capture_output=True,
        text=True,
        env={**os.environ, **OFFLINE},
    )
    if told.returncode:
        raise RuntimeError(f"TRL's side ended with {told.returncode}:\n{told.stderr[-4000:]}")
    found: dict[str, object] = json.loads((place / "found.json").read_bytes())
    return found


def acting(base: Path, rank: int) -> learner.Learner:
    """A learner whose adapter does something: its B is not zero."""
    model, _ = read_base(base)
    made = learner.build(Path(), model, Update(rank=rank, alpha=2 * rank), None, ())
    with torch.no_grad():
        for name, one in made.parameters():
            if "lora_B" in name:
                one.normal_(std=0.02)
    return made


def given(model: learner.Learner, prompt_tokens: int) -> Given:
    """Tokens at random, and old log-probs that lie around the policy's own."""
    generator = torch.Generator().manual_seed(1)
    vocabulary = model.model.get_base_model().get_output_embeddings().weight.shape[0]

    def tokens(count: int) -> list[int]:
        return torch.randint(vocabulary, (count,), generator=generator).tolist()

    starts = [tokens(prompt_tokens), tokens(prompt_tokens - 3)]
    prompts = [start for start in starts for _ in range(4)]
    answers = [tokens(count) for count in (16, 3, 7, 1, 16, 16, 5, 10)]
    mask = torch.zeros(8, LONGEST)
    for row, one in enumerate(answers):
        mask[row, : len(one)] = 1
    rewards = torch.tensor([[1.0, 0.0, 0.0, 0.5], [0.0, 1.0, 1.0, 1.0]])
    with torch.no_grad():
        now = full(model.decoder, prompts, answers)
    old = (now + 0.2 * torch.randn(now.shape, generator=generator)) * mask
    return Given(prompts, answers, objective.advantages(rewards).values.flatten(), old, mask)


def compare(
    python: Path, base: Path, place: Path, prompt_tokens: int, rank: int, threads: int
) -> list[Apart]:
    """Each of `CASES` by both sides, over the base in a folder; `place` is where they meet."""
    model = acting(base, rank)
    (place / "adapter").mkdir(parents=True)
    learner.export(model, place / "adapter", "base")
    data = given(model, prompt_tokens)
    asked = {
        "wanted": "losses",
        "threads": threads,
        "base": str(base),
        "adapter": str(place / "adapter"),
        "prompt": "x",
        "samples": 8,
        "rows": 8,
        "new_tokens": LONGEST,
        "steps": 0,
        "prompts": data.prompts,
        "answers": data.answers,
        "advantages": data.advantages.tolist(),
        "old": [row[: len(one)].tolist() for row, one in zip(data.old, data.answers, strict=True)],
        "cases": [
            {
                "name": name,
                "loss_type": kind,
                "level": one.level.value,
                "clip_low": one.clip_low,
                "clip_high": one.clip_high,
            }
            for name, (kind, one) in CASES.items()
        ],
    }
    found = ask(python, place, asked)
    losses = found["losses"]
    assert isinstance(losses, dict)
    return [
        _apart(name, one, model, data, float(losses[name]), load_file(place / f"{name}.safetensors"))
        for name, (_, one) in CASES.items()
    ]


def _apart(
    name: str,
    kind: Objective,
    model: learner.Learner,
    data: Given,
    loss: float,
    gradients: Mapping[str, torch.Tensor],
) -> Apart:
    new = full(model.decoder, data.prompts, data.answers)
    ours = objective.loss(kind, new, data.old, data.advantages, data.mask, whole=data.whole)
    names, parameters = zip(*model.parameters(), strict=True)
    moved = torch.autograd.grad(ours, parameters)
    theirs = [gradients[one.replace(f".{learner.TRAINED}.", ".")] for one in names]
    assert len(gradients) == len(theirs)
    one, other = (torch.cat([part.flatten() for part in parts]) for parts in (moved, theirs))
    clipped = objective.clipped_share(kind, new.detach(), data.old, data.advantages, data.mask)
    return Apart(
        name,
        abs(float(ours.detach()) - loss) / abs(loss),
        float((one - other).norm() / other.norm()),
        clipped,
    )
