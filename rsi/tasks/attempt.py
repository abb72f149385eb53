"""Answers of a version to tasks: how often it is right, within a budget, kept in a journal.

A question costs one call of the engine: one for a route, whatever the number of samples (they are drawn from the
labels' probabilities), one a sample for a written answer. What the journal knows is counted like a question that is
asked, so that the budget ends at the same task whether or not the work was interrupted.
"""

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, isfinite
from typing import NamedTuple

from rsi.harness.hcp import Harness
from rsi.ids import digest
from rsi.ports import Engine
from rsi.records import OutcomeKind, Record, Task
from rsi.store.journal import Journal
from rsi.tasks.prompt import ROUTE, render, role_of
from rsi.verifiers import VERIFIERS, Verifiers, verify

BATCH = 16
"""Tasks asked at once."""
TEMPERATURE = 1.0
"""Of sampled answers: that of training."""


class Asked(NamedTuple):
    """How a version fared on one task."""

    passed: int
    samples: int
    """Answers that could be judged."""
    answer: str
    """One of its answers: the first."""

    @property
    def rate(self) -> float:
        """Share of right answers."""
        return self.passed / self.samples


class Policy(NamedTuple):
    """A version that answers."""

    name: str
    """Its digest."""
    adapters: Mapping[str, str]
    """Role -> adapter, loaded in the engine."""
    harness: Harness


def cost(task: Task, samples: int) -> int:
    """Calls that a task costs."""
    return 1 if task.hop == ROUTE else samples


@dataclass
class Attempts:
    """A version, a budget of calls, and what was spent of it."""

    engine: Callable[[], Engine]
    """Makes the engine, able to answer as the policy; not asked for what the journal knows."""
    policy: Policy
    journal: Journal
    budget: int
    spent: int = field(default=0)
    verifiers: Verifiers = field(default_factory=lambda: VERIFIERS)

    def ask(self, tasks: Sequence[Task], samples: int) -> dict[str, Asked]:
        """Task id -> how it went, for as many of the tasks, in their order, as the budget pays.

        A task of which no answer could be judged is left out: no verdict is not a wrong answer.
        """
        paid = []
        for task in tasks:
            if self.spent + cost(task, samples) > self.budget:
                break
            self.spent += cost(task, samples)
            paid.append(task)
        found: dict[str, Asked] = {}
        fresh: list[Task] = []
        for task in paid:
            known = self.journal.get(self._key(task, samples))
            if known is None:
                fresh.append(task)
            else:
                judged = int(str(known.get("judged", samples)))
                found[task.task_id] = Asked(int(str(known["passed"])), judged, str(known["answer"]))
        for group in _alike(fresh, self.policy.harness):
            found |= self._fresh(group, samples)
        return {name: one for name, one in found.items() if one.samples}

    def _key(self, task: Task, samples: int) -> str:
        by = self.verifiers[task.verifier].by if task.verifier in self.verifiers else ""
        return digest([self.policy.name, task.task_id, samples, *([by] if by else [])])[:32]

    def _fresh(self, tasks: Sequence[Task], samples: int) -> dict[str, Asked]:
        started = time.monotonic()
        answers = (self._routes if tasks[0].hop == ROUTE else self._written)(tasks, samples)
        each = (time.monotonic() - started) / sum(cost(one, samples) for one in tasks)
        found = {}
        for task, said in zip(tasks, answers, strict=True):
            outcomes = [verify(task.verifier, one, task.expected, self.verifiers) for one in said]
            right = sum(one.score == 1.0 for one in outcomes)
            judged = sum(one.kind not in (OutcomeKind.ERROR, OutcomeKind.INVALID) for one in outcomes)
            self.journal.put(
                self._key(task, samples),
                # Seconds are for estimates of later work; nothing that is named by a digest reads them.
                {
                    "passed": right,
                    "judged": judged,
                    "answer": said[0],
                    "seconds": round(each, 4),
                    "hop": task.hop,
                },
            )
            found[task.task_id] = Asked(right, judged, said[0])
        return found

    def _routes(self, tasks: Sequence[Task], samples: int) -> list[list[str]]:
        harness = self.policy.harness
        adapter = self.policy.adapters.get(harness.router)
        rows = self.engine().choose([render(one, harness) for one in tasks], harness.words, adapter)
        return [
            _draw(harness, row, samples, self._key(task, samples))
            for task, row in zip(tasks, rows, strict=True)
        ]

    def _written(self, tasks: Sequence[Task], samples: int) -> list[list[str]]:
        harness = self.policy.harness
        adapter = self.policy.adapters.get(role_of(tasks[0], harness))
        prompts = [render(one, harness) for one in tasks]
        rounds = [
            self.engine().generate(prompts, adapter, harness.sampling.max_tokens, TEMPERATURE, seed)
            for seed in range(samples)
        ]
        return [[said[at].text for said in rounds] for at in range(len(tasks))]


def _draw(harness: Harness, row: Sequence[float], samples: int, seed: str) -> list[str]:
    """Roles drawn from the labels' log-probs; the router's own role where they are no numbers, as the gateway does."""
    weights = [exp(one) if isfinite(one) else 0.0 for one in row]
    if not sum(weights) > 0:
        return [harness.router] * samples
    return random.Random(seed).choices(harness.roles, weights=weights, k=samples)


def _alike(tasks: Sequence[Task], harness: Harness) -> Iterator[list[Task]]:
    """Batches of one hop and one specialist."""
    groups: dict[tuple[str, str], list[Task]] = {}
    for task in tasks:
        groups.setdefault((task.hop, role_of(task, harness)), []).append(task)
    for group in groups.values():
        for start in range(0, len(group), BATCH):
            yield group[start : start + BATCH]


class Rate(Record):
    """What a call of the engine took, measured."""

    calls: int
    seconds: float
    """Mean of a call."""


def rates(journals: Sequence[Journal]) -> dict[str, Rate]:
    """Hop -> what its calls took in earlier work."""
    taken: dict[str, list[float]] = {}
    for journal in journals:
        for answer in journal.answers():
            if isinstance(seconds := answer.get("seconds"), int | float):
                taken.setdefault(str(answer.get("hop")), []).append(float(seconds))
    return {hop: Rate(calls=len(seen), seconds=sum(seen) / len(seen)) for hop, seen in sorted(taken.items())}
