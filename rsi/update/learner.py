"""The learner: base, frozen adapters of other roles, and the one adapter that is trained; its weights on disk.

Nothing but the trained adapter may change: base and frozen adapters are hashed in memory before and after.
"""

import hashlib
import json
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import torch
from peft import LoraConfig, PeftModel, get_peft_model, set_peft_model_state_dict
from safetensors.torch import load_file, save_file
from transformers import PreTrainedModel

from rsi.algorithm import Update
from rsi.ids import canonical
from rsi.records import Record
from rsi.registry.adapters import TARGETS
from rsi.store.files import publish_folder
from rsi.update.course import State
from rsi.update.rehearsal import Rehearsal
from rsi.update.scoring import Decoder

TRAINED = "trained"
"""Name of the trained adapter in memory; also the name that PEFT's parameter names carry."""


class Mean:
    """The running mean of the trained weights over some steps: what is exported where it was taken.

    Averaging over the late steps of a run finds flatter weights than the last step has (stochastic weight averaging,
    arXiv 1803.05407).
    """

    def __init__(self) -> None:
        """Of no step yet."""
        self.steps = 0
        self.weights: dict[str, torch.Tensor] = {}

    def add(self, parameters: Iterable[tuple[str, torch.Tensor]]) -> None:
        """Take in the weights as they are now."""
        self.steps += 1
        for name, one in parameters:
            now = one.detach()
            if self.steps == 1:
                self.weights[name] = now.clone()
            else:
                self.weights[name].lerp_(now, 1 / self.steps)


class Learner(NamedTuple):
    """A model in training."""

    model: PeftModel
    decoder: Decoder
    optimizer: torch.optim.AdamW
    mean: "Mean"
    rehearsal: Rehearsal | None = None
    """What it shall not forget, where it rehearses anything."""

    def parameters(self) -> list[tuple[str, torch.nn.Parameter]]:
        """The trained parameters by name, in a fixed order."""
        return sorted((name, one) for name, one in self.model.named_parameters() if one.requires_grad)

    @contextmanager
    def bare(self) -> Iterator[None]:
        """The base without any adapter, and without a graph."""
        with self.model.disable_adapter(), torch.no_grad():
            yield


def build(
    folder: Path, base: PreTrainedModel, settings: Update, warm_start: str | None, frozen: tuple[str, ...]
) -> Learner:
    """Lay the frozen adapters over the base, and fresh or warm weights to train; `folder` holds them by name."""
    torch.manual_seed(settings.seed)
    config = LoraConfig(
        r=settings.rank,
        lora_alpha=settings.alpha,
        target_modules=list(TARGETS),
        lora_dropout=0.0,
        bias="none",
        task_type="CAUSAL_LM",
    )
    model = get_peft_model(base, config, adapter_name=TRAINED)
    for name in frozen:
        model.load_adapter(str(folder / name), adapter_name=name)
    if warm_start:
        weights = load_file(folder / warm_start / "adapter_model.safetensors")
        set_peft_model_state_dict(model, weights, adapter_name=TRAINED)
    model.set_adapter(TRAINED)
    model.eval()
    inner = model.get_base_model()
    trained = [one for _, one in sorted(model.named_parameters()) if one.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=settings.learning_rate, weight_decay=0.0)
    return Learner(model, Decoder(inner.get_decoder(), inner.get_output_embeddings()), optimizer, Mean())


def settle(learner: Learner) -> None:
    """Put the mean of the weights in their place, where one was taken."""
    with torch.no_grad():
        for name, one in learner.parameters():
            if learner.mean.steps:
                one.copy_(learner.mean.weights[name])


def fingerprint(learner: Learner) -> str:
    """SHA-256 over every tensor in memory that must not change."""
    digest = hashlib.sha256()
    for name, tensor in _untrained(learner):
        digest.update(name.encode())
        digest.update(tensor.detach().contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _untrained(learner: Learner) -> Iterator[tuple[str, torch.Tensor]]:
    trained = {name for name, _ in learner.parameters()}
    for name, tensor in sorted(learner.model.state_dict().items()):
        if name not in trained and tensor.numel():
            yield name, tensor


class Saved(Record):
    """What a checkpoint says beside its tensors."""

    step: int
    """Finished steps."""
    mean: int
    """Steps that the running mean of the weights is over."""
    course: State = State()
    """Which tasks come next."""


def save_checkpoint(target: Path, learner: Learner, step: int, course: State) -> None:
    """Keep weights and optimiser moments of `step` finished steps; the folder is whole or absent."""
    tensors = {f"mean.{name}": one for name, one in learner.mean.weights.items()}
    for name, one in learner.parameters():
        tensors[f"weight.{name}"] = one.detach().clone()
        for key, value in learner.optimizer.state[one].items():
            tensors[f"{key}.{name}"] = torch.as_tensor(value).clone()

    def fill(folder: Path) -> None:
        save_file(tensors, folder / "state.safetensors")
        said = Saved(step=step, mean=learner.mean.steps, course=course)
        (folder / "state.json").write_bytes(canonical(said.model_dump(mode="json")))

    publish_folder(target, fill)


def load_checkpoint(folder: Path, learner: Learner) -> Saved:
    """Put a checkpoint's state into the learner; what it says beside."""
    tensors = load_file(folder / "state.safetensors")
    said = Saved.parse((folder / "state.json").read_bytes())
    with torch.no_grad():
        for name, one in learner.parameters():
            one.copy_(tensors[f"weight.{name}"])
            keys = [key for key in ("step", "exp_avg", "exp_avg_sq") if f"{key}.{name}" in tensors]
            learner.optimizer.state[one] = {key: tensors[f"{key}.{name}"] for key in keys}
    learner.mean.steps = said.mean
    learner.mean.weights = {
        name.removeprefix("mean."): one for name, one in tensors.items() if name.startswith("mean.")
    }
    return said


def export(learner: Learner, folder: Path, base: str) -> None:
    """Write the trained adapter as PEFT would, with nothing in it that differs from run to run."""
    with tempfile.TemporaryDirectory() as written:
        learner.model.save_pretrained(written, selected_adapters=[TRAINED])
        place = Path(written) / TRAINED
        config = json.loads((place / "adapter_config.json").read_bytes())
        tensors = load_file(place / "adapter_model.safetensors")
    config["target_modules"] = sorted(config["target_modules"])
    config["base_model_name_or_path"] = base
    config["inference_mode"] = True
    (folder / "adapter_config.json").write_bytes(canonical(config))
    save_file(tensors, folder / "adapter_model.safetensors", {"format": "pt"})
