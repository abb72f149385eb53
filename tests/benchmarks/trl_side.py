"""TRL's side of the comparisons: run by the Python of TRL's environment, over a folder, without a line of ours.

``asked.json`` in the folder says what is wanted, ``found.json`` what came of it; gradients are beside it.
"""

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from peft import LoraConfig, PeftModel
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
from trl import GRPOConfig, GRPOTrainer


class Watch(TrainerCallback):
    """Wall and processor seconds of each step, generation included."""

    def __init__(self) -> None:
        self.steps: list[dict[str, float]] = []
        self._begun = (0.0, 0.0)

    def on_step_begin(self, *_: object, **__: object) -> None:
        self._begun = (time.monotonic(), time.process_time())

    def on_step_end(self, *_: object, **__: object) -> None:
        wall, cpu = self._begun
        self.steps.append({"wall": time.monotonic() - wall, "cpu": time.process_time() - cpu})


def reward(completion_ids: list[list[int]], **_: object) -> list[float]:
    """Share of tokens that differ: unlike for unlike answers, so that a group carries a signal."""
    return [len(set(one)) / max(len(one), 1) for one in completion_ids]


def main() -> None:
    """Do what is asked."""
    place = Path(sys.argv[1])
    asked = json.loads((place / "asked.json").read_bytes())
    torch.set_num_threads(asked["threads"])
    found = {"steps": stepped, "losses": losses}[asked["wanted"]](asked, place)
    found["peak_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    (place / "found.json").write_text(json.dumps(found))


def trainer(asked: dict[str, Any], place: Path, model: Any, **said: Any) -> GRPOTrainer:
    """A trainer on this processor, in float32."""
    tokenizer = AutoTokenizer.from_pretrained(asked["base"], local_files_only=True)
    tokenizer.padding_side = "left"
    config = {
        "output_dir": str(place / "out"),
        "use_cpu": True,
        "bf16": False,
        "report_to": "none",
        "save_strategy": "no",
        "logging_steps": 1,
        "disable_tqdm": True,
        "num_generations": asked["samples"],
        "per_device_train_batch_size": asked["rows"],
        "gradient_accumulation_steps": asked["samples"] // asked["rows"],
        "max_completion_length": asked["new_tokens"],
        "beta": 0.0,
        "loss_type": "grpo",
        "gradient_checkpointing": False,
        "learning_rate": 3e-4,
    }
    lora = said.pop("peft_config", None)
    return GRPOTrainer(
        model=model,
        reward_funcs=reward,
        args=GRPOConfig(**{**config, **said}),
        train_dataset=Dataset.from_list([{"prompt": asked["prompt"]}] * max(asked["steps"], 1)),
        processing_class=tokenizer,
        peft_config=lora,
    )


def base_model(asked: dict[str, Any]) -> Any:
    """The base in float32."""
    return AutoModelForCausalLM.from_pretrained(asked["base"], dtype=torch.float32, local_files_only=True)


def stepped(asked: dict[str, Any], place: Path) -> dict[str, Any]:
    """Whole steps of training: generation, forward, backward, optimiser."""
    lora = LoraConfig(
        r=asked["rank"],
        lora_alpha=asked["alpha"],
        target_modules=asked["targets"],
        lora_dropout=0.0,
        bias="none",
        task_type="CAUSAL_LM",
    )
    made = trainer(
        asked,
        place,
        base_model(asked),
        peft_config=lora,
        max_steps=asked["steps"],
        gradient_checkpointing=asked["checkpointing"],
        # No answer ends before its last token, here as on our side.
        generation_kwargs={"min_new_tokens": asked["new_tokens"]},
    )
    watch = Watch()
    made.add_callback(watch)
    made.train()
    rows = [row for row in made.state.log_history if "completions/mean_length" in row]
    return {
        "steps": watch.steps,
        "answer_tokens": rows[-1]["completions/mean_length"],
        "prompt_tokens": len(made.processing_class(text=asked["prompt"])["input_ids"]),
        "gradient_norm": rows[-1]["grad_norm"],
    }


def losses(asked: dict[str, Any], place: Path) -> dict[str, Any]:
    """Loss and adapter gradient on given tokens, advantages and old log-probs, by TRL's own loss."""
    found = {}
    model = PeftModel.from_pretrained(base_model(asked), asked["adapter"], is_trainable=True)
    for case in asked["cases"]:
        made = trainer(
            asked,
            place,
            model,
            loss_type=case["loss_type"],
            importance_sampling_level=case["level"],
            epsilon=case["clip_low"],
            epsilon_high=case["clip_high"],
        )
        made.model.train()
        made.model.zero_grad()
        made.current_gradient_accumulation_steps = 1
        loss = made._compute_loss(made.model, inputs(asked, made.processing_class.pad_token_id))
        loss.backward()
        found[case["name"]] = float(loss)
        gradients = {
            name.replace(".default.", "."): one.grad.clone()
            for name, one in made.model.named_parameters()
            if one.grad is not None
        }
        save_file(gradients, place / f"{case['name']}.safetensors")
    return {"losses": found}


def inputs(asked: dict[str, Any], pad: int) -> dict[str, torch.Tensor]:
    """The tokens as `_compute_loss` takes them: prompts padded on the left, answers on the right."""
    prompts, answers = asked["prompts"], asked["answers"]
    wide, long = max(map(len, prompts)), max(map(len, answers))
    return {
        "prompt_ids": torch.tensor([[pad] * (wide - len(one)) + one for one in prompts]),
        "prompt_mask": torch.tensor([[0] * (wide - len(one)) + [1] * len(one) for one in prompts]),
        "completion_ids": torch.tensor([one + [pad] * (long - len(one)) for one in answers]),
        "completion_mask": torch.tensor([[1] * len(one) + [0] * (long - len(one)) for one in answers]),
        "advantages": torch.tensor(asked["advantages"]),
        "old_per_token_logps": torch.tensor([one + [0.0] * (long - len(one)) for one in asked["old"]]),
        "num_items_in_batch": torch.tensor(sum(map(len, answers))),
    }


if __name__ == "__main__":
    main()
