"""A GRPO step beside TRL's: seconds and peak memory; part of ``make bench``.

One prompt, a group of answers of fixed length, LoRA on all linear layers, float32, on this machine's processor. Each
way of training runs in a process of its own: ours over a captured prompt, ours with full back-propagation, and, where
`RSI_TRL_PYTHON` names the Python of TRL's environment, `GRPOTrainer` without and with gradient checkpointing. A step
is all of it: sampling, forward, backward, optimiser. Then both sides' losses on the same tokens.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import torch
from transformers import AutoTokenizer

from rsi import assets
from rsi.algorithm import Correction, Update
from rsi.engine.local import LocalEngine
from rsi.engine.weights import read_base
from rsi.ports import Prompt
from rsi.records import ChatMessage, Task
from rsi.registry.adapters import TARGETS
from rsi.settings import PROJECT
from rsi.tasks import bank
from rsi.update import learner
from rsi.update.actor import Actor
from rsi.update.course import Rota
from rsi.update.sampled import Sampled
from rsi.update.step import take
from rsi.update.written import Written
from tests.benchmarks.trl_same import PYTHON, ask, compare, trl_python
from tests.made import router

WAYS = ("response", "full", "trl_checkpointed", "trl_rows_of_one", "trl")
"""What is measured; `trl_rows_of_one` is TRL with one answer a micro-batch, its own way to bound memory."""


class Asked(NamedTuple):
    """What a step is."""

    base: str
    prompt: str
    tokens: list[int]
    samples: int
    answer: int
    rank: int
    steps: int
    threads: int


class Spent(NamedTuple):
    """What a way of training took."""

    wall: float
    """Seconds a step, the median."""
    cpu: float
    """Processor seconds a step, the median."""
    peak: int
    """Bytes of the process at its largest."""
    answer: float
    """Tokens of an answer, the mean."""


class Endless(LocalEngine):
    """Answers go on to their last token, as they do on TRL's side."""

    def __init__(self, folder: Path, digest: str) -> None:
        super().__init__(folder, digest)
        self._eos = ()


class Opening(NamedTuple):
    """`rsi.ports.Dialogue` that opens with the one prompt."""

    tokens: tuple[int, ...]

    def opening(self, _: Prompt) -> tuple[int, ...]:
        """The prompt."""
        return self.tokens


class Group(Written):
    """Written answers; the reward is the share of an answer's tokens that differ, so that every group has a signal."""

    def draw(self, tasks: Sequence[Task], step: int, again: int = 0) -> Sampled:
        """The group."""
        drawn = super().draw(tasks, step, again)
        rewards = [len(set(one.response)) / len(one.response) for one in drawn.rollouts()]
        drawn.groups = drawn.groups._replace(rewards=torch.tensor([rewards]))
        return drawn


def ours(asked: Asked, whole: bool) -> Spent:
    """Steps of our trainer in this process."""
    torch.set_num_threads(asked.threads)
    settings = Update(
        steps=asked.steps,
        prompts=1,
        samples=asked.samples,
        rank=asked.rank,
        alpha=2 * asked.rank,
        answer_tokens=asked.answer,
        whole_prompt=whole,
        correction=Correction(),
    )
    base = Path(asked.base)
    model = learner.build(Path(), read_base(base)[0], settings, None, ())
    task = bank.task("answer", (ChatMessage(role="user", content="."),), "exact", ".", None, (), "correction")
    order = Rota([task], 0)
    spent = list[tuple[float, float]]()
    with tempfile.TemporaryDirectory() as place:
        actor = Actor(Endless(base, "base"), Path(place))
        practice = Group(model, actor, Opening(tuple(asked.tokens)), router(), settings, "base")
        for step in range(asked.steps):
            begun = time.monotonic(), time.process_time()
            row = take(model, practice, settings, order, step)
            spent.append((time.monotonic() - begun[0], time.process_time() - begun[1]))
            assert row["live"] == 1 and row["gradient_norm"] > 0
    walls, cpus = zip(*spent, strict=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return Spent(median(walls), median(cpus), peak, row["sampled"] / asked.samples)


def theirs(asked: Asked, python: Path, place: Path, way: str, before: Sequence[str]) -> Spent:
    """Steps of TRL's trainer in its environment."""
    said = {
        **asked._asdict(),
        "wanted": "steps",
        "new_tokens": asked.answer,
        "alpha": 2 * asked.rank,
        "targets": list(TARGETS),
        "rows": 1 if way == "trl_rows_of_one" else asked.samples,
        "checkpointing": way == "trl_checkpointed",
    }
    found = ask(python, place, said, *before)
    if found["prompt_tokens"] != len(asked.tokens) or not found["gradient_norm"]:
        raise RuntimeError(f"TRL's step was another: {found}")
    steps = found["steps"]
    assert isinstance(steps, list)
    return Spent(
        median(one["wall"] for one in steps),
        median(one["cpu"] for one in steps),
        int(str(found["peak_bytes"])),
        float(str(found["answer_tokens"])),
    )


def measured(asked: Asked, way: str, before: Sequence[str]) -> Spent | None:
    """One way, in a process of its own; None where there is no environment for it."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if way.startswith("trl"):
            python = trl_python()
            return theirs(asked, python, place, way, before) if python else None
        (place / "asked.json").write_text(json.dumps(asked._asdict()))
        command = [*before, sys.executable, "-m", __spec__.name, "--child", way, "--place", str(place)]
        subprocess.run(command, check=True)
        return Spent(**json.loads((place / "found.json").read_bytes()))


def prompt(base: Path, tokens: int) -> tuple[str, list[int]]:
    """Words of this project's README that are that many tokens, and those."""
    tokenizer = AutoTokenizer.from_pretrained(base, local_files_only=True)
    ids = tokenizer((PROJECT / "README.md").read_text())["input_ids"]
    for start in range(len(ids) - tokens):
        text = tokenizer.decode(ids[start : start + tokens])
        again = tokenizer(text)["input_ids"]
        if len(again) == tokens:
            return text, again
    raise RuntimeError(f"README.md has no {tokens} tokens that are read back as they were")


def each(asked: Asked, ways: Sequence[str], before: Sequence[str]) -> dict[str, Spent | None]:
    """Measure and print one way after the other."""
    print(f"{'':20}{'s/step':>9}{'cpu s/step':>12}{'peak GB':>9}{'tokens':>8}")
    found = dict[str, Spent | None]()
    for way in ways:
        try:
            one = found[way] = measured(asked, way, before)
        except (RuntimeError, subprocess.CalledProcessError) as error:
            # For want of memory as a rule: the others are worth knowing all the same.
            print(f"{way:20} failed: {str(error).splitlines()[-1]}", flush=True)
            continue
        if one is None:
            print(f"{way:20} skipped: {PYTHON} names no Python of TRL's environment")
        else:
            print(f"{way:20}{one.wall:9.1f}{one.cpu:12.1f}{one.peak / 1e9:9.2f}{one.answer:8.1f}", flush=True)
    return found


def compared(found: dict[str, Spent | None]) -> None:
    """Print the ratios."""
    for mine in ("response", "full"):
        for other in WAYS[2:]:
            one, two = found.get(mine), found.get(other)
            if one and two:
                print(
                    f"{mine} beside {other}: {two.wall / one.wall:.2f} times as fast "
                    f"({two.cpu / one.cpu:.2f} by processor time), {one.peak / two.peak:.3f} of its peak memory"
                )


def same(base: Path, threads: int) -> None:
    """Print how far the losses and gradients of both sides are apart."""
    python = trl_python()
    if python is None:
        print(f"same_tokens skipped: {PYTHON} names no Python of TRL's environment")
        return
    torch.set_num_threads(threads)
    with tempfile.TemporaryDirectory() as place:
        for one in compare(python, base, Path(place), 64, 16, threads):
            print(
                f"same_tokens {one.name:8} loss apart {one.loss:.1e}, gradient apart {one.gradient:.1e} "
                f"(relative; clipped {one.clipped:.0%} of the tokens)"
            )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompt", type=int, default=512, help="tokens of the prompt")
    parser.add_argument("--samples", type=int, default=8, help="answers to it")
    parser.add_argument("--answer", type=int, default=32, help="tokens of an answer")
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--ways", nargs="*", default=list(WAYS), choices=WAYS)
    parser.add_argument(
        "--before", default="", help="laid before each measured command, for instance taskset -c 2,3"
    )
    parser.add_argument("--no-same", action="store_true", help="leave out the losses on the same tokens")
    parser.add_argument("--child", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--place", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        asked = Asked(**json.loads((given.place / "asked.json").read_bytes()))
        spent = ours(asked, whole=given.child == "full")
        (given.place / "found.json").write_text(json.dumps(spent._asdict()))
        return
    base, _ = assets.base_folder("smollm2-135m")
    text, tokens = prompt(base, given.prompt)
    asked = Asked(
        str(base), text, tokens, given.samples, given.answer, given.rank, given.steps, given.threads
    )
    compared(each(asked, given.ways, given.before.split()))
    if not given.no_same:
        same(base, given.threads)


if __name__ == "__main__":
    main()
