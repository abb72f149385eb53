"""The night as one flow: the stages as subflows, the card, and the question to a person.

The night is the UTC date of the scheduled start; a run started by hand takes the next one that is not over.
It is single by the night lock: a second one at the same time ends as *Skipped*, naming the holder. It is not
retried: a night that is run again finds in the ledger what is done.
"""

from pathlib import Path

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.context import FlowRunContext
from prefect.states import Completed

from flows.asking import ask
from flows.evidence import show_card
from flows.progress import ArtifactProgress
from flows.stages import QUIET, SKIPPED, STAGES, Ended, made, over, retried
from rsi import night as loop
from rsi.commands.loop import next_night
from rsi.context import World
from rsi.errors import QuietError, RefusedError
from rsi.ids import Night
from rsi.ids import night as night_of
from rsi.records import Judgement
from rsi.settings import Deployment, Home
from rsi.world import real


@flow(name="nightly", retries=0, persist_result=True, result_serializer="json")
def nightly(home: str, night: str | None = None) -> State[None]:
    """Discover, expand, update, gate; then ask for an approval of what passed."""
    place = Home.find(Path(home))
    tonight = night_of(night) if night else _scheduled(place)
    try:
        with loop.lock(place, _world(place), tonight):
            reason = _stages(place, tonight)
            state = Completed(name=QUIET, message=reason) if reason else _closed(place, tonight)
            ask(place, f"night {tonight}")
            return state
    except QuietError as busy:
        return Completed(name=SKIPPED, message=str(busy))


def _scheduled(place: Home) -> Night:
    """The night of this run: the date it was scheduled for, or the next one where a person started it."""
    context = FlowRunContext.get()
    run = context.flow_run if context else None
    if run is not None and run.auto_scheduled and run.expected_start_time is not None:
        return night_of(run.expected_start_time)
    return next_night(place)


def _world(place: Home) -> World:
    return real(Deployment.read(place.deployment_file), ArtifactProgress())


def _stages(place: Home, night: Night) -> str | None:
    """Run them all; why the night ends early, if it does."""
    begun: Ended = begin(str(place.root), night)
    if begun["reason"]:
        return begun["reason"]
    for stage in STAGES:
        state = stage(str(place.root), night, return_state=True)
        if state.name in (QUIET, SKIPPED):
            return str(end_quietly(str(place.root), night, state.message))
        try:
            state.result()
        except RefusedError as refused:
            end_quietly(str(place.root), night, str(refused))
            raise
    return None


@retried
def begin(home: str, night: str) -> Ended:
    """Ingest the inbox and fix the night's input."""
    place, tonight = Home.find(Path(home)), night_of(night)
    deployment, world = Deployment.read(place.deployment_file), _world(place)
    try:
        return made(loop.begin(place, deployment, world, tonight).start.digest)
    except QuietError as quiet:
        return over(loop.end_quietly(place, world, tonight, str(quiet)).reason, "Quiet")


@retried
def end_quietly(home: str, night: str, reason: str) -> str:
    """Write down why the night ends early; the reason."""
    place = Home.find(Path(home))
    return loop.end_quietly(place, _world(place), night_of(night), reason).reason


@retried
def close(home: str, night: str) -> dict[str, str | None]:
    """End the night and open the request."""
    place, tonight = Home.find(Path(home)), night_of(night)
    deployment, world = Deployment.read(place.deployment_file), _world(place)
    ending = loop.close(loop.begin(place, deployment, world, tonight))
    return {"verdict": ending.verdict, "judgement": ending.judgement, "reason": ending.reason}


def _closed(place: Home, night: Night) -> State[None]:
    ending = close(str(place.root), night)
    if ending["verdict"]:
        show_card(place, ending["verdict"])
    name = "Passed" if ending["judgement"] == Judgement.PASS.value else "Not passed"
    return Completed(name=name, message=ending["reason"])
