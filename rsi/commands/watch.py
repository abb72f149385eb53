"""`rsi watch`: how the version in service does, against the one before it."""

import typer

from rsi.commands.loop import next_night
from rsi.commands.say import Json, as_json, line
from rsi.questions import State
from rsi.report.progress import TerminalProgress
from rsi.settings import Deployment, Home
from rsi.store.locks import hold


def watch(json: Json = False) -> None:
    """Read the inbox, and look at live failures since the promotion, as every night does first.

    Exit code 1 where the version in service fails more: a person was asked, or the version before is back.
    """
    from functools import partial

    from rsi.gate.watch import watch as look
    from rsi.serve.client import replicas
    from rsi.store.snapshot import refresh
    from rsi.traces.ingest import ingest
    from rsi.world import real

    home = Home.find()
    deployment = Deployment.read(home.deployment_file)
    world = real(deployment, TerminalProgress())
    night = next_night(home)
    with hold(home.night_lock, "watch", world.clock.now().isoformat(timespec="seconds")):
        if home.inbox.is_dir():
            ingest(home, world.clock, [home.inbox], deployment=deployment, progress=world.progress)
        found = look(home, deployment, world, night, partial(replicas, home, world.engine))
    refresh(home, world.clock)
    if json:
        said = found.look.model_dump(mode="json") if found.look else None
        as_json({"state": found.state.value, "reason": found.reason, "verdict": found.verdict, "look": said})
    else:
        line(found.reason)
    if found.state in (State.ASKED, State.BACK):
        raise typer.Exit(1)
