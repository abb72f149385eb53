"""One flow a stage: discover, expand, update, gate. What they do is `rsi.night`'s.

A stage flow takes the home and the night, and returns the digest of what the stage made. A night that should
end early ends the flow as *Quiet*, one that another night keeps out as *Skipped*; both are completed runs
whose message is the reason. What a stage did is in the ledger, so a run that is repeated finds it done.
"""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Literal, TypedDict

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun
from prefect.states import Completed
from prefect.tasks import Task

from flows.evidence import show_scorecard
from flows.pool import PoolTrainer
from flows.progress import ArtifactProgress
from rsi import night as loop
from rsi.errors import QuietError, TransientError
from rsi.ids import night as night_of
from rsi.ports import Trainer
from rsi.settings import Deployment, Home
from rsi.world import real

QUIET, SKIPPED = "Quiet", "Skipped"
"""Names of the completed states of a run that had nothing to do, or was kept out."""

TIMEOUTS = {
    "discover": timedelta(hours=1),
    "expand": timedelta(hours=1),
    "update": timedelta(hours=12),
    "gate": timedelta(hours=4),
}
"""After which a stage counts as hung."""

RETRY_DELAYS_S = [10, 60, 300]
"""Before each new try of what failed for a moment."""


class Ended(TypedDict):
    """How a task of the night ended; exactly one of the first two is there."""

    made: str | None
    """Digest."""
    reason: str | None
    """Why the night ends here."""
    state: Literal["Quiet", "Skipped"]
    """Name of the run's state where there is a reason."""


def made(digest: str | None) -> Ended:
    """The work was done."""
    return Ended(made=digest, reason=None, state="Quiet")


def over(reason: str, state: Literal["Quiet", "Skipped"]) -> Ended:
    """The night ends here."""
    return Ended(made=None, reason=reason, state=state)


def transient(_: Task[..., object], __: TaskRun, state: State[object]) -> bool:
    """Whether a failure may pass by itself; everything else fails at once."""
    try:
        state.result()
    except TransientError:
        return True
    except BaseException:
        return False
    return False


retried = task(
    retries=len(RETRY_DELAYS_S),
    retry_delay_seconds=RETRY_DELAYS_S,
    retry_condition_fn=transient,
    cache_policy=NO_CACHE,
    persist_result=True,
    result_serializer="json",
)
"""A task that is tried again after a TransientError. Nothing is cached: the ledger knows what is done."""


@retried
def stage(home: str, night: str, name: str) -> Ended:
    """Do one stage under the night lock, or find it done."""
    place, tonight = Home.find(Path(home)), night_of(night)
    deployment = Deployment.read(place.deployment_file)
    world = replace(real(deployment, ArtifactProgress()), trainer=_trainer(deployment))
    try:
        with loop.lock(place, world, tonight):
            try:
                context = loop.begin(place, deployment, world, tonight)
                return made(loop.run_stage(context, name))
            except QuietError as quiet:
                return over(str(quiet), "Quiet")
    except QuietError as busy:
        return over(str(busy), "Skipped")


def _trainer(deployment: Deployment) -> Trainer | None:
    """Who works on training jobs: the pool that the deployment names, or this process."""
    said = deployment.workers
    return PoolTrainer(said.pool, said.store) if said.pool else None


def _run(name: str, home: str, night: str) -> str | State[None]:
    limit = TIMEOUTS[name].total_seconds()
    ended = stage.with_options(name=name, timeout_seconds=limit)(home, night, name)
    if ended["reason"] is not None:
        return Completed(name=ended["state"], message=ended["reason"])
    return str(ended["made"])


@flow(name="discover", flow_run_name="discover-{night}", persist_result=True, result_serializer="json")
def discover(home: str, night: str) -> str | State[None]:
    """Failure modes from the night's traces; their digest."""
    return _run("discover", home, night)


@flow(name="expand", flow_run_name="expand-{night}", persist_result=True, result_serializer="json")
def expand(home: str, night: str) -> str | State[None]:
    """The failure modes into a bank of verified tasks; its digest."""
    return _run("expand", home, night)


@flow(name="update", flow_run_name="update-{night}", persist_result=True, result_serializer="json")
def update(home: str, night: str) -> str | State[None]:
    """The bank into a candidate version; its digest."""
    return _run("update", home, night)


@flow(name="gate", flow_run_name="gate-{night}", persist_result=True, result_serializer="json")
def gate(home: str, night: str) -> str | State[None]:
    """The candidate into a verdict, shown as a table; its digest."""
    ended = _run("gate", home, night)
    if isinstance(ended, str):
        show_scorecard(Home.find(Path(home)), ended)
    return ended


STAGES = (discover, expand, update, gate)
"""In the order of the night."""
