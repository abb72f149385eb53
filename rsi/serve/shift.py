"""A shift in a small world: the version in service, its harness's rules, and the home's inbox to write into."""

from collections.abc import Sequence

from rsi.context import World
from rsi.engine.chat import Dialogue
from rsi.engine.weights import read_tokenizer
from rsi.errors import ContractError
from rsi.harness import hcp
from rsi.harness.loop import Table
from rsi.ids import Digest
from rsi.records import Origin, WorldTask
from rsi.registry import champion, versions
from rsi.registry.loaded import able
from rsi.serve.episodes import Tally, Worker, judged, work
from rsi.settings import Deployment, Home
from rsi.traces.spool import Spool


def shift_of(
    home: Home,
    deployment: Deployment,
    world: World,
    tasks: Sequence[WorldTask],
    role: str,
    origin: Origin,
    named: str,
) -> tuple[Digest, Tally]:
    """Have the version in service play the tasks; its digest, and how it went.

    Raises:
        ContractError: its harness has no such role.
        RefusedError: an adapter of it is not admitted.
    """
    name = champion.point(home, world.clock)
    version = versions.load(home, name)
    harness = hcp.load(home.harnesses, version.harness)
    if role not in harness.roles:
        raise ContractError(f"{role!r} is none of the harness's roles: {', '.join(harness.roles)}")
    by = Worker(name, role, version.adapters.get(role), deployment.traces.namespace, origin)
    table = Table(Dialogue(read_tokenizer(world.base().folder)), harness.agent, judged)
    spool = Spool(home.inbox, "episodes", clock=world.clock)
    try:
        tally = work(tasks, by, table, able(home, world, [version]), spool, world.clock, named, world.progress)
    finally:
        spool.close()
    return name, tally
