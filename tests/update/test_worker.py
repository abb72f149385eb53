"""Training jobs: what they change, what they leave alone, and that a resume is no other run."""

import shutil
import subprocess
import sys
from collections import Counter

import orjson
import pytest
import torch
from safetensors.torch import load_file

from rsi.errors import BusyError, ContractError, IntegrityError, RefusedError
from rsi.ports import silent
from rsi.records import Outcome, OutcomeKind
from rsi.registry import adapters
from rsi.store.locks import hold
from rsi.update import learner, worker
from rsi.update.batches import batch
from rsi.update.job import collect, submit
from rsi.update.worker import work
from tests.made import base_digest, routing_tasks, tiny_job


def trained(home, job, base, progress=silent):
    """Submit, work, and bring the adapter home."""
    place = submit(home, job)
    end = work(place, base, progress)
    collect(home, place, end)
    return end


@pytest.fixture(autouse=True)
def _one_thread():
    torch.set_num_threads(1)


def test_a_job_learns_and_leaves_an_admitted_adapter(home, tiny_base):
    """The probability of the right label rises; the adapter is finite, fits, and is named by content."""
    job = tiny_job(home, tiny_base, steps=40, learning_rate=0.02)

    end = trained(home, job, tiny_base)

    rows = [orjson.loads(line) for line in (submit(home, job) / "metrics.jsonl").read_bytes().splitlines()]
    assert [row["step"] for row in rows] == list(range(1, 41))
    assert sum(row["p_right"] for row in rows[-8:]) / 8 > sum(row["p_right"] for row in rows[:8]) / 8 + 0.1
    adapter = adapters.admit(home, end.adapter, base_digest(tiny_base), adapters.shapes(tiny_base))
    assert (adapter.rank, adapter.role) == (4, "L0")


def test_a_job_cut_between_checkpoints_ends_in_the_same_adapter(home, tiny_base, tmp_path, monkeypatch):
    """Weights, moments, draws and batches of the resumed run are those of the uninterrupted one."""
    job = tiny_job(home, tiny_base)
    place = submit(home, job)
    step, calls = worker.take, Counter()

    def cut(*given):
        number = given[-1]
        calls[number] += 1
        if number == 3 and calls[3] == 1:
            raise KeyboardInterrupt
        return step(*given)

    monkeypatch.setattr(worker, "take", cut)
    with pytest.raises(KeyboardInterrupt):
        work(place, tiny_base, silent)
    resumed = work(place, tiny_base, silent)
    assert calls[2] == 2, "the step after the checkpoint is made again"

    other = type(home)(tmp_path / "other")
    again = tiny_job(other, tiny_base)
    assert trained(other, again, tiny_base).adapter == resumed.adapter


def test_adapters_of_other_roles_and_the_base_are_left_alone(home, tiny_base):
    """A warm start goes on from the parent; a frozen neighbour is unchanged on disk and in memory."""
    first = tiny_job(home, tiny_base)
    parent = trained(home, first, tiny_base).adapter
    before = adapters.describe(home, parent).sha256
    second = first.model_copy(update={"role": "L1", "warm_start": parent, "frozen": (parent,)})

    child = trained(home, second, tiny_base).adapter

    assert child.startswith("L1-")
    assert adapters.describe(home, parent).sha256 == before


def test_a_changed_base_keeps_nothing(home, tiny_base, monkeypatch):
    """The hash in memory before and after decides."""
    job = tiny_job(home, tiny_base)
    real = worker.take

    def careless(model, *given):
        with torch.no_grad():
            model.model.get_base_model().get_input_embeddings().weight[0, 0] += 1
        return real(model, *given)

    monkeypatch.setattr(worker, "take", careless)
    with pytest.raises(IntegrityError, match="changed the base"):
        trained(home, job, tiny_base)
    assert adapters.names(home) == ()


def test_a_run_without_signal_ends_without_a_candidate(home, tiny_base, monkeypatch):
    """Every group skipped: no adapter, and the count says so."""
    monkeypatch.setattr("rsi.update.closed.verify", lambda *_: Outcome(kind=OutcomeKind.EMPTY))
    job = tiny_job(home, tiny_base)

    end = trained(home, job, tiny_base)

    assert end.adapter is None
    assert end.skipped == 6 * 4
    assert "none of 6 steps found a group of answers with a signal" in end.ended


def test_a_loss_that_is_no_number_stops_the_run(home, tiny_base, monkeypatch):
    """The message names the step."""
    monkeypatch.setattr("rsi.update.objective.loss", lambda _, said, *__, **___: said.sum() * float("nan"))
    job = tiny_job(home, tiny_base)

    with pytest.raises(RefusedError, match="diverged at step"):
        trained(home, job, tiny_base)


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
    place = submit(home, job)
    seen: set[str] = set()

    def look(*_):
        seen.update(path.name for path in place.rglob("*") if path.is_file())

    work(place, tiny_base, look)
    look()

    assert "state.safetensors" in seen, "a checkpoint was looked at"
    kinds = {name.rsplit(".", 1)[-1] for name in seen}
    assert kinds <= {"json", "jsonl", "parquet", "safetensors", "toml", "lock"}
    assert not (place / "checkpoints").exists()


def test_a_used_up_budget_ends_a_job_with_what_it_has_become(home, tiny_base):
    """After the step that used it up, and the record says so."""
    job = tiny_job(home, tiny_base, budget={"tokens": 64})

    end = trained(home, job, tiny_base)

    assert end.steps == 2, "4 prompts with 8 answers of one token each a step"
    assert end.ended == "its 64 sampled tokens were used up after 2 steps"
    assert adapters.describe(home, end.adapter).role == "L0"


def test_a_broken_guard_leaves_no_adapter(home, tiny_base):
    """Actor and learner that are too far apart: exploration made it so here."""
    far = {"rule": "topr", "level": "sequence", "alarm": 1e-6}
    job = tiny_job(home, tiny_base, correction=far, guard={"patience": 2})

    end = trained(home, job, tiny_base)

    assert (end.adapter, end.steps) == (None, 2)
    assert "in 2 steps in a row actor and learner were more than 1e-06 nats a token apart" in end.ended
    assert adapters.names(home) == ()


def test_one_worker_at_a_time(home, tiny_base):
    """The second one is told who is at it."""
    place = submit(home, tiny_job(home, tiny_base))

    with (
        hold(place / "lock", "a worker on another core", "now"),
        pytest.raises(BusyError, match="another core"),
    ):
        work(place, tiny_base, silent)


def test_two_passes_over_the_same_answers_are_two_optimiser_steps(home, tiny_base):
    """The second against the policy that drew them: a ratio, and another adapter."""
    once = trained(home, tiny_job(home, tiny_base), tiny_base)
    twice = trained(home, tiny_job(home, tiny_base, passes=2), tiny_base)

    assert once.adapter != twice.adapter
    assert once.steps == twice.steps == 6


def test_a_folder_goes_to_another_machine(home, tiny_base, tmp_path):
    """A copy of the folder and the base are enough for a worker to end in the same adapter."""
    job = tiny_job(home, tiny_base)
    place = submit(home, job)
    copy = tmp_path / "elsewhere"
    shutil.copytree(place, copy)
    command = [sys.executable, "-m", "rsi.update.worker", str(copy), "--base", str(tiny_base)]

    told = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)

    here = work(place, tiny_base, silent)
    assert here.adapter is not None
    assert here.adapter in told.stdout
    collect(home, copy, here)


def test_a_folder_with_other_tasks_is_not_worked_on(home, tiny_base):
    """Nor with another harness."""
    place = submit(home, tiny_job(home, tiny_base))
    harness = (place / "harness.toml").read_text()
    (place / "harness.toml").write_text(harness.replace("Which", "What") + "# changed\n" + 'name2 = "x"\n')
    with pytest.raises((IntegrityError, ContractError)):
        work(place, tiny_base, silent)
    (place / "harness.toml").write_text(harness)
    (place / "tasks.parquet").write_bytes(b"x")
    with pytest.raises(IntegrityError, match="is not bank"):
        work(place, tiny_base, silent)


def test_what_is_kept_is_the_mean_over_the_last_steps(home, tiny_base):
    """Of the share that the settings name, by a resumed run as well; 0 keeps the last step's weights."""
    kept = []

    def look(*_):
        kept.append({name: one.detach().clone() for name, one in current[0].parameters()})

    current = []
    real = learner.build

    def build(*given):
        current[:] = [real(*given)]
        return current[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rsi.update.learner.build", build)
        end = trained(home, tiny_job(home, tiny_base, averaged=0.5), tiny_base, look)
    weights = load_file(adapters.folder(home, end.adapter) / "adapter_model.safetensors")

    assert len(kept) == 6
    for name, one in weights.items():
        steps = [step[name.replace(".weight", f".{learner.TRAINED}.weight")] for step in kept[3:]]
        assert torch.allclose(one, torch.stack(steps).mean(dim=0), atol=1e-6)
    assert trained(home, tiny_job(home, tiny_base, averaged=0.0), tiny_base).adapter != end.adapter
