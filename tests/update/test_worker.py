"""Training jobs: what they change, what they leave alone, and that a resume is no other run."""

from collections import Counter

import orjson
import pytest
import torch

from rsi.errors import IntegrityError, RefusedError
from rsi.ports import silent
from rsi.records import Outcome, OutcomeKind
from rsi.registry import adapters
from rsi.update import worker
from rsi.update.job import batch, folder, submit
from rsi.update.worker import work
from tests.made import base_digest, routing_tasks, tiny_job


@pytest.fixture(autouse=True)
def _one_thread():
    torch.set_num_threads(1)


def test_a_job_learns_and_leaves_an_admitted_adapter(home, tiny_base):
    """The probability of the right label rises; the adapter is finite, fits, and is named by content."""
    job = tiny_job(home, tiny_base, steps=40, learning_rate=0.02)
    submit(home, job)

    end = work(home, job, tiny_base, silent)

    rows = [orjson.loads(line) for line in (folder(home, job) / "metrics.jsonl").read_bytes().splitlines()]
    assert [row["step"] for row in rows] == list(range(1, 41))
    assert sum(row["p_right"] for row in rows[-8:]) / 8 > sum(row["p_right"] for row in rows[:8]) / 8 + 0.1
    adapter = adapters.admit(home, end.adapter, base_digest(tiny_base), adapters.shapes(tiny_base))
    assert (adapter.rank, adapter.role) == (4, "L0")


def test_a_job_cut_between_checkpoints_ends_in_the_same_adapter(home, tiny_base, tmp_path, monkeypatch):
    """Weights, moments, draws and batches of the resumed run are those of the uninterrupted one."""
    job = tiny_job(home, tiny_base)
    submit(home, job)
    step, calls = worker.take, Counter()

    def cut(*given):
        number = given[-1]
        calls[number] += 1
        if number == 3 and calls[3] == 1:
            raise KeyboardInterrupt
        return step(*given)

    monkeypatch.setattr(worker, "take", cut)
    with pytest.raises(KeyboardInterrupt):
        work(home, job, tiny_base, silent)
    resumed = work(home, job, tiny_base, silent)
    assert calls[2] == 2, "the step after the checkpoint is made again"

    other = type(home)(tmp_path / "other")
    again = tiny_job(other, tiny_base)
    submit(other, again)
    assert work(other, again, tiny_base, silent).adapter == resumed.adapter


def test_adapters_of_other_roles_and_the_base_are_left_alone(home, tiny_base):
    """A warm start goes on from the parent; a frozen neighbour is unchanged on disk and in memory."""
    first = tiny_job(home, tiny_base)
    submit(home, first)
    parent = work(home, first, tiny_base, silent).adapter
    before = adapters.describe(home, parent).sha256
    second = first.model_copy(update={"role": "L1", "warm_start": parent, "frozen": (parent,)})
    submit(home, second)

    child = work(home, second, tiny_base, silent).adapter

    assert child.startswith("L1-")
    assert adapters.describe(home, parent).sha256 == before


def test_a_changed_base_keeps_nothing(home, tiny_base, monkeypatch):
    """The hash in memory before and after decides."""
    job = tiny_job(home, tiny_base)
    submit(home, job)
    real = worker.take

    def careless(model, *given):
        with torch.no_grad():
            model.model.get_base_model().get_input_embeddings().weight[0, 0] += 1
        return real(model, *given)

    monkeypatch.setattr(worker, "take", careless)
    with pytest.raises(IntegrityError, match="changed the base"):
        work(home, job, tiny_base, silent)
    assert adapters.names(home) == ()


def test_a_run_without_signal_ends_without_a_candidate(home, tiny_base, monkeypatch):
    """Every group skipped: no adapter, and the count says so."""
    monkeypatch.setattr("rsi.update.closed.verify", lambda *_: Outcome(kind=OutcomeKind.EMPTY))
    job = tiny_job(home, tiny_base)
    submit(home, job)

    end = work(home, job, tiny_base, silent)

    assert end.adapter is None
    assert end.skipped == 6 * 4


def test_a_loss_that_is_no_number_stops_the_run(home, tiny_base, monkeypatch):
    """The message names the step."""
    monkeypatch.setattr("rsi.update.objective.loss", lambda _, said, *__, **___: said.sum() * float("nan"))
    job = tiny_job(home, tiny_base)
    submit(home, job)

    with pytest.raises(RefusedError, match="diverged at step"):
        work(home, job, tiny_base, silent)


def test_batches_hold_every_label_equally_and_pass_through_all_tasks(home, tiny_base):
    """In four steps of four prompts each of the sixteen tasks comes once."""
    job = tiny_job(home, tiny_base)
    tasks = routing_tasks()
    steps = [batch(tasks, job.settings, step) for step in range(4)]

    assert all(
        Counter(one.expected for one in step) == {"L0": 1, "L1": 1, "L2": 1, "L3": 1} for step in steps
    )
    assert len({one.task_id for step in steps for one in step}) == 16


def test_a_bank_that_changed_is_not_trained_on(home, tiny_base):
    """Submitting checks the bank against its name."""
    job = tiny_job(home, tiny_base)
    (home.banks / job.bank / "tasks.parquet").write_bytes(b"x")

    with pytest.raises(IntegrityError, match=r"tasks\.parquet"):
        submit(home, job)


def test_a_job_never_holds_a_pickle(home, tiny_base):
    """Weights and moments are safetensors, while it runs and afterwards; checkpoints are gone at the end."""
    job = tiny_job(home, tiny_base, steps=5)
    submit(home, job)
    seen: set[str] = set()

    def look(*_):
        seen.update(path.name for path in folder(home, job).rglob("*") if path.is_file())

    work(home, job, tiny_base, look)
    look()

    assert "state.safetensors" in seen, "a checkpoint was looked at"
    assert {name.rsplit(".", 1)[-1] for name in seen} <= {"json", "jsonl", "parquet", "safetensors"}
    assert not (folder(home, job) / "checkpoints").exists()
