"""Discover: the traces up to the night's fixed input into failure modes with a history."""

from rsi import faults
from rsi.context import Context
from rsi.discover import modes
from rsi.ids import Digest, canonical
from rsi.records import Modes
from rsi.store.database import store_batch
from rsi.store.files import write_whole


def discover(context: Context, start: Digest) -> Digest:
    """Mine the modes of the night whose start is named; the digest of what was found."""
    home, night = context.home, context.start
    previous = Modes.parse((home.modes / f"{night.previous}.json").read_bytes()) if night.previous else None
    with store_batch(home, context.world.clock, f"discover {night.night}") as connection:
        found = modes.discover(
            connection, context.deployment, night.night, night.ordinal, previous, night.champion
        )
        modes.store_modes(connection, found)
    context.world.progress("discover", found.traces, found.traces, f"{found.failures} failed")
    faults.point("discover.before_modes")
    write_whole(home.modes / f"{found.digest}.json", canonical(found.model_dump(mode="json")))
    faults.point("discover.after_modes")
    return found.digest
