"""TRL beside ours: the same loss on the same tokens, and a trainer behind the same folder. Most of it needs TRL."""

import orjson
import pytest

from rsi.errors import ContractError, TransientError
from rsi.ports import silent
from rsi.records import ChatMessage, OutcomeKind
from rsi.registry import adapters
from rsi.tasks import bank
from rsi.update.backends import BACKENDS, backend, trl
from rsi.update.job import Reason, collect, done, submit
from rsi.update.worker import work
from tests.benchmarks.trl_same import CASES, PYTHON, compare, trl_python
from tests.made import base_digest, tiny_job

needs_trl = pytest.mark.skipif(
    trl_python() is None,
    reason=f"{PYTHON} names no Python of an environment with trl (pip install 'rsi[trl]')",
)
PLAIN = {"backend": "trl", "whole_prompt": True, "exploration": 0.0, "averaged": 0.0}
"""What TRL does."""


@needs_trl
def test_full_back_propagation_is_what_trl_does(tiny_base, tmp_path):
    """The same loss and adapter gradient on the same tokens, for each way of making one loss of many."""
    python = trl_python()
    assert python is not None
    found = compare(python, tiny_base, tmp_path / "both", prompt_tokens=24, rank=4, threads=1)

    assert [one.name for one in found] == list(CASES)
    for one in found:
        assert one.loss < 1e-4
        assert one.gradient < 1e-4
        assert one.clipped > 0


def letters(home, tiny_base, **settings):
    """A job whose answers must hold a small letter: at random some do."""
    job = tiny_job(home, tiny_base, answer_tokens=4, **{**PLAIN, **settings})
    asked = [
        bank.task(
            "answer",
            (ChatMessage(role="user", content=f"say {word}"),),
            "regex",
            '{"pattern": "(?s).*[a-z].*", "example": "a"}',
            None,
            (),
            "correction",
        )
        for word in ("one", "two", "three", "four")
    ]
    return job.model_copy(update={"bank": bank.freeze(home, "letters", asked), "hop": "answer"})


@needs_trl
def test_trl_works_on_a_job_and_leaves_what_ours_does(home, tiny_base):
    """Log, adapter and marker; the adapter is admitted, and nothing else stays in the folder."""
    place = submit(home, letters(home, tiny_base, steps=4, prompts=2, learning_rate=0.03))

    end = work(place, tiny_base, silent)
    collect(home, place, end)

    rows = [orjson.loads(line) for line in (place / "metrics.jsonl").read_bytes().splitlines()]
    assert [row["step"] for row in rows] == [1, 2, 3, 4]
    assert all(row["live"] + row["skipped"] == 2 for row in rows)
    assert all(sum(row[f"outcome_{kind.value}"] for kind in OutcomeKind) == 16 for row in rows)
    assert (end.reason, end.steps, done(place)) == (Reason.STEPS, 4, end)
    assert end.adapter is not None
    assert adapters.admit(home, end.adapter, base_digest(tiny_base), adapters.shapes(tiny_base)).rank == 4
    assert not (place / trl.WEIGHTS).exists()
    kinds = {path.suffix for path in place.rglob("*") if path.is_file()}
    assert kinds <= {"", ".json", ".jsonl", ".parquet", ".safetensors", ".toml"}


def test_what_trl_does_not_do_is_refused_all_at_once(home, tiny_base):
    """Not left out in silence; the message says what to set."""
    place = submit(home, tiny_job(home, tiny_base, backend="trl", passes=2, rehearsal={"weight": 1.0}))

    with pytest.raises(ContractError) as refused:
        work(place, tiny_base, silent)

    for words in (
        "exploration = 0.2 (set 0)",
        "whole_prompt = true",
        "passes = 2",
        "averaged = 0.5 (set 0)",
        "rehearsal.weight = 1 (set 0)",
    ):
        assert words in str(refused.value)
    assert done(place) is None


def test_tasks_in_worlds_are_refused(home, tiny_base):
    """Their tools and states are not TRL's."""
    job = tiny_job(home, tiny_base, **PLAIN).model_copy(update={"hop": "world"})

    with pytest.raises(ContractError, match="tasks in worlds"):
        work(submit(home, job), tiny_base, silent)


def test_an_environment_must_be_named(home, tiny_base, monkeypatch):
    """The message says how to make one."""
    monkeypatch.delenv(PYTHON, raising=False)
    place = submit(home, tiny_job(home, tiny_base, **PLAIN))

    with pytest.raises(ContractError, match=r"pip install -e '\.\[trl\]'"):
        work(place, tiny_base, silent)


def test_a_process_that_fails_says_why(home, tiny_base, monkeypatch, tmp_path):
    """Its last words are in the message, and the job is not complete."""
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\necho no module named trl\nexit 3\n")
    fake.chmod(0o755)
    monkeypatch.setenv(PYTHON, str(fake))
    place = submit(home, tiny_job(home, tiny_base, **PLAIN))

    with pytest.raises(TransientError, match="ended with 3; it said last:\nno module named trl"):
        work(place, tiny_base, silent)
    assert done(place) is None


@pytest.mark.parametrize("name", sorted(BACKENDS))
def test_every_backend_of_the_table_is_there(name):
    """Its line names a function."""
    assert callable(backend(name))
