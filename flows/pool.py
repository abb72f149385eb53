"""Training in a work pool: one run for each job, found again by its key, followed, and cancelled with its night."""

import asyncio
import time
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from uuid import UUID

import httpx
from prefect import runtime
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterFlowRunId, ArtifactFilterType
from prefect.client.schemas.objects import State, StateType
from prefect.deployments import run_deployment
from prefect.exceptions import ObjectNotFound, PrefectException, TerminationSignal
from prefect.logging import get_run_logger
from prefect.states import Cancelling

from rsi.errors import (
    BusyError,
    ContractError,
    IntegrityError,
    QuietError,
    RefusedError,
    RsiError,
    TransientError,
)
from rsi.ids import digest
from rsi.ports import Progress
from rsi.report.progress import heard
from rsi.update import depot
from rsi.update.job import done, read

EVERY_S = 2.0
AWAY_S = 900.0
"""How long the server may be away before a night stops following; the job goes on all the same."""
ERRORS = {
    one.__name__: one
    for one in (BusyError, ContractError, IntegrityError, QuietError, RefusedError, TransientError)
}
"""What a run's failed state may be named by (`flows.job`)."""


@dataclass(frozen=True)
class PoolTrainer:
    """A `rsi.ports.Trainer` that has jobs worked on by the workers of a pool."""

    pool: str
    store: str
    """URL under which jobs are brought to them; empty where they share this folder."""

    def __call__(self, place: Path, progress: Progress) -> None:
        """Submit the job, or find its run; follow it, and fetch what it made."""
        if done(place) is not None:
            return
        url = f"{self.store.rstrip('/')}/{read(place).digest}" if self.store else ""
        there = depot.bring(place, url) if url else None
        night, log = runtime.flow_run.root_flow_run_id, get_run_logger()
        run = submit(self.pool, url or str(place))
        try:
            log.info("job %s is run %s of pool %s", read(place).digest[:12], run, self.pool)
            ended = follow(run, progress)
        except (TimeoutError, asyncio.CancelledError):
            # The second is how Prefect ends a task whose time is over.
            cancel(run)
            raise
        except (TerminationSignal, KeyboardInterrupt):
            # A machine that goes down takes no job with it; a person who cancels the night does.
            if night and _state(UUID(night)) in (StateType.CANCELLING, StateType.CANCELLED):
                cancel(run)
            raise
        judge(run, ended)
        if there is not None:
            depot.collect(there, place)


def submit(pool: str, place: str) -> UUID:
    """The run of a job: the one that is neither over nor being stopped, else a new one; the key says which.

    Raises:
        ContractError: the pool has no such deployment.
    """
    for attempt in count(1):
        try:
            run = run_deployment(
                f"job/{pool}",
                parameters={"place": place},
                idempotency_key=f"job:{digest([pool, place])}:{attempt}",
                as_subflow=False,
                timeout=0,
            )
        except ObjectNotFound:
            raise ContractError(
                f"pool {pool} has no deployment job/{pool}; `python -m flows.deploy` makes it"
            ) from None
        if run.state is None or not (run.state.is_final() or run.state.is_cancelling()):
            return UUID(str(run.id))
    raise AssertionError("unreachable")


def follow(run: UUID, progress: Progress) -> State[None]:
    """Pass on what a run tells of itself until it is over; its last state.

    Raises:
        TransientError: the server is away.
    """
    heard_at, waits = time.monotonic(), False
    with get_client(sync_client=True) as client:
        while True:
            try:
                state = client.read_flow_run(run).state
                if state is not None and state.is_final():
                    return state
                if (state is not None and state.is_scheduled()) or waits:
                    waits = state is not None and state.is_scheduled()
                    progress("worker", 0 if waits else 1, 1, "waiting for one" if waits else "at work")
                _relay(client, run, progress)
                heard_at = time.monotonic()
            except (httpx.HTTPError, PrefectException) as error:
                if time.monotonic() - heard_at > AWAY_S:
                    raise TransientError(
                        f"Prefect is away; run {run} may still be at work: {error}"
                    ) from None
            time.sleep(EVERY_S)


def _relay(client: SyncPrefectClient, run: UUID, progress: Progress) -> None:
    of_run = ArtifactFilter(
        flow_run_id=ArtifactFilterFlowRunId(any_=[run]), type=ArtifactFilterType(any_=["progress"])
    )
    for artifact in client.read_artifacts(artifact_filter=of_run, sort="UPDATED_DESC", limit=1):
        said = heard(artifact.description or "")
        if said is not None:
            progress(*said)


def judge(run: UUID, state: State[None]) -> None:
    """Raise what ended a run before its job was done, if anything did."""
    message = state.message or state.name
    if state.type is StateType.COMPLETED:
        return
    if state.type is StateType.CANCELLED:
        raise RefusedError(f"run {run} of the job was cancelled in Prefect")
    if state.type is StateType.CRASHED:
        raise TransientError(
            f"the worker of run {run} died ({message}); another one goes on from its checkpoint"
        )
    raise ERRORS.get(str(state.name), RsiError)(message)


def cancel(run: UUID) -> None:
    """Ask the run's worker to stop it."""
    with get_client(sync_client=True) as client:
        client.set_flow_run_state(run, Cancelling())


def _state(run: UUID) -> StateType | None:
    with get_client(sync_client=True) as client:
        return client.read_flow_run(run).state_type
