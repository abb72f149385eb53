"""LoRA folders with seeded random weights, large enough to change what the base says."""

from pathlib import Path

from rsi.engine.local import LocalEngine

TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def make_adapter(base: Path, folder: Path, seed: int, scale: float = 0.2, rank: int = 4) -> Path:
    """Write a LoRA over all linear layers of `base` into `folder`."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    wrapped = get_peft_model(model, LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=TARGETS))
    for name, weight in wrapped.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=scale)
    wrapped.save_pretrained(str(folder))
    return folder


def plain_choices(engine: LocalEngine, rows: list[list[int]], options: list[list[int]]) -> list[list[float]]:
    """What `choose` must say, by a plain forward of each whole sequence through `engine.model` as it is."""
    import torch

    found = []
    with torch.inference_mode():
        for row in rows:
            sums = []
            for option in options:
                logp = engine.model(input_ids=torch.tensor([row + option])).logits[0].log_softmax(-1)
                sums.append(sum(logp[len(row) - 1 + at, token].item() for at, token in enumerate(option)))
            found.append(torch.tensor(sums, dtype=torch.double).log_softmax(-1).tolist())
    return found
