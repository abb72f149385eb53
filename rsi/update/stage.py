"""Update: the night's bank into a candidate version with a new adapter."""

from collections import Counter

from rsi import faults
from rsi.context import Context
from rsi.errors import QuietError
from rsi.ids import Digest
from rsi.registry import versions


def update(context: Context, bank: Digest) -> Digest:
    """Train the deployment's role on the bank; the digest of the candidate version.

    Raises:
        QuietError: the bank has no task that can be trained, or no group of answers ever carried a signal.
    """
    from rsi.tasks import bank as tasks
    from rsi.update.job import TRAINED, Job, submit
    from rsi.update.worker import work

    home, settings = context.home, context.deployment.update
    hops = Counter(one.hop for one in tasks.load(home, bank))
    if not hops[TRAINED]:
        raise QuietError(
            f"bank {bank[:12]} has no {TRAINED} task, which is what role {settings.role} is trained on; it keeps "
            f"{', '.join(f'{count} of hop {hop}' for hop, count in sorted(hops.items()))}"
        )
    champion = versions.load(home, context.start.champion)
    base = context.world.base()
    job = Job(
        base=base.digest,
        base_name=context.deployment.base,
        role=settings.role,
        warm_start=champion.adapters.get(settings.role),
        frozen=tuple(name for role, name in sorted(champion.adapters.items()) if role != settings.role),
        bank=bank,
        harness=champion.harness,
        settings=settings,
    )
    submit(home, job)
    faults.point("update.after_submit")
    end = work(home, job, base.folder, context.world.progress)
    if end.adapter is None:
        raise QuietError(
            f"no candidate: none of {end.steps} training steps found a group of answers with a signal"
        )
    adapters = {**champion.adapters, settings.role: end.adapter}
    candidate = champion.model_copy(update={"adapters": adapters, "parent": context.start.champion})
    return versions.save(home, candidate)
