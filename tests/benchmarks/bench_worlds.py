"""What a world costs, and what a model makes of it; part of ``make bench``.

Prints the time of a reset and of a whole oracle episode, tasks generated a second, and for the base (or an adapter
laid over it) the share of tasks whose final state is right, by level, with the time of 100 episodes in lock-step.
"""

import argparse
import time
from collections import Counter
from pathlib import Path
from statistics import median
from typing import NamedTuple

from rsi import assets
from rsi.engine.chat import Dialogue
from rsi.engine.local import LocalEngine
from rsi.environments import ENVIRONMENTS, Kind, kind
from rsi.harness.episode import Episode
from rsi.harness.loop import Play, Table, demonstrate, play
from rsi.harness.rules import Rules
from rsi.records import Pool, WorldTask
from rsi.verifiers import final_state

COUNT = 300
"""Tasks of the figures without a model."""
BATCH = 50
"""Episodes side by side."""


class Spent(NamedTuple):
    """Time of some episodes, in seconds."""

    wall: float
    cpu: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--environment", choices=sorted(ENVIRONMENTS), default="desk")
    parser.add_argument("--count", type=int, default=COUNT, help="tasks of the figures without a model")
    parser.add_argument("--tasks", type=int, default=100, help="tasks for the model")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pool", type=Pool, choices=list(Pool), default=Pool.HELD_OUT)
    parser.add_argument("--adapter", type=Path, help="a LoRA folder over the base")
    parser.add_argument("--temperature", type=float, default=1.0, help="0 is greedy")
    parser.add_argument("--turns", type=int, default=Rules().turns, help="most answers of an episode")
    parser.add_argument("--threads", type=int, default=2, help="of the model; 1 on a machine that others use")
    parser.add_argument("--show", type=int, default=0, help="episodes to print in full")
    given = parser.parse_args()
    world = kind(given.environment)
    without_model(world, given.count)
    engine = LocalEngine(*assets.base_folder("smollm2-135m"), threads=given.threads)
    if given.adapter:
        engine.load("measured", given.adapter)
    rules = Rules(temperature=given.temperature, turns=given.turns)
    table = Table(Dialogue(engine.tokenizer), rules, final_state.check)
    demonstrations(world, table, given.count)
    tasks = world.tasks(given.tasks, given.seed, given.pool)
    started, cpu = time.monotonic(), time.process_time()
    episodes = played(engine, table, world, tasks, "measured" if given.adapter else None)
    spent = Spent(time.monotonic() - started, time.process_time() - cpu)
    told(tasks, episodes, spent)
    for one in episodes[: given.show]:
        print(
            "\n".join(f"{turn.speaker}: {turn.text}" for turn in one.turns), one.stop, one.outcome, sep="\n"
        )


def without_model(world: Kind, count: int) -> None:
    """Generator and reset."""
    started = time.monotonic()
    tasks = world.tasks(count, 0, Pool.TRAIN)
    print(f"tasks_per_second {count / (time.monotonic() - started):.0f}")
    resets, cpu = list[float](), time.process_time()
    for task in tasks:
        opened = world.open()
        started = time.monotonic()
        opened.reset(task, 0)
        resets.append(time.monotonic() - started)
        opened.close()
    print(f"reset_ms_median {1000 * median(resets):.2f}")
    print(f"reset_and_close_cpu_ms_mean {1000 * (time.process_time() - cpu) / count:.2f}")


def demonstrations(world: Kind, table: Table, count: int) -> None:
    """Oracle episodes."""
    tasks = world.tasks(count, 0, Pool.TRAIN)
    started = time.monotonic()
    shown = [demonstrate(Play(task, 0, world.open), table) for task in tasks]
    print(f"demonstration_ms_mean {1000 * (time.monotonic() - started) / count:.1f}")
    print(f"demonstrations_right {sum(one.reward == 1 for one in shown)} of {count}")
    print(f"prompt_tokens_max {max(one.turns[0].end for one in shown)}")
    print(f"episode_tokens_max {max(len(one.tokens) for one in shown)}")


def played(
    engine: LocalEngine, table: Table, world: Kind, tasks: tuple[WorldTask, ...], adapter: str | None
) -> list[Episode]:
    """All tasks, some at a time."""
    plays = [Play(task, place, world.open) for place, task in enumerate(tasks)]
    found = list[Episode]()
    for at in range(0, len(plays), BATCH):
        found += play(plays[at : at + BATCH], table, engine, adapter)
    return found


def told(tasks: tuple[WorldTask, ...], episodes: list[Episode], spent: Spent) -> None:
    """Figures of a model."""
    right = sum(one.reward == 1 for one in episodes)
    print(f"passed {right} of {len(episodes)}: {right / len(episodes):.3f}")
    for level in sorted({task.level for task in tasks}):
        some = [one for task, one in zip(tasks, episodes, strict=True) if task.level == level]
        print(f"passed_level_{level} {sum(one.reward == 1 for one in some)} of {len(some)}")
    print(f"seconds_per_100_episodes {100 * spent.wall / len(episodes):.1f}")
    print(f"cpu_seconds_per_100_episodes {100 * spent.cpu / len(episodes):.1f}")
    print(f"sampled_tokens_per_episode {sum(sum(one.mask) for one in episodes) / len(episodes):.1f}")
    print(f"outcomes {dict(sorted(Counter(one.outcome.kind.value for one in episodes).items()))}")
    print(f"stops {dict(sorted(Counter(one.stop.value for one in episodes).items()))}")


if __name__ == "__main__":
    main()
