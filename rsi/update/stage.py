"""Update: the night's bank into a candidate version with a new adapter."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from rsi import faults
from rsi.algorithm import Update
from rsi.context import Base, Context, World
from rsi.errors import ContractError, IntegrityError, QuietError
from rsi.ids import Digest, digest_file
from rsi.registry import versions
from rsi.settings import Deployment, Home
from rsi.tasks.prompt import ROUTE, TOOL
from rsi.tasks.worlds import HOP
from rsi.update.tonight import tonight

if TYPE_CHECKING:
    from rsi.update.job import Done

TRAINED = (ROUTE, HOP, TOOL)
"""Hops of tasks that the trainer takes."""
NIGHTLY = (ROUTE, HOP)
"""Hops that a night trains by itself."""


def update(context: Context, bank: Digest) -> Digest:
    """Train one role on the bank; the digest of the candidate version.

    Raises:
        QuietError: no task can be trained, no role is to be, or training left no adapter; the message says why.
    """
    from rsi.tasks import bank as banks

    home, champion = context.home, context.start.champion
    tasks = banks.load(home, bank)
    hops = Counter(one.hop for one in tasks)
    if not any(hops[one] for one in NIGHTLY):
        raise QuietError(
            f"bank {bank[:12]} has no task of hop {' or '.join(NIGHTLY)}, which is what a night trains; it keeps "
            f"{', '.join(f'{count} of hop {hop}' for hop, count in sorted(hops.items()))}"
        )
    before = versions.load(home, champion)
    chosen = tonight(context, bank, [one for one in tasks if one.hop in NIGHTLY], before)
    settings = context.deployment.update_of(chosen.role, begun=chosen.role in before.adapters)
    return train(
        home, context.deployment, context.world, Digest(champion), bank, chosen.role, chosen.hop, settings
    )


def train(
    home: Home,
    deployment: Deployment,
    world: World,
    parent: Digest,
    bank: Digest,
    role: str,
    hop: str,
    settings: Update,
    rollouts: Path | None = None,
) -> Digest:
    """Train a role on the tasks of one hop in a bank; the digest of a version that differs from its parent by that.

    `rollouts` is a file of an earlier job's, whose successes this one is shown.

    Raises:
        QuietError: training left no adapter; the message says why.
        ContractError: the bank has no such task, or the trainer does not take it.
    """
    from rsi.update.job import Job, collect, submit

    if hop not in TRAINED:
        raise ContractError(
            f"tasks of hop {hop} cannot be trained; the trainer takes {', '.join(TRAINED)}. Write the bank for "
            "another trainer: rsi bank export"
        )
    before = versions.load(home, parent)
    base = world.base()
    job = Job(
        base=base.digest,
        base_name=deployment.base,
        role=role,
        hop=hop,
        warm_start=before.adapters.get(role),
        frozen=tuple(name for one, name in sorted(before.adapters.items()) if one != role),
        bank=bank,
        harness=before.harness,
        settings=settings,
        shown=digest_file(rollouts) if rollouts else None,
    )
    place = submit(home, job, rollouts)
    faults.point("update.after_submit")
    end = _worked(place, base, world)
    if end.adapter is None:
        raise QuietError(f"no candidate: training stopped: {end.ended}")
    collect(home, place, end)
    adapters = {**before.adapters, role: end.adapter}
    return versions.save(home, before.model_copy(update={"adapters": adapters, "parent": parent}))


def _worked(place: Path, base: Base, world: World) -> "Done":
    """Have the job worked on, here or by the world's trainer."""
    from rsi.update.job import done
    from rsi.update.worker import work

    if world.trainer is None:
        return work(place, base.folder, world.progress)
    world.trainer(place, world.progress)
    end = done(place)
    if end is None:
        raise IntegrityError(f"whoever worked on {place} left no complete.json; run the stage again")
    return end
