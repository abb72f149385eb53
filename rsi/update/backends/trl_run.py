"""TRL's side of a job: ``python -m rsi.update.backends.trl_run JOB BASE``, run in TRL's environment.

Prompts are our tokens, rewards our verifiers', tasks come in the order in which our own trainer takes them; generation,
loss and optimiser steps are TRL's.
"""

import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from datasets import Dataset
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import PreTrainedModel, PreTrainedTokenizerBase, TrainerCallback
from transformers.trainer_callback import TrainerControl, TrainerState
from transformers.training_args import TrainingArguments
from trl import GRPOConfig, GRPOTrainer

from rsi.algorithm import Level, Normalisation, Scaling, Update
from rsi.engine import chat
from rsi.engine.weights import read_base
from rsi.harness.hcp import Harness
from rsi.ports import SystemClock
from rsi.records import OutcomeKind, Task
from rsi.registry.adapters import TARGETS
from rsi.tasks.prompt import ROUTE, render
from rsi.update import job as jobs
from rsi.update import log
from rsi.update.backends.trl import WEIGHTS
from rsi.update.course import Rota
from rsi.update.guards import judged
from rsi.update.job import Job
from rsi.update.step import CLIP_NORM, schedule
from rsi.verifiers import verify

LOSSES = {Normalisation.ANSWER: "grpo", Normalisation.LENGTH: "dr_grpo", Normalisation.TOKEN: "dapo"}
SCALINGS = {Scaling.GROUP: "group", Scaling.NONE: "none"}
NOTHING = "?"
"""What an answer that is no label of the harness counts as: a wrong format, not silence."""


class Reward:
    """Our verifiers, as TRL calls a reward; counts how answers ended."""

    __name__ = "verifier"

    def __init__(self, tasks: Mapping[str, Task], harness: Harness) -> None:
        self._tasks, self._harness = tasks, harness
        self.outcomes = Counter[OutcomeKind]()

    def __call__(self, prompts: Sequence[str], completions: Sequence[str], **_: object) -> list[float]:
        """A prompt is the id of its task."""
        found = []
        for name, text in zip(prompts, completions, strict=True):
            task = self._tasks[name]
            said = self._harness.labels.get(text.strip(), NOTHING) if task.hop == ROUTE else text
            outcome = verify(task.verifier, said, task.expected)
            self.outcomes[outcome.kind] += 1
            found.append(outcome.score or 0.0)
        return found


class Trainer(GRPOTrainer):  # type: ignore[misc]
    """Reads the task that an id names as the harness renders it; texts of users never become control tokens."""

    def __init__(self, tokens: Mapping[str, list[int]], **said: object) -> None:
        self._tokens = tokens
        super().__init__(**said)

    def _tokenize_prompts(self, prompts: Sequence[str]) -> tuple[list[list[int]], None, dict[str, object]]:
        return [self._tokens[one] for one in prompts], None, {}


class Log(TrainerCallback):  # type: ignore[misc]
    """Steps as lines of ``metrics.jsonl``, and the rules by which a job stops."""

    def __init__(self, place: Path, settings: Update, reward: Reward) -> None:
        self._path, self._settings, self._reward = place / "metrics.jsonl", settings, reward
        self._begun = time.monotonic()

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, float] | None = None,
        **_: object,
    ) -> None:
        """A step's figures under our names."""
        if logs is None or "loss" not in logs:
            return
        groups, now = self._settings.prompts, time.monotonic()
        silent = round(groups * logs["frac_reward_zero_std"])
        length = logs["completions/mean_length"]
        row = {
            "step": float(state.global_step),
            "reward": logs["reward"],
            "live": float(groups - silent),
            "skipped": float(silent),
            "sampled": round(length * groups * self._settings.samples),
            "length": length,
            **{f"outcome_{kind.value}": float(self._reward.outcomes[kind]) for kind in OutcomeKind},
            "entropy": logs["entropy"],
            "loss": logs["loss"],
            "gradient_norm": logs["grad_norm"],
            "clipped": logs["clip_ratio/region_mean"],
            "seconds": now - self._begun,
        }
        self._reward.outcomes.clear()
        self._begun = now
        log.add(self._path, {name: float(value) for name, value in row.items()})
        print(f"step {state.global_step}", flush=True)
        if judged(self._settings, log.rows(self._path), SystemClock().now()) is not None:
            control.should_training_stop = True


def run(place: Path, base: Path) -> None:
    """Train, and leave the weights in the job's folder."""
    job = jobs.read(place)
    settings, harness = job.settings, jobs.harness(place, job)
    tasks = [one for one in jobs.tasks(place, job) if one.messages]
    model, tokenizer = read_base(base)
    by_id = {one.task_id: one for one in tasks}
    tokens = {one.task_id: chat.tokens(tokenizer, render(one, harness)) for one in tasks}
    order = Rota(tasks, settings.seed).following(settings.steps * settings.prompts)
    adapted = _adapted(place, job, model)
    trained = [one for _, one in sorted(adapted.named_parameters()) if one.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=settings.learning_rate, weight_decay=0.0)
    rates = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: schedule(step, settings.steps))
    tokenizer.padding_side = "left"
    reward = Reward(by_id, harness)
    trainer = Trainer(
        tokens,
        model=adapted,
        reward_funcs=reward,
        args=_config(place, job, harness, tokenizer),
        train_dataset=Dataset.from_list([{"prompt": one.task_id} for one in order]),
        processing_class=tokenizer,
        optimizers=(optimizer, rates),
        callbacks=[Log(place, settings, reward)],
    )
    trainer.train()
    adapted.save_pretrained(place / WEIGHTS)


def _adapted(place: Path, job: Job, base: PreTrainedModel) -> PeftModel:
    """The base with fresh weights to train, or with those that the job goes on from."""
    settings = job.settings
    torch.manual_seed(settings.seed)
    if job.warm_start:
        return PeftModel.from_pretrained(base, str(place / "adapters" / job.warm_start), is_trainable=True)
    config = LoraConfig(
        r=settings.rank,
        lora_alpha=settings.alpha,
        target_modules=list(TARGETS),
        lora_dropout=0.0,
        bias="none",
        task_type="CAUSAL_LM",
    )
    return get_peft_model(base, config)


def _config(place: Path, job: Job, harness: Harness, tokenizer: PreTrainedTokenizerBase) -> GRPOConfig:
    settings, objective = job.settings, job.settings.objective
    if job.hop == ROUTE:
        # A label, and the token that ends the turn.
        longest = max(len(chat.encode(tokenizer, word)) for word in harness.words) + 1
    else:
        longest = min(harness.sampling.max_tokens, settings.answer_tokens)
    return GRPOConfig(
        output_dir=str(place / WEIGHTS),
        use_cpu=not torch.cuda.is_available(),
        bf16=False,
        gradient_checkpointing=False,
        report_to="none",
        save_strategy="no",
        logging_steps=1,
        disable_tqdm=True,
        seed=settings.seed,
        shuffle_dataset=False,
        max_steps=settings.steps,
        num_generations=settings.samples,
        per_device_train_batch_size=settings.samples,
        gradient_accumulation_steps=settings.prompts,
        max_completion_length=longest,
        temperature=harness.agent.temperature,
        learning_rate=settings.learning_rate,
        max_grad_norm=CLIP_NORM,
        loss_type=LOSSES[objective.normalisation],
        scale_rewards=SCALINGS[objective.scaling],
        importance_sampling_level="sequence" if objective.level is Level.SEQUENCE else "token",
        epsilon=objective.clip_low,
        epsilon_high=objective.clip_high,
        beta=objective.kl,
    )


def _leave_with_parent() -> None:
    """End this process when the one that started it is gone, whatever it is doing."""
    sys.stdin.read()
    os._exit(1)


def main() -> None:
    """Work on the job in a folder."""
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    run(Path(sys.argv[1]), Path(sys.argv[2]))


if __name__ == "__main__":
    main()
