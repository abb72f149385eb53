"""What asks models for a night's bank. What they answered is in journals, so that an interrupted night goes on."""

import random
from collections.abc import Sequence
from dataclasses import replace

from rsi.discover.research import research, write_traces
from rsi.expand.material import Material
from rsi.expand.prepare import Night
from rsi.expand.writer import Writer
from rsi.records import Task
from rsi.registry import versions
from rsi.registry.loaded import engine_with
from rsi.store.journal import Journal
from rsi.tasks.attempt import Attempts, Policy
from rsi.verifiers import with_judge


class Asking:
    """AutoResearch, the generator, and the measuring of difficulty, each with its budget and its journal."""

    def __init__(self, night: Night) -> None:
        """Journals are those of the night in its home."""
        context = night.context
        self._night = night
        version = versions.load(context.home, context.start.champion)
        self._policy = Policy(context.start.champion, version.adapters, night.harness)
        self._engine = lambda: engine_with(context, [version])
        self._writer = Writer(context.deployment.expand.generator, self._journal("generator"))
        self._verifiers = with_judge(context.world.judge())
        self._attempts: Attempts | None = None
        self.fates: dict[str, int] = {}

    def spent(self) -> int:
        """Questions so far."""
        return self._writer.spent + (self._attempts.spent if self._attempts else 0)

    def material(self) -> Material:
        """The night's material, with what models are asked through."""
        deployment = self._night.context.deployment
        return replace(
            self._night.material,
            research=self._research if deployment.research.calls else None,
            ask=self._writer.ask if deployment.expand.generator.url else None,
        )

    def measure(self, tasks: Sequence[Task]) -> tuple[Task, ...]:
        """The tasks, as many as the budget pays with the pass rate of the version in service."""
        rules = self._night.context.deployment.expand
        if not rules.calls:
            return tuple(tasks)
        attempts = Attempts(
            self._engine, self._policy, self._journal("attempts"), rules.calls, verifiers=self._verifiers
        )
        # An episode is measured where it is trained on: there it is played.
        unknown = sorted(
            (one for one in tasks if not one.samples and not one.world), key=lambda one: one.task_id
        )
        random.Random(f"difficulty:{rules.seed}").shuffle(unknown)
        # Those that a mode is about first: what works already is measured with what is left.
        unknown.sort(key=lambda one: one.mode_id is None)
        found = attempts.ask(unknown, rules.samples)
        return tuple(
            one.model_copy(update={"passed": said.passed, "samples": said.samples})
            if (said := found.get(one.task_id))
            else one
            for one in tasks
        )

    def _research(self, have: Sequence[Task], most: int) -> Sequence[Task]:
        context, rules = self._night.context, self._night.context.deployment.research
        self._attempts = Attempts(
            self._engine, self._policy, self._journal("attempts"), rules.calls, verifiers=self._verifiers
        )
        seeds = [one for one in have if not one.generator]
        found = research(
            seeds,
            rules.model_copy(update={"keep": min(rules.keep, most or rules.keep)}),
            self._attempts,
            self._journal("research"),
            self._night.screening.objections,
        )
        self.fates = found.fates
        write_traces(
            context.home.inbox,
            f"{context.start.night}-{context.start.champion[:12]}",
            found,
            self._attempts,
            context.world.clock,
            context.deployment.traces.namespace,
        )
        return found.kept

    def _journal(self, name: str) -> Journal:
        context = self._night.context
        return Journal(context.home.journals / f"{name}-{context.start.night}.ndjson")
