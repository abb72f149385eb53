"""What a job's model said is kept: all of it in columns, some of it to be read, none of it twice."""

import pyarrow.parquet as pq
import pytest
import torch
from typer.testing import CliRunner

from rsi.commands.app import app
from rsi.errors import ContractError
from rsi.ports import silent
from rsi.update import worker
from rsi.update.job import submit
from rsi.update.rollouts import FILE, SCHEMA, readable
from rsi.update.worker import work
from tests.made import tiny_job


@pytest.fixture(autouse=True)
def _one_thread():
    torch.set_num_threads(1)


def table(place):
    """All rows of a job."""
    return pq.read_table(place / FILE).to_pylist()


def test_every_answer_is_a_row_and_some_have_their_text(home, tiny_base):
    """Rewards are those of the log, tokens those that were read and sampled; the parts are gone."""
    place = submit(home, tiny_job(home, tiny_base, keep={"readable": 0.2}))
    work(place, tiny_base, silent)

    rows = table(place)
    kept = [row for row in rows if row["text"] is not None]
    assert pq.read_schema(place / FILE).names == SCHEMA.names
    assert [(row["step"], row["group"], row["sample"]) for row in rows] == [
        (step, group, sample) for step in range(1, 7) for group in range(4) for sample in range(8)
    ]
    assert 10 < len(kept) < 70, "about a fifth of 192"
    assert all(row["text"].count("<|im_start|>") == 3 for row in kept)
    assert all(len(row["response"]) == row["tokens"] == sum(row["sampled"]) > 0 for row in rows)
    assert all(len(row["logprobs"]) == 1 and row["logprobs"][0] < 0 for row in rows), "one choice a label"
    assert {row["outcome"] for row in rows} == {"scored"}
    assert {row["harness"] for row in rows} == {tiny_job(home, tiny_base).harness}
    assert not (place / "rollouts").exists()


def test_a_job_that_was_cut_keeps_the_same_rollouts(home, tiny_base, tmp_path, monkeypatch):
    """To the byte: what was drawn after the checkpoint is dropped and drawn again."""
    place = submit(home, tiny_job(home, tiny_base, keep={"readable": 0.2}))
    step = worker.take
    cuts = [3]

    def cut(*given):
        row = step(*given)
        if given[-1] in cuts:
            cuts.remove(given[-1])
            raise KeyboardInterrupt
        return row

    monkeypatch.setattr(worker, "take", cut)
    with pytest.raises(KeyboardInterrupt):
        work(place, tiny_base, silent)
    assert len(list((place / "rollouts").iterdir())) == 4, "what a person reads while it runs"
    assert readable(place)
    work(place, tiny_base, silent)

    other = type(home)(tmp_path / "other")
    alone = submit(other, tiny_job(other, tiny_base, keep={"readable": 0.2}))
    work(alone, tiny_base, silent)
    assert (place / FILE).read_bytes() == (alone / FILE).read_bytes()


def test_a_full_file_keeps_rows_without_their_tokens(home, tiny_base):
    """But for those that are kept to be read."""
    place = submit(home, tiny_job(home, tiny_base, keep={"readable": 0.1, "megabytes": 0.01}))
    work(place, tiny_base, silent)

    rows = table(place)
    assert len(rows) == 192
    assert all(row["prompt"] for row in rows if row["step"] == 1)
    late = [row for row in rows if row["step"] == 6]
    assert [row["prompt"] is None for row in late] == [row["text"] is None for row in late]
    assert all(row["tokens"] > 0 and row["reward"] is not None for row in late)


def test_a_person_reads_some_of_them(home, tiny_base):
    """By command: spread over the run, of one step, or wrong ones only."""
    place = submit(home, tiny_job(home, tiny_base, keep={"readable": 0.5}))
    env = {"RSI_HOME": str(home.root)}
    with pytest.raises(ContractError, match="holds no rollouts"):
        readable(place)
    work(place, tiny_base, silent)

    some = CliRunner().invoke(app, ["rollouts", place.name[:8], "--count", "3"], env=env)
    wrong = CliRunner().invoke(app, ["rollouts", "--wrong", "--step", "2", "--count", "99"], env=env)

    assert some.exit_code == 0, some.output
    assert some.output.count("--- step") == 3
    assert "<|im_start|>assistant" in some.output
    assert "reward 0, scored, ended by label" in wrong.output
    assert "reward 1" not in wrong.output
    assert wrong.output.count("--- step 2,") == wrong.output.count("--- step") > 3
