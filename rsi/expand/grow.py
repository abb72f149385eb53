"""Growing a bank: from the night's modes and traces to screened, covered, measured tasks. Writes no bank.

The same night, interrupted or not, grows the same tasks: what a model answered is in journals, and everything else
follows from the traces up to the night's fixed input, the deployment file and its seeds.
"""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rsi.context import Context
from rsi.discover.research import Found, research, write_traces
from rsi.expand.aims import aims
from rsi.expand.coverage import Spot, asked, balance, filled
from rsi.expand.facets import facets
from rsi.expand.material import Material
from rsi.expand.phases import Growing
from rsi.expand.runs import read
from rsi.expand.screening import Screening
from rsi.expand.tools import learn
from rsi.expand.writer import Writer
from rsi.harness import hcp
from rsi.harness.hcp import Harness
from rsi.records import Modes, Task
from rsi.registry import versions
from rsi.registry.loaded import engine_with
from rsi.settings import contracts_dir
from rsi.store.database import store_batch
from rsi.store.journal import Journal
from rsi.store.ledger import Ledger
from rsi.tasks import bank, overrule
from rsi.tasks.attempt import Attempts, Policy
from rsi.tasks.bank import Account
from rsi.tasks.language import language
from rsi.tasks.mixture import capped, replayed
from rsi.tasks.refused import Reason

_GIVERS = """
select trace_uid, coalesce('user ' || user_ref, 'conversation ' || conversation)
from traces_until($ordinal)
where user_ref is not null or conversation is not null
"""
SYNTHETIC = "over_synthetic_share"
"""Why made-up tasks are left out of a mixture."""


@dataclass(frozen=True)
class Night:
    """What a night's expansion works with."""

    context: Context
    material: Material
    wanted: frozenset[Spot]
    screening: Screening
    harness: Harness
    older: tuple[Task, ...]
    """Tasks of the banks of earlier nights."""

    @property
    def strangers(self) -> int:
        """Corrections to a specialist that the harness does not have."""
        return sum(one.correction not in self.material.roles for one in self.material.corrected)


@dataclass(frozen=True)
class Grown:
    """What came of it."""

    tasks: tuple[Task, ...]
    new: int
    """How many of them are not replayed."""
    account: Account
    proposals: int


def prepare(context: Context, modes: Modes) -> Night:
    """Read what the night's tasks can be made from."""
    home, deployment, start = context.home, context.deployment, context.start
    harness = hcp.load(home.harnesses, versions.load(home, start.champion).harness)
    found = aims(modes.modes)
    tools = sorted({one.tool for one in found if one.tool})
    with store_batch(home, context.world.clock, f"expand {start.night}") as connection:
        told = read(connection, start.ordinal, [one.value for one in deployment.traces.origins], tools)
        givers = dict(connection.execute(_GIVERS, {"ordinal": start.ordinal}).fetchall())
    overruled = overrule.known(Ledger(home.ledger, context.world.clock), start.night)
    screening = Screening(contracts_dir(), deployment, givers, overruled)
    material = Material(
        aims=found,
        roles=harness.roles,
        corrected=told.corrected,
        runs=told.runs,
        tools=learn(told.runs, told.definitions),
        rules=deployment.expand,
        model=deployment.expand.generator.model,
    )
    spoken = {language(one.request) for one in told.corrected}
    spoken |= {language(turn.content) for run in told.runs for turn in run.turns if turn.role == "user"}
    return Night(
        context,
        material,
        asked(found, material.tools, spoken),
        screening,
        harness,
        _older(context),
    )


def grow(night: Night, journals: Path | None) -> Grown:
    """The night's tasks; without a folder for journals nothing of the work is kept."""
    rules, screening = night.context.deployment.expand, night.screening
    worked = _Work(night, journals)
    growing = Growing(worked.material(), night.wanted, screening.passed, worked.spent)
    growing.given()
    growing.made_up()
    tasks, left = balance(tuple(growing.tasks.values()), rules.max_tasks, rules.max_share)
    tasks, over = capped(tasks, rules.synthetic)
    old = screening.passed(replayed(tasks, night.older, rules.replay, rules.seed))[
        : rules.max_tasks - len(tasks)
    ]
    measured = worked.measure(tasks)
    refused = (
        screening.rejected + left + Counter({Reason.UNKNOWN_LABEL.value: night.strangers, SYNTHETIC: over})
    )
    account = Account(
        rejected={reason: count for reason, count in refused.items() if count},
        screens=screening.suites,
        phases=tuple(growing.phases),
        asked=tuple(sorted(map(str, night.wanted))),
        empty=tuple(sorted(map(str, night.wanted - filled(measured, night.wanted)))),
        replayed=len(old),
        synthetic=sum(bool(one.generator) for one in (*measured, *old)),
        research=worked.fates,
    )
    proposals = sum(one.attempts for one in growing.phases)
    return Grown((*measured, *old), len(measured), account, proposals)


class _Work:
    """What asks models for a night: AutoResearch, the generator, and the measuring of difficulty."""

    def __init__(self, night: Night, journals: Path | None) -> None:
        context = night.context
        self._night, self._journals = night, journals
        version = versions.load(context.home, context.start.champion)
        self._policy = Policy(context.start.champion, version.adapters, night.harness)
        self._engine = lambda: engine_with(context, [version])
        self._writer = Writer(context.deployment.expand.generator, self._journal("generator"))
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
        attempts = Attempts(self._engine, self._policy, self._journal("attempts"), rules.calls)
        unknown = sorted((one for one in tasks if not one.samples), key=lambda one: one.task_id)
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
        self._attempts = Attempts(self._engine, self._policy, self._journal("attempts"), rules.calls)
        seeds = [one for one in have if not one.generator]
        found: Found = research(
            seeds,
            rules.model_copy(update={"keep": min(rules.keep, most or rules.keep)}),
            self._attempts,
            self._journal("research"),
            self._night.screening.objections,
        )
        self.fates = found.fates
        if self._journals is not None:
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
        night = self._night.context.start.night
        return Journal(self._journals / f"{name}-{night}.ndjson" if self._journals else None)


def _older(context: Context) -> tuple[Task, ...]:
    """Tasks of the banks that nights before this one made; the newest of each id."""
    ledger = Ledger(context.home.ledger, context.world.clock)
    begun = ledger.last(lambda one: one.kind == "night" and one.night == context.start.night)
    found: dict[str, Task] = {}
    for record in ledger:
        if begun is not None and record.seq >= begun.seq:
            break
        if record.kind == "stage" and record.stage == "expand" and record.output:
            found |= {one.task_id: one for one in bank.load(context.home, record.output)}
    return tuple(one.model_copy(update={"facets": facets(one)}) for one in found.values())
