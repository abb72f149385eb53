"""Update: the night's bank into a candidate version with a new adapter."""

from rsi import faults
from rsi.context import Context
from rsi.errors import QuietError
from rsi.ids import Digest
from rsi.registry import versions


def update(context: Context, bank: Digest) -> Digest:
    """Train the deployment's role on the bank; the digest of the candidate version.

    Raises:
        QuietError: training left no adapter; the message says why.
    """
    from rsi.update.job import Job, collect, submit
    from rsi.update.worker import work

    home, settings = context.home, context.deployment.update
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
    place = submit(home, job)
    faults.point("update.after_submit")
    end = work(place, base.folder, context.world.progress)
    if end.adapter is None:
        raise QuietError(f"no candidate: training stopped: {end.ended}")
    collect(home, place, end)
    adapters = {**champion.adapters, settings.role: end.adapter}
    candidate = champion.model_copy(update={"adapters": adapters, "parent": context.start.champion})
    return versions.save(home, candidate)
