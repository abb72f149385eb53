"""Time and memory of a training step by prompt length, over a captured prompt and with full back-propagation.

Part of ``make bench``. A random-weight Llama whose rotary positions YaRN stretches to 40,960 tokens; the learner's
part of a GRPO step on given answers, without sampling: capture, forward, backward, optimiser. Each cell of the table is
a process of its own whose data may not grow over a cap, so that what does not fit says so.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

from rsi.algorithm import Objective
from rsi.registry.adapters import TARGETS
from rsi.update import objective
from rsi.update.responses import Responses
from rsi.update.scoring import Decoder

LENGTHS = (512, 2048, 8192, 32_768)
WAYS = ("response", "full")
VOCABULARY = 4096


class Asked(NamedTuple):
    """A cell of the table."""

    way: str
    prompt: int
    samples: int
    answer: int
    threads: int
    cap: float
    """GiB of data that the process may hold; 0 sets none."""


class Spent(NamedTuple):
    """What a step took."""

    wall: float
    cpu: float
    peak: int
    """Bytes of the process at its largest."""


def model(trained: int) -> tuple[Decoder, list[torch.nn.Parameter]]:
    """Six layers, 256 wide, with LoRA of that rank on all linear layers."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=256,
        intermediate_size=2048,
        num_hidden_layers=6,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=40_960,
        rope_parameters={
            "rope_type": "yarn",
            "rope_theta": 10_000.0,
            "factor": 20.0,
            "original_max_position_embeddings": 2048,
        },
    )
    lora = LoraConfig(
        r=trained, lora_alpha=2 * trained, target_modules=list(TARGETS), init_lora_weights=False
    )
    made = get_peft_model(LlamaForCausalLM(config), lora).eval()
    inner = made.get_base_model()
    parts = Decoder(inner.get_decoder(), inner.get_output_embeddings())
    return parts, [one for _, one in sorted(made.named_parameters()) if one.requires_grad]


def answers(asked: Asked) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """One prompt and its group, at random."""
    generator = torch.Generator().manual_seed(1)

    def tokens(count: int) -> tuple[int, ...]:
        return tuple(torch.randint(VOCABULARY, (count,), generator=generator).tolist())

    prompt = tokens(asked.prompt)
    return [(prompt, tokens(asked.answer)) for _ in range(asked.samples)]


def backward(decoder: Decoder, asked: Asked) -> float:
    """The gradient of the group's loss; the loss."""
    samples, total = asked.samples, 0.0
    values = torch.tensor([1.0 if row % 2 else -1.0 for row in range(samples)])
    mask = torch.ones(samples, asked.answer)
    whole = objective.Whole(samples, samples * asked.answer, asked.answer)
    for rows, new in Responses(decoder, answers(asked), whole_prompt=asked.way == "full").score(
        range(samples)
    ):
        part = objective.loss(Objective(), new, new.detach(), values[rows], mask[rows], whole=whole)
        part.backward()
        total += float(part.detach())
    return total


def step(asked: Asked) -> Spent:
    """One step in this process."""
    torch.set_num_threads(asked.threads)
    decoder, trained = model(16)
    optimizer = torch.optim.AdamW(trained)
    if asked.cap:
        limit = int(asked.cap * 2**30)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    begun = time.monotonic(), time.process_time()
    backward(decoder, asked)
    optimizer.step()
    wall, cpu = time.monotonic() - begun[0], time.process_time() - begun[1]
    return Spent(wall, cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


def apart(asked: Asked) -> Spent | None:
    """One step in a process of its own; None where it did not fit."""
    command = [sys.executable, "-m", __spec__.name, "--child", json.dumps(asked._asdict())]
    told = subprocess.run(command, capture_output=True, text=True)
    if told.returncode:
        if "memory" not in told.stderr.lower():
            raise RuntimeError(told.stderr[-4000:])
        return None
    return Spent(**json.loads(told.stdout.splitlines()[-1]))


def cosine(asked: Asked) -> float:
    """Of the gradient over a captured prompt to that with full back-propagation."""
    torch.set_num_threads(asked.threads)
    decoder, trained = model(16)
    found = []
    for way in WAYS:
        for one in trained:
            one.grad = None
        backward(decoder, asked._replace(way=way))
        found.append(torch.cat([one.grad.flatten() for one in trained if one.grad is not None]))
    return float(torch.nn.functional.cosine_similarity(found[0], found[1], dim=0))


def table(
    lengths: list[int], say: Callable[[str, int], Asked], measure: Callable[[Asked], Spent | None] = apart
) -> dict[tuple[str, int], Spent | None]:
    """Measure and print."""
    print(f"{'prompt':>8} {'way':10}{'s/step':>9}{'cpu s':>9}{'peak GB':>9}")
    found = {}
    for length in lengths:
        for way in WAYS:
            one = found[way, length] = measure(say(way, length))
            if one is None:
                print(f"{length:8} {way:10} does not fit", flush=True)
            else:
                print(f"{length:8} {way:10}{one.wall:9.2f}{one.cpu:9.2f}{one.peak / 1e9:9.2f}", flush=True)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lengths", nargs="*", type=int, default=list(LENGTHS))
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--answer", type=int, default=32)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cap", type=float, default=8.0, help="GiB of data a process may hold")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(step(Asked(**json.loads(given.child)))._asdict()))
        return

    def say(way: str, length: int) -> Asked:
        return Asked(way, length, given.samples, given.answer, given.threads, given.cap)

    table(given.lengths, say)
    for length in [one for one in given.lengths if one <= 2048]:
        print(f"cosine to the whole gradient at {length} tokens {cosine(say('full', length)):.4f}")


if __name__ == "__main__":
    main()
