"""Successes of earlier jobs are learnt from; what was made under another harness is not, and is counted."""

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from rsi.algorithm import Algorithm
from rsi.environments import ENVIRONMENTS, Kind
from rsi.errors import ContractError, IntegrityError
from rsi.ids import digest_file
from rsi.ports import silent
from rsi.tasks import bank
from rsi.tasks.worlds import task_of
from rsi.update.job import submit
from rsi.update.rollouts import SCHEMA
from rsi.update.shown import Refused, admitted
from rsi.update.worker import work
from tests.fakes import Cabinet
from tests.harness.test_loop import put
from tests.made import router, tiny_job

TASK = task_of(put(), Cabinet())


def row(**said):
    """A success of the task, but for what is said."""
    made = {
        "step": 1,
        "draw": 0,
        "group": 0,
        "sample": 0,
        "task_id": TASK.task_id,
        "harness": router().digest,
        "prompt": [5, 6, 7, 8],
        "response": [40, 41, 42, 43],
        "sampled": [True, False, True, True],
        "logprobs": [-1.0, -2.0, -3.0],
        "tokens": 3,
        "reward": 1.0,
        "outcome": "scored",
        "stop": "done",
        "text": None,
    }
    return {**made, **said}


def written(folder, *rows):
    """A file of rollouts."""
    path = folder / "rollouts.parquet"
    pq.write_table(pa.Table.from_pylist(list(rows), schema=SCHEMA), path)
    return path


@pytest.fixture
def job(home, tiny_base, monkeypatch):
    """A job that is shown something."""
    torch.set_num_threads(1)
    monkeypatch.setitem(ENVIRONMENTS, "cabinet", Kind(Cabinet, lambda *_: ()))
    made = tiny_job(home, tiny_base, algorithm="sft", steps=6, prompts=2, learning_rate=0.05)
    return made.model_copy(update={"bank": bank.freeze(home, "desk-1", [TASK]), "hop": "world", "role": "L1"})


def test_only_successes_under_the_same_harness_are_shown(tmp_path):
    """Each refusal has its reason, and is counted."""
    path = written(
        tmp_path,
        row(),
        row(harness="0" * 64),
        row(harness="0" * 64, reward=0.0),
        row(task_id="t-other"),
        row(reward=0.5),
        row(reward=None, outcome="error"),
        row(prompt=None, response=[9], sampled=None, logprobs=None),
        row(sample=3),
        row(sample=4, response=[44, 45], sampled=[True, True], logprobs=[-1.0, -1.0]),
    )

    found = admitted(path, router().digest, [TASK.task_id])

    assert [one.response for one in found.by_task[TASK.task_id]] == [(40, 41, 42, 43), (44, 45)]
    assert found.refused == {
        Refused.HARNESS: 2,
        Refused.TASK: 1,
        Refused.UNSOLVED: 2,
        Refused.TOKENS: 1,
        Refused.DOUBLE: 1,
    }


def test_a_job_learns_what_it_is_shown(home, tiny_base, tmp_path, job):
    """Of the sampled tokens alone; the record counts what was refused."""
    path = written(tmp_path, row(), row(harness="0" * 64))
    place = submit(home, job.model_copy(update={"shown": digest_file(path)}), path)

    end = work(place, tiny_base, silent)

    rows = [orjson.loads(line) for line in (place / "metrics.jsonl").read_bytes().splitlines()]
    assert end.adapter is not None
    assert end.refused == {"another_harness": 1}
    assert [one["sampled"] for one in rows] == [6.0] * 6, "two turns of the only task, three tokens each"
    assert rows[-1]["loss"] < rows[0]["loss"] - 0.1


def test_a_job_whose_rollouts_are_all_refused_has_nothing_to_learn(home, tiny_base, tmp_path, job):
    """It says which and why."""
    path = written(tmp_path, row(harness="0" * 64))
    place = submit(home, job.model_copy(update={"shown": digest_file(path)}), path)

    with pytest.raises(ContractError, match="another_harness"):
        work(place, tiny_base, silent)


def test_rollouts_are_what_the_job_names(home, tiny_base, tmp_path, job):
    """When they are submitted, and when they are read; and only where they are shown to anybody."""
    path = written(tmp_path, row())
    shown = job.model_copy(update={"shown": digest_file(path)})
    with pytest.raises(IntegrityError, match="not the digest"):
        submit(home, job, path)
    with pytest.raises(IntegrityError, match="not the digest"):
        submit(home, shown)
    place = submit(home, shown, path)
    written(tmp_path, row(), row(reward=0.0))
    (place / "shown.parquet").write_bytes(path.read_bytes())
    with pytest.raises(IntegrityError, match="submit the job again"):
        work(place, tiny_base, silent)

    drawn = shown.model_copy(update={"settings": shown.settings.model_copy(update={"algorithm": Algorithm.GRPO})})
    drawn = drawn.model_copy(update={"shown": digest_file(path)})
    with pytest.raises(ContractError, match="algorithm sft"):
        work(submit(home, drawn, path), tiny_base, silent)
