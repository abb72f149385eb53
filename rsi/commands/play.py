"""The version in service at work in a small world: traffic for the nights to come."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from rsi.commands.say import Json, as_json, line
from rsi.records import Origin, Pool
from rsi.report.progress import TerminalProgress
from rsi.settings import Deployment, Home


def play(
    environment: Annotated[str, typer.Option(help="The world, for instance desk.")] = "desk",
    count: Annotated[int, typer.Option(min=1, help="Episodes.")] = 60,
    seed: Annotated[int, typer.Option(help="Another seed, other requests.")] = 1,
    role: Annotated[str, typer.Option(help="The specialist that works.")] = "L1",
    origin: Annotated[Origin, typer.Option(help="What the traces say of who caused them.")] = Origin.TRAFFIC,
    shift: Annotated[
        str | None, typer.Option(help="Names the occasion; the same one again adds nothing.")
    ] = None,
    json: Json = False,
) -> None:
    """Let the version in service work in a world. Each episode becomes a trace in the inbox, with its score."""
    from rsi.environments import kind
    from rsi.serve.shift import shift_of
    from rsi.world import real

    home = Home.find()
    deployment = Deployment.read(home.deployment_file)
    world = real(deployment, TerminalProgress())
    tasks = kind(environment).tasks(count, seed, Pool.TRAIN)
    named = shift or f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}:{seed}"
    version, tally = shift_of(home, deployment, world, tasks, role, origin, named)
    if json:
        as_json({"version": version, "shift": named, **tally._asdict()})
        return
    line(f"version {version[:12]} solved {tally.right} of {tally.episodes} tasks of {environment}")
    line(f"traces are in {home.inbox}; next: `rsi ingest {home.inbox}`, or a night")
