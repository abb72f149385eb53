"""A night whose training runs in a work pool: a real server, a real worker, and a night that is killed or cancelled."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace as Namespace
from typing import TYPE_CHECKING
from uuid import UUID

import httpx
import orjson
import pytest

from flows.processes import Process, Processes, patiently
from flows.server import Server, settings
from flows.watch import Run, Watch
from rsi.errors import BusyError, ContractError, RefusedError, RsiError, TransientError
from rsi.ids import digest
from rsi.ports import Progress, SystemClock, silent
from rsi.registry import adapters
from rsi.settings import PROJECT, Deployment, Home
from rsi.store.ledger import Ledger
from rsi.update import job as jobs
from tests.flows.flow_made import tiny_home
from tests.made import tiny_job
from tests.night_made import contracts

if TYPE_CHECKING:
    from prefect.client.schemas.objects import State

pytestmark = pytest.mark.flow

NIGHT = "2026-01-02"
TOLD = "from flows.nightly import nightly; import sys; print(nightly(sys.argv[1], sys.argv[2], return_state=True).name)"


@pytest.fixture(scope="module")
def worker(server: Server, processes: Processes) -> Iterator[Process]:
    """``prefect worker start`` on the pool of processes."""
    from flows import workers

    workers.ensure()
    command = [sys.executable, "-m", "prefect", "worker", "start", "--pool", "rsi-cpu", "--type", "process"]
    environment = {**settings(server.home, server.api_url), "PYTHONPATH": str(PROJECT), "OMP_NUM_THREADS": "1"}
    started = processes.start("worker", command, environment)
    yield started
    started.stop()
    processes.started.remove(started)


def pooled_home(root: Path, base: Path, steps: int) -> Home:
    """A tiny home whose jobs go to the pool."""
    home = tiny_home(root, base, with_traces=True)
    said = Deployment.read(home.deployment_file)
    workers = said.workers.model_copy(update={"pool": "rsi-cpu"})
    update = said.update.model_copy(update={"steps": steps, "checkpoint_every": 10})
    said.model_copy(update={"workers": workers, "update": update}).write(home.deployment_file)
    return home


def night(home: Home, server: Server, contracts: Path) -> "subprocess.Popen[str]":
    """The nightly flow in a process of its own."""
    environment = {**os.environ, **settings(server.home, server.api_url), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", TOLD, str(home.root), NIGHT],
        env={**environment, "RSI_CONTRACTS": str(contracts)},
        cwd=PROJECT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def steps(home: Home) -> list[int]:
    """Steps that the home's only job has logged."""
    logs = list(home.jobs.glob("*/metrics.jsonl"))
    return [orjson.loads(line)["step"] for one in logs for line in one.read_bytes().splitlines()]


def job_run(home: Home, watch: Watch, attempt: int = 1) -> Run | None:
    """The run of the home's only job."""
    places = [str(path.parent) for path in home.jobs.glob("*/job.json")]
    return watch.keyed(f"job:{digest(['rsi-cpu', places[0]])}:{attempt}") if places else None


@pytest.fixture
def tried(server: Server, tmp_path: Path) -> UUID:
    """A job's run that no worker takes."""
    from flows import pool, workers

    workers.ensure()
    return pool.submit("rsi-gpu", str(tmp_path))


def put(run: UUID, state: "State[None]") -> None:
    """Have a run be in a state, whatever it was in."""
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        client.set_flow_run_state(run, state, force=True)


def test_a_job_has_one_run_until_that_is_over(tried: UUID, watch: Watch, tmp_path: Path) -> None:
    """Whoever submits it again finds it; after a crash it gets a second one. The run is told where the job lies."""
    from prefect.states import Crashed

    from flows import pool

    assert pool.submit("rsi-gpu", str(tmp_path)) == tried
    put(tried, Crashed())
    second = pool.submit("rsi-gpu", str(tmp_path))
    assert second != tried
    assert pool.submit("rsi-gpu", str(tmp_path)) == second
    with pytest.raises(ContractError, match=r"flows\.deploy"):
        pool.submit("no-such-pool", str(tmp_path))


def test_a_run_that_is_being_stopped_is_nobodys(tried: UUID, watch: Watch, tmp_path: Path) -> None:
    """Whoever comes meanwhile gets one of their own, and does not end with it."""
    from prefect.states import Cancelled, Cancelling

    from flows import pool

    put(tried, Cancelling())
    second = pool.submit("rsi-gpu", str(tmp_path))
    assert second != tried
    put(tried, Cancelled())


def test_a_night_whose_time_is_over_stops_its_run(
    tried: UUID, watch: Watch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Prefect ends a task: by an exception that is no ordinary one."""
    from prefect import flow, task

    from flows import pool

    stopped: list[UUID] = []
    monkeypatch.setattr(pool, "submit", lambda *where: tried)
    monkeypatch.setattr(pool, "done", lambda place: None)
    monkeypatch.setattr(pool, "read", lambda place: Namespace(digest="0" * 64))
    monkeypatch.setattr(pool, "cancel", stopped.append)
    monkeypatch.setattr(pool, "follow", lambda run, progress: time.sleep(4))
    stage = task(timeout_seconds=1)(lambda: pool.PoolTrainer("rsi-gpu", "")(tmp_path, silent))

    assert flow(lambda: stage(return_state=True).type.value)() == "FAILED"
    assert stopped == [tried]


def test_a_run_is_followed_with_its_counts_to_its_end(
    tried: UUID, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the run's progress artifact says is passed on, and its last state handed back."""
    from prefect.states import Completed

    from flows import pool

    said = "update: 12 of 160 (reward 0.52, 3 groups without signal), 4 min left"
    artifact = {"key": "progress-update", "type": "progress", "data": 7.5, "description": said}
    httpx.post(f"{server.api_url}/artifacts/", json={**artifact, "flow_run_id": str(tried)}).raise_for_status()
    monkeypatch.setattr(pool, "EVERY_S", 0.0)
    heard: list[tuple[str, int, int, str]] = []

    def progress(what: str, done: int, total: int, note: str = "") -> None:
        heard.append((what, done, total, note))
        if what == "update":
            put(tried, Completed(message="adapter L0-1"))

    assert pool.follow(tried, progress).message == "adapter L0-1"
    assert heard == [
        ("worker", 0, 1, "waiting for one"),
        ("update", 12, 160, "reward 0.52, 3 groups without signal"),
    ]


def test_7_how_a_run_ended_is_how_the_job_ended(tried: UUID) -> None:
    """Our own errors keep their class, a dead worker may be followed by another, a person's stop is final."""
    from prefect.states import Cancelled, Completed, Crashed, Failed

    from flows import pool

    pool.judge(tried, Completed())
    for state, error, said in (
        (Failed(name="RefusedError", message="training diverged"), RefusedError, "training diverged"),
        (Failed(name="ContractError", message="no such base"), ContractError, "no such base"),
        (Failed(name="BusyError", message="worked on by another"), BusyError, "another"),
        (Crashed(message="out of memory"), TransientError, "goes on from its checkpoint"),
        (Cancelled(), RefusedError, "was cancelled"),
        (Failed(message="KeyError"), RsiError, "KeyError"),
    ):
        with pytest.raises(error, match=said) as found:
            pool.judge(tried, state)
        assert type(found.value) is error


def test_a_job_is_brought_to_its_store_and_its_results_are_fetched(
    server: Server, tiny_base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever works at the URL needs nothing of the home; a job that is done is submitted no more."""
    from prefect import flow
    from prefect.states import Completed

    from flows import pool, workers
    from rsi.update.remote import work_at

    workers.ensure()
    monkeypatch.setenv("RSI_CACHE", str(tmp_path / "cache"))
    home = Home(tmp_path / "home")
    job = tiny_job(home, tiny_base, steps=2)
    place = jobs.submit(home, job)
    followed: list[UUID] = []

    def follow(run: UUID, progress: Progress) -> "State[None]":
        followed.append(run)
        work_at(f"memory://store/{job.digest}", None, progress)
        return Completed()

    monkeypatch.setattr(pool, "follow", follow)

    @flow
    def night() -> None:
        for _ in range(2):
            pool.PoolTrainer("rsi-gpu", "memory://store/")(place, silent)

    night()
    end = jobs.done(place)
    assert end is not None and (place / "adapter" / "adapter.json").exists()
    assert len(followed) == 1


def test_cancelling_a_run_that_no_worker_has_taken_ends_it(tried: UUID, watch: Watch) -> None:
    """It will never start."""
    from flows import pool

    pool.cancel(tried)
    assert watch.until(lambda: one if (one := watch.run(str(tried))).over else None, 30).state.name == "Cancelled"


@pytest.mark.slow
def test_a_night_that_is_killed_finds_its_job_again_and_nothing_is_trained_twice(
    server: Server, watch: Watch, worker: Process, tiny_base: Path, tmp_path: Path
) -> None:
    """SIGKILL while the job runs, the job goes on; the same night run again follows it to one adapter."""
    home = pooled_home(tmp_path / "home", tiny_base, steps=200)
    rules = contracts(tmp_path / "contracts")
    first = night(home, server, rules)
    assert patiently(lambda: len(steps(home)) > 5 or first.poll() is not None, 240)
    assert first.poll() is None, first.communicate()[0]
    first.kill()
    first.wait()
    run = watch.until(lambda: job_run(home, watch), 10)
    assert run.state.name == "Running"

    said, _ = (again := night(home, server, rules)).communicate(timeout=240)
    assert again.returncode == 0, said
    ended = watch.run(run.id)
    assert (ended.state.name, job_run(home, watch, 2)) == ("Completed", None)
    (place,) = home.jobs.glob("*/job.json")
    end = jobs.done(place.parent)
    assert end is not None and end.adapter is not None
    assert [path.name for path in home.adapters.iterdir()] == [end.adapter]
    assert adapters.describe(home, end.adapter).role
    assert steps(home) == list(range(1, end.steps + 1))
    kinds = [one.stage for one in Ledger(home.ledger, SystemClock()) if one.kind == "stage"]
    assert kinds == ["discover", "expand", "update", "gate"]


@pytest.mark.slow
def test_a_cancelled_night_cancels_its_job_and_another_goes_on_from_its_checkpoint(
    server: Server,
    watch: Watch,
    worker: Process,
    processes: Processes,
    tiny_base: Path,
    tmp_path: Path,
) -> None:
    """Cancelled in Prefect, as a person does it; the next run of the job takes its second key."""
    from prefect.client.orchestration import get_client
    from prefect.deployments import run_deployment
    from prefect.states import Cancelling

    home = pooled_home(tmp_path / "home", tiny_base, steps=600)
    command = [sys.executable, "-m", "flows.deploy", "--home", str(home.root), "--paused"]
    rules = contracts(tmp_path / "contracts")
    serving = processes.start(
        "serving", command, {**settings(server.home, server.api_url), "RSI_CONTRACTS": str(rules)}
    )
    watch.until(lambda: watch.served("nightly/tiny") or None, 120)
    nightly = run_deployment("nightly/tiny", parameters={"night": NIGHT}, as_subflow=False, timeout=0)
    assert patiently(lambda: len(steps(home)) > 25, 240)
    with get_client(sync_client=True) as client:
        client.set_flow_run_state(nightly.id, Cancelling())

    def over() -> bool:
        run = job_run(home, watch)
        return run is not None and run.over and watch.run(str(nightly.id)).over

    assert patiently(over, 120)
    run = job_run(home, watch)
    assert run is not None
    assert (run.state.name, watch.run(str(nightly.id)).state.name) == ("Cancelled", "Cancelled")
    before = len(steps(home))
    assert before < 600
    serving.stop()
    processes.started.remove(serving)

    again = night(home, server, rules)
    said, _ = again.communicate(timeout=300)
    assert again.returncode == 0, said
    second = job_run(home, watch, 2)
    assert second is not None and second.state.name == "Completed"
    assert UUID(second.id) != UUID(run.id)
    assert steps(home) == list(range(1, len(steps(home)) + 1))


