"""What a training job's model said, for people to read."""

from pathlib import Path
from typing import Annotated

import typer

from rsi.commands.say import Json, as_json, line
from rsi.errors import ContractError
from rsi.settings import Home


def rollouts(
    job: Annotated[
        str | None,
        typer.Argument(help="Beginning of the job's digest; the one that changed last by default."),
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="How many to show, spread over the run.")] = 5,
    step: Annotated[int | None, typer.Option(help="Only those of one step.")] = None,
    wrong: Annotated[bool, typer.Option("--wrong", help="Only those without a full reward.")] = False,
    json: Json = False,
) -> None:
    """Show some of a job's rollouts in full, as the model read and said them; also while it runs."""
    from rsi.update.rollouts import readable

    place = _found(Home.find(), job or "")
    kept = [
        one
        for one in readable(place)
        if (step is None or one.step == step) and not (wrong and one.reward is not None and one.reward >= 1)
    ]
    # Evenly over the run, so that one sees how it changed.
    shown = [kept[at * len(kept) // min(count, len(kept))] for at in range(min(count, len(kept)))]
    if json:
        as_json({"job": place.name, "kept": len(kept), "rollouts": [one._asdict() for one in shown]})
        return
    line(f"job {place.name[:12]}: {len(shown)} of {len(kept)} rollouts that were kept to be read")
    for one in shown:
        reward = "no reward" if one.reward is None else f"reward {one.reward:g}"
        line(f"\n--- step {one.step}, task {one.task_id}: {reward}, {one.outcome}, ended by {one.stop}")
        for said in one.text.splitlines():
            line(said)


def finished(home: Home, start: str) -> Path:
    """The file with all rollouts of a job that is complete, by the beginning of its digest.

    Raises:
        ContractError: there is no such job, or it has none.
    """
    from rsi.update.job import done
    from rsi.update.rollouts import FILE

    place = _found(home, start)
    path = place / FILE
    if done(place) is None or not path.exists():
        raise ContractError(f"{path} is missing: the job is not complete, or it drew no rollouts")
    return path


def _found(home: Home, start: str) -> Path:
    known = home.jobs.glob(f"{start}*/job.json") if not start or start.isalnum() else ()
    places = [path.parent for path in known]
    if start and len(places) > 1:
        raise ContractError(f"{len(places)} jobs begin with {start!r}; write more of the digest")
    if not places:
        raise ContractError(f"no job{f' {start}' if start else ''} in {home.jobs}; `rsi update` makes one")
    return max(places, key=lambda path: path.stat().st_mtime)
