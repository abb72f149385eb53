"""How versions fare on tasks that nobody trained on: no contract, no verdict, nothing kept.

All versions meet the same tasks with the same seeds, so that two of them are compared task by task.
"""

from collections.abc import Sequence
from typing import NamedTuple

from rsi.environments import kind
from rsi.harness.hcp import Harness
from rsi.harness.loop import Play, Table, play
from rsi.ids import digest
from rsi.ports import Dialogue, Engine, Progress, silent
from rsi.records import Outcome, Task, WorldTask
from rsi.statistics.intervals import Interval, paired_difference, wilson
from rsi.statistics.paired import mcnemar
from rsi.tasks.prompt import render
from rsi.tasks.worlds import VERIFIER
from rsi.verifiers import verify

PLAYED = 64
"""Episodes side by side."""
ASKED = 16
"""Questions side by side."""


class Contender(NamedTuple):
    """What is measured."""

    adapter: str | None
    """Loaded in the engine; null for the bare base."""
    harness: Harness
    max_tokens: int
    """Cap on a written answer."""
    temperature: float | None
    """In place of the harness's."""


class Share(NamedTuple):
    """How many were right."""

    right: int
    tasks: int
    interval: Interval
    """Of the share, 95%, Wilson's."""

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> "Share":
        """Count; whatever has no score is not right."""
        right = sum(one.score == 1.0 for one in outcomes)
        return cls(right, len(outcomes), wilson(right, len(outcomes)))


class Paired(NamedTuple):
    """One version against another on the same tasks."""

    wins: int
    """Tasks that only the later one solved."""
    losses: int
    """Tasks that only the earlier one solved."""
    difference: float
    interval: Interval
    """Of the difference, 95%, Tango's."""
    mid_p: float
    """One-sided McNemar test that the later one is better."""

    @classmethod
    def of(cls, before: Sequence[Outcome], after: Sequence[Outcome]) -> "Paired":
        """Compare outcomes task by task."""
        pairs = [(one.score == 1.0, two.score == 1.0) for one, two in zip(before, after, strict=True)]
        wins, losses = pairs.count((False, True)), pairs.count((True, False))
        return cls(
            wins,
            losses,
            (wins - losses) / len(pairs),
            paired_difference(wins, losses, len(pairs)),
            mcnemar(wins, losses).mid_p,
        )


def played(
    engine: Engine,
    dialogue: Dialogue,
    contender: Contender,
    tasks: Sequence[WorldTask],
    seed: int,
    progress: Progress = silent,
) -> list[Outcome]:
    """An episode a task, drawn from the seed and the task alone."""
    rules = contender.harness.agent
    if contender.temperature is not None:
        rules = rules.model_copy(update={"temperature": contender.temperature})
    table = Table(dialogue, rules, lambda state, expected: verify(VERIFIER, state, expected))
    plays = [
        Play(one, int(digest(["measure", seed, one.task_id])[:8], 16), kind(one.environment).open)
        for one in tasks
    ]
    found: list[Outcome] = []
    for at in range(0, len(plays), PLAYED):
        found += [one.outcome for one in play(plays[at : at + PLAYED], table, engine, contender.adapter)]
        progress("measure", len(found), len(tasks), f"{Share.of(found).right} right")
    return found


def asked(
    engine: Engine,
    contender: Contender,
    tasks: Sequence[Task],
    seed: int,
    progress: Progress = silent,
) -> list[Outcome]:
    """An answer a task, as its verifier takes it."""
    found: list[Outcome] = []
    said_so = contender.harness.sampling.temperature
    temperature = said_so if contender.temperature is None else contender.temperature
    for at in range(0, len(tasks), ASKED):
        some = tasks[at : at + ASKED]
        prompts = [render(one, contender.harness) for one in some]
        said = engine.generate(prompts, contender.adapter, contender.max_tokens, temperature, seed)
        found += [
            verify(one.verifier, answer.text, one.expected) for one, answer in zip(some, said, strict=True)
        ]
        progress("measure", len(found), len(tasks), f"{Share.of(found).right} right")
    return found
