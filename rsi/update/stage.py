"""Update: the night's bank into a candidate version with a new adapter."""

from collections import Counter

from rsi import faults
from rsi.context import Context
from rsi.errors import QuietError
from rsi.ids import Digest
from rsi.registry import versions
from rsi.update.tonight import tonight


def update(context: Context, bank: Digest) -> Digest:
    """Train one role on the bank; the digest of the candidate version.

    Raises:
        QuietError: no task can be trained, no role is to be, or training left no adapter; the message says why.
    """
    from rsi.tasks import bank as banks
    from rsi.update.job import TRAINED, Job, collect, submit
    from rsi.update.worker import work

    home, settings = context.home, context.deployment.update
    tasks = banks.load(home, bank)
    hops = Counter(one.hop for one in tasks)
    if not hops[TRAINED]:
        raise QuietError(
            f"bank {bank[:12]} has no {TRAINED} task, which is all that can be trained; it keeps "
            f"{', '.join(f'{count} of hop {hop}' for hop, count in sorted(hops.items()))}"
        )
    champion = versions.load(home, context.start.champion)
    role = tonight(context, bank, [one for one in tasks if one.hop == TRAINED], champion)
    base = context.world.base()
    job = Job(
        base=base.digest,
        base_name=context.deployment.base,
        role=role,
        warm_start=champion.adapters.get(role),
        frozen=tuple(name for one, name in sorted(champion.adapters.items()) if one != role),
        bank=bank,
        harness=champion.harness,
        settings=settings,
    )
    place = submit(home, job)
    faults.point("update.after_submit")
    end = work(place, base.folder, context.world.progress)
    if end.adapter is None:
        raise QuietError(f"no candidate: training stopped: {end.ended}")
    collect(home, place, end)
    adapters = {**champion.adapters, role: end.adapter}
    candidate = champion.model_copy(update={"adapters": adapters, "parent": context.start.champion})
    return versions.save(home, candidate)
