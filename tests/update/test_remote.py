"""Jobs at a URL: a real S3 API on this machine, workers in processes of their own, and what a kill leaves behind."""

import os
import shutil
import signal
import subprocess
import sys
import time

import fsspec
import orjson
import pytest
import torch
from moto.server import ThreadedMotoServer

from rsi.errors import BusyError, ContractError, IntegrityError, TransientError
from rsi.ports import silent
from rsi.registry import adapters
from rsi.settings import PROJECT
from rsi.update import depot as depots
from rsi.update import job as jobs
from rsi.update import remote
from rsi.update.claim import claim
from rsi.update.depot import Depot, bring
from rsi.update.job import Reason
from rsi.update.remote import work_at, work_on
from tests.made import tiny_job

CREDENTIALS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "us-east-1"}


@pytest.fixture(autouse=True)
def _scratch(tmp_path, monkeypatch):
    """A machine of its own for each test: a cache where workers keep their copies."""
    torch.set_num_threads(1)
    monkeypatch.setenv("RSI_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def bucket():
    """An S3 server with one empty bucket; its URL. Processes started here reach it as well."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**CREDENTIALS, "AWS_ENDPOINT_URL": f"http://{host}:{port}"}.items():
            patch.setenv(name, value)
        patch.setenv("NO_PROXY", "127.0.0.1")
        fsspec.filesystem("s3").mkdir("jobs")
        yield "s3://jobs"
    server.stop()


def worker(url, machine, fault=""):
    """``python -m rsi.update.worker URL`` on a machine that `machine` is the cache of."""
    return subprocess.Popen(
        [sys.executable, "-m", "rsi.update.worker", url],
        env={**os.environ, "RSI_FAULT": fault, "RSI_CACHE": str(machine), "OMP_NUM_THREADS": "1"},
        cwd=PROJECT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def alone(home, job, base):
    """What the job makes in a folder; that folder."""
    place = home.root.with_name("alone")
    shutil.copytree(jobs.submit(home, job), place)
    work_on(f"file://{place}", str(base), silent)
    return place


@pytest.mark.parametrize(
    "point",
    [
        "remote.after_publish",
        pytest.param("update.after_step#3", marks=pytest.mark.slow),
        pytest.param("remote.before_complete", marks=pytest.mark.slow),
    ],
)
def test_another_machine_goes_on_from_what_a_killed_worker_published(
    point, bucket, home, tiny_base, tmp_path
):
    """The adapter is that of a run left alone, steps before the checkpoint are not made twice, nothing is left over."""
    job = tiny_job(home, tiny_base)
    url = f"{bucket}/{point}"
    depot = bring(jobs.submit(home, job), url)

    killed = worker(url, tmp_path / "first", point)
    said, failed = killed.communicate(timeout=120)
    assert killed.returncode == -signal.SIGKILL, said + failed
    assert depots.done(depot) is None
    told = []
    end = work_at(url, None, lambda what, done, total, note="": told.append(done), every_s=0.05)

    expected = alone(home, job, tiny_base)
    assert end == jobs.done(expected)
    first = {"update.after_step#3": 1, "remote.after_publish": 3, "remote.before_complete": 5}[point]
    assert told == list(range(first, 7))
    assert {"adapter/adapter.json", "complete.json", "metrics.jsonl"} <= set(depot.names())
    assert not {depots.RESUME, depots.CLAIM} & set(depot.names())
    place = jobs.submit(home, job)
    assert depots.collect(depot, place) == end
    jobs.collect(home, place, end)
    assert adapters.describe(home, end.adapter).role == "L0"
    rows = [orjson.loads(line)["step"] for line in (place / "metrics.jsonl").read_bytes().splitlines()]
    assert rows == [1, 2, 3, 4, 5, 6]
    assert (place / "rollouts.parquet").read_bytes() == (expected / "rollouts.parquet").read_bytes()


def test_warm_starts_and_frozen_adapters_travel_and_are_checked(home, tiny_base):
    """A job that goes on from an adapter finds it at the URL; a changed one is refused."""
    first = jobs.submit(home, tiny_job(home, tiny_base))
    end = work_on(str(first), None, silent)
    jobs.collect(home, first, end)
    job = tiny_job(home, tiny_base, steps=1).model_copy(update={"warm_start": end.adapter})
    depot = bring(jobs.submit(home, job), "memory://warm/job")

    weights = f"adapters/{end.adapter}/adapter_model.safetensors"
    kept = depot.read(weights)
    depot.write(weights, kept[:-1] + b"x")
    with pytest.raises(IntegrityError, match="was changed"):
        work_at(depot.url, None, silent)
    depot.write(weights, kept)
    assert work_at(depot.url, None, silent).adapter not in (None, end.adapter)


def test_what_a_job_learns_from_travels(home, tiny_base):
    """Rollouts of an earlier job are given, not made."""
    place = jobs.submit(home, tiny_job(home, tiny_base, steps=1))
    (place / jobs.SHOWN).write_bytes(b"rollouts")

    depot = bring(place, "memory://shown/job")

    assert jobs.SHOWN in depot.names()


def test_one_worker_at_a_time(home, tiny_base):
    """Who finds a claim that beats is told whose it is; one that stands still is taken over."""
    depot = bring(jobs.submit(home, tiny_job(home, tiny_base, steps=1)), "memory://busy/job")
    with claim(depot, 0.02), pytest.raises(BusyError, match=r"is worked on by .* \(process "):
        work_at(depot.url, None, silent, every_s=0.05)
    depot.write(depots.CLAIM, orjson.dumps({"holder": "a machine that died", "token": "t", "beats": 3}))
    assert work_at(depot.url, None, silent, every_s=0.02).adapter
    assert depots.CLAIM not in depot.names()


def test_a_claim_beats_on_through_whatever_the_store_says(monkeypatch):
    """Credentials that ran out, or a claim that was torn, cost a beat; the next one stands again."""
    depot = Depot("memory://beats/job")
    real, said = depot.read, [ContractError("who are you?"), TransientError("away")]

    def read(name):
        if said:
            raise said.pop()
        return real(name)

    with claim(depot, 0.02) as held:
        monkeypatch.setattr(depot, "read", read)
        while said:
            time.sleep(0.01)
        before = held.beats
        while held.beats < before + 2:
            time.sleep(0.01)
        depot.write(depots.CLAIM, b'{"holder": "torn')
        while held.lost is None:
            time.sleep(0.01)
    assert held.lost == "somebody"


def test_a_worker_that_was_taken_over_writes_nothing_more(home, tiny_base):
    """It stops at its next step, and the other one's claim stands."""
    depot = bring(jobs.submit(home, tiny_job(home, tiny_base)), "memory://taken/job")
    other = orjson.dumps({"holder": "another machine", "token": "t", "beats": 0})

    def taken_over(what, done, total, note=""):
        if done == 3:
            depot.write(depots.CLAIM, other)
            time.sleep(0.3)

    with pytest.raises(BusyError, match="taken over by another machine"):
        work_at(depot.url, None, taken_over, every_s=0.02)
    assert depots.done(depot) is None
    assert depot.read(depots.CLAIM) == other


def test_results_that_could_not_be_delivered_are_delivered_by_the_next_call(home, tiny_base, monkeypatch):
    """Without training again."""
    depot = bring(jobs.submit(home, tiny_job(home, tiny_base)), "memory://late/job")

    def away(*_):
        raise TransientError("the store is away")

    with monkeypatch.context() as patch:
        patch.setattr(depots, "deliver", away)
        with pytest.raises(TransientError):
            work_at(depot.url, None, silent)
    told = []
    assert work_at(depot.url, None, lambda *said: told.append(said)).adapter
    assert not told


def test_a_store_that_is_away_for_a_moment_costs_a_checkpoint_and_says_so(home, tiny_base, monkeypatch):
    """The run goes on; the next checkpoint is published."""
    depot = bring(jobs.submit(home, tiny_job(home, tiny_base, steps=8)), "memory://moment/job")
    real, calls, notes = depots.publish, [], []

    def first_time_away(*given):
        calls.append(1)
        if len(calls) == 1:
            raise TransientError("the store is away")
        real(*given)

    monkeypatch.setattr(remote.depots, "publish", first_time_away)
    assert work_at(depot.url, None, lambda what, done, total, note="": notes.append(note)).adapter
    assert [("not published" in note) for note in notes].count(True) == 1
    assert len(calls) > 2


def test_a_stalled_job_ends_at_its_url_too(bucket, home, tiny_base, tmp_path):
    """Whoever follows the URL sees the end, and its reason."""
    hurried = tiny_job(home, tiny_base, guard={"stalled_seconds": 0.0005})
    depot = bring(jobs.submit(home, hurried), f"{bucket}/stalled")
    running = worker(depot.url, tmp_path / "machine")
    assert running.wait(120) == 1, running.stderr.read()
    assert depots.done(depot).reason is Reason.STALLED


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("nosuch://bucket/job", "cannot be used"),
        ("memory://nothing/here", "expected memory://nothing/here/job.json"),
    ],
)
def test_a_url_without_a_job_is_named(url, said):
    """The address, and what was expected there."""
    with pytest.raises(ContractError, match=said):
        work_at(url, None, silent)


def test_another_job_at_the_url_is_never_written_over(home, tiny_base):
    """Whoever brings it is told."""
    bring(jobs.submit(home, tiny_job(home, tiny_base)), "memory://other/job")
    with pytest.raises(IntegrityError, match="holds another job"):
        bring(jobs.submit(home, tiny_job(home, tiny_base, steps=7)), "memory://other/job")


def test_5_a_missing_bucket_and_a_torn_checkpoint_are_named(bucket, home, tiny_base):
    """What to do is in the message."""
    place = jobs.submit(home, tiny_job(home, tiny_base))
    with pytest.raises(ContractError, match="make the bucket"):
        bring(place, "s3://no-such-bucket/job")
    depot = bring(place, f"{bucket}/torn")
    depot.write(depots.RESUME, b"not a tar")
    with pytest.raises(IntegrityError, match="torn"):
        work_at(depot.url, None, silent)


def test_names_that_would_leave_the_folder_are_refused(monkeypatch):
    """Whoever can write to the store cannot write elsewhere here."""
    depot = Depot("memory://odd/job")
    depot.write("../../outside", b"x")
    monkeypatch.setattr(depot._fs, "find", lambda root: [f"{root}/../../outside"])
    with pytest.raises(IntegrityError, match="would leave"):
        depot.names()
