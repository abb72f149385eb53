"""AutoResearch: from the tasks of a failure mode to probes at the edge of what the version in service can do.

A hypothesis is a kind of change (`rsi.discover.hypotheses`) made to a task that is known to be right. It is kept where

- it is well defined: its own answer passes, no answer and a broken one fail (`rsi.tasks.check`);
- it passes the screens, so that no held-out item is ever asked;
- it is instructive: of `samples` answers of the version in service, the share that is right lies between the
  deployment's bounds. What is always right teaches nothing, what is never right gives no signal.

The log says of every hypothesis what became of it and why. It is the journal of the work at once: a search that was
killed reads it and goes on, and ends with the same probes. What was asked, and answered, becomes traces of origin
*probe* in the inbox.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from rsi.discover.hypotheses import HYPOTHESES
from rsi.discover.hypotheses.variant import built, request
from rsi.expansion import Research
from rsi.ids import canonical, digest
from rsi.ports import Clock
from rsi.records import Origin, Record, Task
from rsi.store.files import write_whole
from rsi.store.journal import Journal
from rsi.tasks.attempt import Asked, Attempts
from rsi.tasks.check import flaw
from rsi.tasks.prompt import AGENT, ROUTE

CHUNK = 8
"""Hypotheses that are asked together."""


class Fate(StrEnum):
    """What became of a hypothesis."""

    KEPT = "kept"
    NOT_WELL_DEFINED = "not_well_defined"
    SCREENED = "screened_out"
    TOO_EASY = "too_easy"
    TOO_HARD = "too_hard"


class Hypothesised(Record):
    """One line of the log."""

    probe: str
    """Task id of the variant."""
    seed: str
    """Task id of what it was made from."""
    mode_id: str | None
    kind: str
    request: str
    fate: Fate
    why: str
    """The flaw, the screen's reason, or the pass rate."""
    hop: str
    answer: str = ""
    """The first answer of the version in service."""
    passed: int = 0
    samples: int = 0


class Found(NamedTuple):
    """What a search ended with."""

    kept: tuple[Task, ...]
    log: tuple[Hypothesised, ...]
    calls: int
    """Questions to the model, those of an earlier, interrupted search included."""

    @property
    def fates(self) -> dict[str, int]:
        """Fate -> count."""
        return dict(sorted(Counter(one.fate.value for one in self.log).items()))


Objection = Callable[[Sequence[Task]], dict[str, str]]
"""Task id -> why a screen refuses it; the tasks that pass are left out."""


def research(
    seeds: Sequence[Task], rules: Research, attempts: Attempts, log: Journal, objections: Objection
) -> Found:
    """Search until the budget of calls ends, enough is kept, or there is nothing left to try.

    Args:
        seeds: tasks that are right; those of a failure mode are varied, the others only lend their words.
        rules: bounds and budget.
        attempts: the version in service, with the budget of calls.
        log: where the hypotheses are written down.
        objections: the screens.
    """
    kept: dict[str, Task] = {}
    lines: dict[str, Hypothesised] = {}
    for chunk in _chunks(hypotheses(seeds, rules.seed)):
        if len(kept) >= rules.keep or attempts.spent >= attempts.budget:
            break
        fresh = {task.task_id: (seed, kind, task) for seed, kind, task in chunk if task.task_id not in lines}
        decided = _undecidable(fresh, objections)
        asked = attempts.ask(
            [task for name, (*_, task) in fresh.items() if name not in decided], rules.samples
        )
        for name, (seed, kind, task) in fresh.items():
            fate = decided.get(name) or (_judged(asked[name], rules) if name in asked else None)
            if fate is None:
                continue
            line = _line(seed, kind, task, fate, asked.get(name))
            log.put(name, line.model_dump(mode="json"))
            lines[name] = line
            if line.fate is Fate.KEPT and len(kept) < rules.keep:
                kept[name] = task.model_copy(update={"passed": line.passed, "samples": line.samples})
    return Found(tuple(kept[name] for name in sorted(kept)), tuple(lines.values()), attempts.spent)


def hypotheses(seeds: Sequence[Task], number: int) -> Iterator[tuple[Task, str, Task]]:
    """(seed, kind, probe), kinds in turns, so that a small budget tries each of them; order and words are seeded."""
    ordered = sorted((one for one in seeds if one.mode_id and request(one)), key=lambda one: one.task_id)
    random.Random(f"research:{number}").shuffle(ordered)
    others = sorted(seeds, key=lambda one: one.task_id)
    kinds = list(HYPOTHESES)
    for turn in range(len(kinds)):
        for at, seed in enumerate(ordered):
            kind = kinds[(at + turn) % len(kinds)]
            alike = [one for one in others if one.hop == seed.hop]
            variant = HYPOTHESES[kind](seed, alike, random.Random(f"{number}:{seed.task_id}:{kind}"))
            if variant is not None and (variant.request, variant.expected) != (request(seed), seed.expected):
                yield seed, kind, built(seed, variant, kind)


def _chunks(found: Iterator[tuple[Task, str, Task]]) -> Iterator[list[tuple[Task, str, Task]]]:
    chunk: list[tuple[Task, str, Task]] = []
    for one in found:
        chunk.append(one)
        if len(chunk) == CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _undecidable(
    fresh: dict[str, tuple[Task, str, Task]], objections: Objection
) -> dict[str, tuple[Fate, str]]:
    """Fates that need no answer of the model: a flaw, or a screen's objection."""
    found: dict[str, tuple[Fate, str]] = {}
    for name, (*_, task) in fresh.items():
        problem = flaw(task)
        if problem is not None:
            found[name] = (Fate.NOT_WELL_DEFINED, problem.value)
    sound = [task for name, (*_, task) in fresh.items() if name not in found]
    found |= {name: (Fate.SCREENED, why) for name, why in objections(sound).items()}
    return found


def _judged(asked: Asked, rules: Research) -> tuple[Fate, str]:
    why = f"{asked.passed} of {asked.samples} right"
    if asked.rate < rules.low:
        return Fate.TOO_HARD, why
    return (Fate.TOO_EASY, why) if asked.rate > rules.high else (Fate.KEPT, why)


def _line(seed: Task, kind: str, task: Task, fate: tuple[Fate, str], asked: Asked | None) -> Hypothesised:
    return Hypothesised(
        probe=task.task_id,
        seed=seed.task_id,
        mode_id=task.mode_id,
        kind=kind,
        request=request(task),
        fate=fate[0],
        why=fate[1],
        hop=task.hop,
        answer=asked.answer if asked else "",
        passed=asked.passed if asked else 0,
        samples=asked.samples if asked else 0,
    )


def write_traces(
    inbox: Path, name: str, found: Found, attempts: Attempts, clock: Clock, namespace: str
) -> Path | None:
    """The probes that were asked, as traces of origin *probe*; the file that is there where this search wrote it.

    A route's answer is the chosen role, which a trace names as its route.
    """
    path = inbox / f"research-{name}.ndjson"
    if path.exists():
        return path
    now = int(clock.now().timestamp()) * 1_000_000_000
    lines = []
    for line in found.log:
        if not line.samples:
            continue
        trace = digest(["probe", attempts.policy.name, line.probe])[:24]
        lines.append(_trace(f"probe-{trace}", line, attempts, now, namespace))
    if not lines:
        return None
    write_whole(path, b"".join(canonical(one) + b"\n" for one in lines))
    return path


def _trace(name: str, line: Hypothesised, attempts: Attempts, now: int, namespace: str) -> dict[str, object]:
    policy = attempts.policy
    routed = line.hop == ROUTE
    role = line.answer if routed else AGENT
    return {
        "schema": "rsi.trace/1",
        "trace_id": name,
        "namespace": namespace,
        "origin": Origin.PROBE.value,
        "version": policy.name,
        "session": name,
        "start_ns": now,
        "end_ns": now,
        "messages": [{"role": "user", "content": line.request}],
        "answer": None if routed else {"content": line.answer, "finish_reason": "stop"},
        "error": None,
        "route": {"role": role, "reason": "research"} if routed else None,
        "model": policy.adapters.get(policy.harness.router if routed else role, "base"),
    }
