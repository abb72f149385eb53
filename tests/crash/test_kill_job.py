"""A job of episodes in worlds, killed at every fault point, with everything around it going wrong.

Runs are forked from this process, whose model libraries are loaded: a kill costs a second, not ten.
"""

import errno
import multiprocessing
import os
import shutil
import signal
import subprocess
import threading

import orjson
import pyarrow.parquet as pq
import pytest
import torch
from transformers import AutoTokenizer

from rsi import faults
from rsi.engine.chat import Dialogue
from rsi.environments import ENVIRONMENTS, Kind
from rsi.errors import ContractError, TransientError
from rsi.ids import digest_file
from rsi.ports import Generation, silent
from rsi.settings import Home
from rsi.tasks import bank
from rsi.tasks.worlds import task_of
from rsi.update import job as jobs
from rsi.update import runs, worker
from rsi.update.job import Reason, submit
from rsi.update.rollouts import FILE
from rsi.update.runs import Event
from rsi.update.worker import work
from tests.fakes import Cabinet
from tests.harness.test_loop import put
from tests.made import tiny_job

POINTS = [
    name
    for name in faults.points()
    if name.startswith(("update.", "rollouts.")) and name != "update.after_submit"
]
"""Those that a worker passes; the others are a night's."""
WHATS = ("key", "hat")
SMALL = {"prompts": 2, "samples": 4, "learning_rate": 0.02, "refill": 1}


class Wall:
    """A world that cannot be set up: its task is of no use."""

    def __getattr__(self, name):
        raise RuntimeError("nothing here")


def tasks(kinds=("cabinet",)):
    """Two tasks a kind of world."""
    made = [put(f"Put a {what} into the drawer.", what) for what in WHATS]
    return [
        task_of(
            one.model_copy(
                update={"environment": kind, "task_id": f"w-{kind}-{one.oracle[0].arguments['what']}"}
            ),
            Cabinet(),
        )
        for kind in kinds
        for one in made
    ]


class Chance:
    """An engine that says one of three things by the seed: right for the one task, for the other, for none."""

    def __init__(self, folder, digest):
        self._dialogue = Dialogue(AutoTokenizer.from_pretrained(folder))
        self._loaded = {}

    def generate_tokens(self, prompts, adapter, max_tokens, temperature, seeds):
        texts = [("put(key) done", "put(hat) done", "put(nothing) done")[seed % 3] for seed in seeds]
        said = [(text, self._dialogue.answer(text)) for text in texts]
        return [Generation(text, ids, (-0.5,) * len(ids), "stop") for text, ids in said]

    def load(self, name, folder):
        self._loaded[name] = folder

    def unload(self, name):
        if self._loaded.pop(name, None) is None:
            raise ContractError(f"{name} is not loaded")

    def adapters(self):
        return dict(self._loaded)


@pytest.fixture(scope="module", autouse=True)
def _around():
    """Worlds and the engine of this file, and one thread, all of which a fork takes with it."""
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(ENVIRONMENTS, "cabinet", Kind(Cabinet, lambda *_: ()))
        patch.setitem(ENVIRONMENTS, "wall", Kind(Wall, lambda *_: ()))
        patch.setattr("rsi.update.run.LocalEngine", Chance)
        yield


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home for the jobs of this file."""
    return Home(tmp_path_factory.mktemp("jobs"))


def submitted(home, base, made=None, **settings):
    """The folder of a small job on tasks in worlds."""
    name = bank.freeze(home, "2026-01-02", made or tasks())
    job = tiny_job(home, base, **{"steps": 4, "checkpoint_every": 2, **SMALL, **settings})
    return submit(home, job.model_copy(update={"bank": name, "hop": "world", "role": "L1"}))


def copied(place, to):
    """The folder elsewhere."""
    return shutil.copytree(place, to / place.name)


def apart(place, base, fault=""):
    """Work in a process of its own; its exit code, negative for a signal."""

    def child() -> None:
        os.environ["RSI_FAULT"] = fault
        work(place, base, silent)

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join(120)
    if process.is_alive():
        process.kill()
        process.join()
        pytest.fail("the job did not come to an end")
    return process.exitcode


def outcome(place):
    """All that must not depend on what crashed."""
    rows = [orjson.loads(line) for line in (place / "metrics.jsonl").read_bytes().splitlines()]
    measured = [{key: value for key, value in row.items() if key != "seconds"} for row in rows]
    return jobs.done(place), measured, digest_file(place / FILE)


@pytest.fixture(scope="module")
def alone(home, tiny_base, tmp_path_factory):
    """What a job left alone comes to: it found a signal, and drew some groups again."""
    place = copied(submitted(home, tiny_base), tmp_path_factory.mktemp("alone"))
    assert apart(place, tiny_base) == 0
    found = outcome(place)
    assert found[0].adapter is not None
    assert sum(row["live"] for row in found[1]) > 0
    return found


@pytest.mark.parametrize("point", POINTS)
def test_1_a_killed_job_runs_to_the_same_end(point, home, alone, tiny_base, tmp_path):
    """Adapter, log and rollouts are equal, whichever point the process died at."""
    place = copied(submitted(home, tiny_base), tmp_path)
    turn = 3 if point in ("update.after_step", "rollouts.after_part") else 1

    assert apart(place, tiny_base, f"{point}#{turn}") == -signal.SIGKILL, f"{point} was not reached"
    assert apart(place, tiny_base) == 0

    assert outcome(place) == alone
    assert [one.event for one in runs.read(place)] == [Event.BEGAN, Event.BEGAN, Event.COMPLETE]
    assert not (place / "rollouts").exists()


@pytest.mark.slow
@pytest.mark.parametrize("turn", range(1, 5))
@pytest.mark.parametrize("point", ["update.after_step", "rollouts.after_part"])
def test_a_job_killed_again_and_again_runs_to_the_same_end(point, turn, home, alone, tiny_base, tmp_path):
    """At every turn of a point, and once more while it resumes."""
    place = copied(submitted(home, tiny_base), tmp_path)

    assert apart(place, tiny_base, f"{point}#{turn}") == -signal.SIGKILL
    assert apart(place, tiny_base, "rollouts.after_part") in (0, -signal.SIGKILL)
    assert apart(place, tiny_base) == 0

    assert outcome(place) == alone


@pytest.mark.parametrize(
    "point",
    [
        "rollouts.after_part",
        pytest.param("update.after_step", marks=pytest.mark.slow),
        pytest.param("update.after_checkpoint", marks=pytest.mark.slow),
    ],
)
def test_a_full_disk_is_said_and_mended_by_running_again(
    point, home, alone, tiny_base, tmp_path, monkeypatch
):
    """The run ends with what to do; the next one comes to the same end."""
    place = copied(submitted(home, tiny_base), tmp_path)
    monkeypatch.setattr(faults, "_reached", type(faults._reached)())
    monkeypatch.setenv("RSI_FAULT", f"{point}:enospc")
    with pytest.raises(TransientError, match="no space left for job"):
        work(place, tiny_base, silent)
    monkeypatch.delenv("RSI_FAULT")

    assert runs.read(place)[-1].event is Event.DISK_FULL
    assert apart(place, tiny_base) == 0
    assert outcome(place) == alone


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_4_a_disk_that_is_really_full_leaves_nothing_torn(home, alone, tiny_base, tmp_path):
    """A job on a disk with less room than it needs stops; with more, it goes on from what was whole."""
    small = tmp_path / "small"
    small.mkdir()
    made = submitted(home, tiny_base)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(small)], check=False)
    if mounted.returncode:
        pytest.skip("no small disk can be mounted here")
    try:
        place = copied(made, small)
        free = os.statvfs(small)
        with (small / "ballast").open("wb") as file:
            file.write(b"0" * (free.f_bavail * free.f_bsize - 96 * 1024))
        with pytest.raises((TransientError, OSError)) as caught:
            work(place, tiny_base, silent)
        assert isinstance(caught.value, TransientError) or caught.value.errno == errno.ENOSPC
        (small / "ballast").unlink()
        assert apart(place, tiny_base) == 0
        assert outcome(place) == alone
    finally:
        subprocess.run(["umount", "-l", str(small)], check=False)


def test_a_bank_with_an_unusable_task_is_trained_on_the_others(home, tiny_base, tmp_path):
    """A world that cannot be set up costs its groups, each after its tries; what nobody can open is left out."""
    nowhere = tasks()[0]
    nowhere = nowhere.model_copy(
        update={"task_id": "t-no", "world": nowhere.world.replace("cabinet", "attic")}
    )
    place = copied(submitted(home, tiny_base, [*tasks(("cabinet", "wall")), nowhere]), tmp_path)

    end = work(place, tiny_base, silent)

    rows = pq.read_table(place / FILE).to_pylist()
    log = [orjson.loads(line) for line in (place / "metrics.jsonl").read_bytes().splitlines()]
    assert (end.reason, end.unusable) == (Reason.STEPS, 1)
    assert end.adapter is not None
    failed = [row for row in rows if row["outcome"] == "error"]
    assert len(failed) == SMALL["samples"] * sum(row["failed_groups"] for row in log) > 0
    assert all(row["reward"] is None and row["stop"] == "crash" for row in failed)
    assert sum(row["crashes"] for row in log) == len(failed)


def test_an_actor_that_dies_is_waited_for_and_then_given_up(home, alone, tiny_base, tmp_path, monkeypatch):
    """The record says so; started again with an actor that answers, the job comes to the same end."""
    place = copied(submitted(home, tiny_base), tmp_path)
    calls = []
    real = Chance.generate_tokens

    def dying(engine, *asked):
        calls.append(1)
        if len(calls) > 2:
            raise TransientError("the server at nowhere is away")
        return real(engine, *asked)

    monkeypatch.setattr(worker, "PAUSE_S", 0.0)
    with monkeypatch.context() as patch:
        patch.setattr(Chance, "generate_tokens", dying)
        with pytest.raises(TransientError, match="is away"):
            work(place, tiny_base, silent)

    lost = [one for one in runs.read(place) if one.event is Event.ACTOR_LOST]
    assert len(lost) == 2
    assert "the server at nowhere is away" in lost[-1].detail
    assert apart(place, tiny_base) == 0
    assert outcome(place) == alone


def test_a_job_in_which_nothing_moves_ends_its_process(home, tiny_base, tmp_path, monkeypatch):
    """With a record, under a reason of its own; the next run finds it over."""
    place = copied(submitted(home, tiny_base, guard={"stalled_seconds": 0.5}), tmp_path)
    monkeypatch.setattr(Chance, "generate_tokens", lambda *_: threading.Event().wait(100))

    assert apart(place, tiny_base) == 1

    end = work(place, tiny_base, silent)
    assert (end.reason, end.adapter, end.steps) == (Reason.STALLED, None, 0)
    assert end.ended == "nothing moved for 0.5 s after step 0"
    assert not (place / "adapter").exists()
