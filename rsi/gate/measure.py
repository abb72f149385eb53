"""How versions fare on tasks that nobody trained on: no contract, no verdict, nothing kept.

All versions meet the same tasks with the same seeds, so that two of them are compared task by task.
"""

from collections.abc import Sequence
from typing import NamedTuple

from rsi.gate.bench import Bench
from rsi.gate.questions import Question, Reply, judged
from rsi.harness.hcp import Harness
from rsi.ports import Progress, silent
from rsi.records import Outcome, OutcomeKind, Task, WorldTask
from rsi.statistics.intervals import Interval, paired_difference, wilson
from rsi.statistics.paired import mcnemar
from rsi.tasks.prompt import render
from rsi.tasks.worlds import VERIFIER

PLAYED = 64
"""Episodes side by side."""
ASKED = 16
"""Questions side by side."""


class Contender(NamedTuple):
    """What is measured: a specialist of a version, and how its answers are drawn."""

    adapter: str | None
    """Loaded in the engine; null for the bare base."""
    harness: Harness
    max_tokens: int
    """Cap on a written answer."""
    temperature: float | None
    """In place of the harness's."""
    seed: int

    def question(self, task: WorldTask | Task) -> Question:
        """What it is asked for a task."""
        instead = {} if self.temperature is None else {"temperature": self.temperature}
        if isinstance(task, WorldTask):
            rules, world = self.harness.agent.model_copy(update=instead), task.model_dump_json()
            return Question(self.adapter, (), world=world, rules=rules, seed=self.seed)
        said = self.harness.sampling.model_copy(update=instead)
        prompt = render(task, self.harness)
        return Question(
            self.adapter, prompt, max_tokens=self.max_tokens, temperature=said.temperature, seed=self.seed
        )


class Share(NamedTuple):
    """How many were right."""

    right: int
    tasks: int
    """Without those that an engine or a world broke on: these say nothing."""
    interval: Interval
    """Of the share, 95%, Wilson's."""

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> "Share":
        """Count; an answer without a score is not right."""
        said = [one for one in outcomes if one.kind is not OutcomeKind.ERROR]
        right = sum(one.score == 1.0 for one in said)
        return cls(right, len(said), wilson(right, len(said)))


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
        """Compare outcomes task by task, where there are both."""
        pairs = [
            (one.score == 1.0, two.score == 1.0)
            for one, two in zip(before, after, strict=True)
            if OutcomeKind.ERROR not in (one.kind, two.kind)
        ]
        wins, losses = pairs.count((False, True)), pairs.count((True, False))
        return cls(
            wins,
            losses,
            (wins - losses) / max(len(pairs), 1),
            paired_difference(wins, losses, len(pairs)) if pairs else Interval(-1.0, 1.0),
            mcnemar(wins, losses).mid_p,
        )


def outcomes(
    bench: Bench, contender: Contender, tasks: Sequence[WorldTask | Task], progress: Progress = silent
) -> list[Outcome]:
    """What a version makes of tasks, all of worlds or all of one role and hop.

    Raises:
        TransientError: the engine was away all the time.
    """
    found: list[Outcome] = []
    together = PLAYED if tasks and isinstance(tasks[0], WorldTask) else ASKED
    for at in range(0, len(tasks), together):
        some = tasks[at : at + together]
        replies = bench.ask([contender.question(one) for one in some])
        found += [_judged(one, reply) for one, reply in zip(some, replies, strict=True)]
        progress("measure", len(found), len(tasks), f"{Share.of(found).right} right")
    bench.check()
    return found


def _judged(task: WorldTask | Task, reply: Reply) -> Outcome:
    verifier = VERIFIER if isinstance(task, WorldTask) else task.verifier
    return judged(reply, verifier, task.expected)
