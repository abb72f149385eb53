"""Discover: the traces up to the night's fixed input into failure modes with a history."""

from rsi import faults
from rsi.context import Context
from rsi.discover import kept, modes
from rsi.discover.labels import codebook_of
from rsi.ids import Digest, canonical
from rsi.records import Modes
from rsi.store.database import store_batch
from rsi.store.files import write_whole
from rsi.store.ledger import Ledger


def discover(context: Context, start: Digest) -> Digest:
    """Mine the modes of the night whose start is named; the digest of what was found."""
    home, night = context.home, context.start
    before = modes.Before(
        night=night.night,
        champion=night.champion,
        until=night.ordinal,
        previous=Modes.parse((home.modes / f"{night.previous}.json").read_bytes())
        if night.previous
        else None,
        codebook=codebook_of(Ledger(home.ledger, context.world.clock), night.night),
    )
    with store_batch(home, context.world.clock, f"discover {night.night}") as connection:
        mined = modes.discover(connection, context.deployment.traces.origins, before)
        kept.store_modes(connection, mined)
    found = mined.modes
    context.world.progress("discover", found.traces, found.traces, f"{found.failures} failed")
    faults.point("discover.before_modes")
    write_whole(home.modes / f"{found.digest}.json", canonical(found.model_dump(mode="json")))
    faults.point("discover.after_modes")
    return found.digest
