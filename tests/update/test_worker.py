"""Training jobs: what they change, what they leave alone, and that a resume is no other run."""

import shutil
import subprocess
import sys
import threading
from collections import Counter

import orjson
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file

from rsi.errors import BusyError, ContractError, IntegrityError, TransientError
from rsi.ports import silent
from rsi.records import Outcome, OutcomeKind
from rsi.registry import adapters
from rsi.store.locks import hold
from rsi.tasks import bank
from rsi.update import learner, runs, worker
from rsi.update.batches import slots
from rsi.update.job import Reason, collect, submit
from rsi.update.rollouts import FILE
from rsi.update.runs import Event
from rsi.update.worker import work
from rsi.verifiers import verify
from tests.made import FixedClock, base_digest, routing_tasks, tiny_job


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


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"refill": 2, "samples": 2},
        {"curriculum": {"share": 0.7}},
        {"objective": {"kl": 0.1}},
        {"rehearsal": {"weight": 1.0, "tokens": 3}},
    ],
    ids=["plain", "refill", "curriculum", "kl", "rehearsal"],
)
def test_a_job_cut_between_checkpoints_ends_in_the_same_adapter(
    home, tiny_base, tmp_path, monkeypatch, settings
):
    """Weights, moments, draws and tasks of the resumed run are those of the uninterrupted one."""
    job = tiny_job(home, tiny_base, **settings)
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
    again = tiny_job(other, tiny_base, **settings)
    assert trained(other, again, tiny_base).adapter == resumed.adapter
    assert (submit(other, again) / FILE).read_bytes() == (place / FILE).read_bytes()


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
    monkeypatch.setattr("rsi.update.practice.verify", lambda *_: Outcome(kind=OutcomeKind.EMPTY))
    job = tiny_job(home, tiny_base)

    end = trained(home, job, tiny_base)

    assert end.adapter is None
    assert (end.skipped, end.reason) == (6 * 4, Reason.NO_SIGNAL)
    assert "none of 6 steps found a group of answers with a signal" in end.ended


def test_a_loss_that_is_no_number_ends_the_run(home, tiny_base, monkeypatch):
    """For good, with a record that names the step; what was said until then can be read."""
    monkeypatch.setattr("rsi.update.objective.loss", lambda _, said, *__, **___: said.sum() * float("nan"))
    job = tiny_job(home, tiny_base)

    end = trained(home, job, tiny_base)

    assert (end.adapter, end.reason, end.steps) == (None, Reason.DIVERGED, 0)
    assert "diverged at step 1: loss nan" in end.ended
    assert (submit(home, job) / FILE).exists()


def test_batches_hold_every_label_equally_and_pass_through_all_tasks(home, tiny_base):
    """In four steps of four prompts each of the sixteen tasks comes once."""
    job = tiny_job(home, tiny_base)
    tasks = routing_tasks()
    steps = [slots(tasks, job.settings.seed, 4 * step, 4) for step in range(4)]

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

    assert end.reason is Reason.TOKENS
    assert end.steps == 2, "4 prompts with 8 answers of one token each a step"
    assert end.ended == "its 64 sampled tokens were used up after 2 steps"
    assert adapters.describe(home, end.adapter).role == "L0"


def test_a_broken_guard_leaves_no_adapter(home, tiny_base):
    """Actor and learner that are too far apart: exploration made it so here."""
    far = {"rule": "topr", "level": "sequence", "alarm": 1e-6}
    job = tiny_job(home, tiny_base, correction=far, guard={"patience": 2})

    end = trained(home, job, tiny_base)

    assert (end.adapter, end.steps, end.reason) == (None, 2, Reason.MISMATCH)
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


@pytest.mark.parametrize("name", ["L0-000000000000", "../../L0-000000000000"])
def test_an_adapter_that_is_not_what_the_job_names_stays_outside(home, tiny_base, name):
    """A worker may be another machine, and its word is checked before anything enters the home."""
    place = submit(home, tiny_job(home, tiny_base))
    end = work(place, tiny_base, silent)

    with pytest.raises((IntegrityError, ContractError)):
        collect(home, place, end.model_copy(update={"adapter": name}))

    assert not home.adapters.exists() or not list(home.adapters.iterdir())
    assert not list(home.root.parent.rglob("L0-0000*"))


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


def rows_of(place):
    """The log."""
    return [orjson.loads(line) for line in (place / "metrics.jsonl").read_bytes().splitlines()]


def test_groups_without_signal_are_replaced_by_the_next_tasks(home, tiny_base):
    """Up to the bound; what was drawn in their place is asked in turn and counted."""
    place = submit(home, tiny_job(home, tiny_base, samples=2, refill=3))

    work(place, tiny_base, silent)

    rows, drawn = rows_of(place), pq.read_table(place / FILE).to_pylist()
    assert sum(row["refilled"] for row in rows) > 0
    for row in rows:
        mine = [one for one in drawn if one["step"] == row["step"] and one["sample"] == 0]
        assert len(mine) == 4 + row["refilled"] == row["live"] + row["skipped"]
        assert row["live"] == 4 or max(one["draw"] for one in mine) == 3
    asked = [one["task_id"] for one in drawn if one["sample"] == 0]
    assert asked == [one.task_id for one in slots(routing_tasks(), 17, 0, len(asked))]


def test_the_base_holds_a_policy_back(home, tiny_base):
    """A price on the divergence keeps it smaller; the log has it from the first step, where it is none."""
    apart = []
    for kl in (1e-9, 30.0):
        place = submit(home, tiny_job(home, tiny_base, steps=12, learning_rate=0.02, objective={"kl": kl}))
        work(place, tiny_base, silent)
        apart.append([row["kl"] for row in rows_of(place)])

    assert apart[0][0] == apart[1][0] == pytest.approx(0.0, abs=1e-6)
    assert max(apart[1]) < 0.5 * max(apart[0])


def test_without_a_price_the_base_is_not_asked(home, tiny_base, monkeypatch):
    """It would cost a second forward."""
    monkeypatch.setattr("rsi.update.closed.DrawnLabels.afresh", lambda *_: pytest.fail("asked"))
    place = submit(home, tiny_job(home, tiny_base, steps=1))

    work(place, tiny_base, silent)

    assert "kl" not in rows_of(place)[0]


def test_a_task_that_cannot_be_tried_is_left_out_and_counted(home, tiny_base):
    """The others are trained on; where there is no other, the job is refused."""
    odd = routing_tasks()[0].model_copy(update={"task_id": "t-odd", "expected": "L9"})
    job = tiny_job(home, tiny_base, steps=2)
    job = job.model_copy(update={"bank": bank.freeze(home, "2026-01-03", [*routing_tasks(), odd])})
    alone = job.model_copy(update={"bank": bank.freeze(home, "2026-01-04", [odd])})

    assert trained(home, job, tiny_base).unusable == 1
    with pytest.raises(ContractError, match="none of the 1 tasks"):
        work(submit(home, alone), tiny_base, silent)


def test_a_verifier_that_hangs_costs_its_task_only(home, tiny_base, monkeypatch):
    """It is given up after its time, the group says nothing, and the run goes on."""
    real, waits = verify, threading.Event()

    def slow(verifier, answer, expected):
        if expected == "L0":
            waits.wait(60)
        return real(verifier, answer, expected)

    monkeypatch.setattr("rsi.update.practice.verify", slow)
    place = submit(home, tiny_job(home, tiny_base, steps=2, guard={"judge_seconds": 0.25}))
    end = work(place, tiny_base, silent)
    waits.set()

    assert end.adapter is not None
    assert [row["failed_groups"] for row in rows_of(place)] == [1, 1]
    assert [row["outcome_error"] for row in rows_of(place)] == [8, 8]
    drawn = pq.read_table(place / FILE).to_pylist()
    assert sum(row["reward"] is None for row in drawn) == 16


def test_an_actor_that_is_away_for_a_moment_costs_a_pause(home, tiny_base, monkeypatch):
    """The step is tried again and the run ends as if nothing had been; one that stays away ends this run only."""
    pauses, away = [], [3]
    monkeypatch.setattr(worker.time, "sleep", pauses.append)
    real = worker.take

    def flaky(*given):
        if given[-1] == 2 and away[0]:
            given[-2].following(3)
            away[0] -= 1
            raise TransientError("nobody answers")
        return real(*given)

    monkeypatch.setattr(worker, "take", flaky)
    job = tiny_job(home, tiny_base)
    place = submit(home, job)
    with pytest.raises(TransientError, match="nobody answers"):
        work(place, tiny_base, silent)
    end = work(place, tiny_base, silent)

    told = [(one.event, one.step) for one in runs.read(place)]
    began, lost, over = Event.BEGAN, Event.ACTOR_LOST, Event.COMPLETE
    assert told == [(began, 0), (lost, 2), (lost, 2), (began, 2), (lost, 2), (over, 6)]
    assert pauses == [worker.PAUSE_S] * 2
    monkeypatch.undo()
    other = type(home)(home.root / "other")
    assert trained(other, tiny_job(other, tiny_base), tiny_base).adapter == end.adapter


def test_5_a_torn_log_is_mended(home, tiny_base, monkeypatch):
    """What a kill left of a line is cut off before another is written."""
    place = submit(home, tiny_job(home, tiny_base))
    real, cuts = worker.take, [2]

    def cut(*given):
        if given[-1] in cuts:
            cuts.remove(given[-1])
            raise KeyboardInterrupt
        return real(*given)

    monkeypatch.setattr(worker, "take", cut)
    with pytest.raises(KeyboardInterrupt):
        work(place, tiny_base, silent)
    with (place / "metrics.jsonl").open("ab") as file:
        file.write(b'{"step":3,"live"')

    work(place, tiny_base, silent)

    assert [row["step"] for row in rows_of(place)] == [1, 2, 3, 4, 5, 6]


def test_no_step_begins_after_its_hour(home, tiny_base):
    """By the clock that the worker is given; an adapter of no step is none."""
    clock = FixedClock("2026-01-02T02:59:59+00:00")
    until = {"until": "2026-01-02T03:00:00Z"}
    place = submit(home, tiny_job(home, tiny_base, budget=until))

    def tick(*_):
        clock.move(seconds=0.5)

    end = work(place, tiny_base, tick, clock)
    late = work(submit(home, tiny_job(home, tiny_base, budget=until, seed=5)), tiny_base, silent, clock)

    assert (end.reason, end.steps) == (Reason.CLOCK, 2)
    assert end.adapter is not None
    assert (late.reason, late.steps, late.adapter) == (Reason.CLOCK, 0, None)
