"""Discover: the traces up to the night's fixed input into failure modes with a history."""

from rsi import faults
from rsi.context import Context
from rsi.discover import kept, modes, names
from rsi.discover.labels import codebook_of
from rsi.discover.places import read_texts
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
    if context.deployment.discover.titles == "model":
        mined = mined._replace(modes=_named(context, mined.modes, before.previous))
    found = mined.modes
    with store_batch(home, context.world.clock, f"discover {night.night}") as connection:
        kept.store_modes(connection, mined)
    context.world.progress("discover", found.traces, found.traces, f"{found.failures} failed")
    faults.point("discover.before_modes")
    write_whole(home.modes / f"{found.digest}.json", canonical(found.model_dump(mode="json")))
    faults.point("discover.after_modes")
    return found.digest


def _named(context: Context, found: Modes, previous: Modes | None) -> Modes:
    """With names by the base model; the store is free while it thinks."""
    home, night = context.home, context.start
    wanted = {trace for one in found.modes for trace in one.examples}
    with store_batch(home, context.world.clock, f"discover {night.night}") as connection:
        texts = read_texts(connection, night.ordinal, wanted)
    return names.named(found, previous, context.world.engine(), texts)
