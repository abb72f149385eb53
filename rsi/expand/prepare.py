"""What a night's expansion works with: its material, the grid, the screens, and the banks before it."""

from dataclasses import dataclass

from rsi.context import Context
from rsi.expand.aims import aims
from rsi.expand.coverage import Spot, asked
from rsi.expand.facets import facets
from rsi.expand.material import Material
from rsi.expand.runs import read
from rsi.expand.screening import Screening
from rsi.expand.tools import learn
from rsi.harness import hcp
from rsi.harness.hcp import Harness
from rsi.records import Modes, Task
from rsi.registry import versions
from rsi.settings import contracts_dir
from rsi.store.database import store_batch
from rsi.store.ledger import Ledger
from rsi.tasks import bank, overrule
from rsi.tasks.language import language

_GIVERS = """
select trace_uid, coalesce('user ' || user_ref, 'conversation ' || conversation)
from traces_until($ordinal)
where user_ref is not null or conversation is not null
"""


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
    examiner = context.world.examiner
    known = examiner.fingerprints(home) if examiner else contracts_dir()
    screening = Screening(known, deployment, givers, overruled)
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
