"""Banks hold more than the trainer can train."""

from pathlib import Path

import pytest

from rsi.context import Context, Start
from rsi.errors import QuietError
from rsi.registry.genesis import found
from rsi.settings import Home
from rsi.tasks import bank
from rsi.update.job import submit, tasks
from rsi.update.stage import update
from tests import night_made
from tests.made import FixedClock, base_digest, router, routing_tasks, tiny_job
from tests.tasks.test_columns import CALL


def test_tasks_of_another_hop_stay_in_the_bank_and_out_of_the_job(home: Home, tiny_base: Path) -> None:
    """The job trains on the others."""
    job = tiny_job(home, tiny_base)
    job = job.model_copy(update={"bank": bank.freeze(home, "2026-01-03", [*routing_tasks(), CALL])})
    place = submit(home, job)

    assert {one.hop for one in tasks(place, job)} == {"route"}
    assert CALL.task_id in {one.task_id for one in bank.load(home, job.bank)}


def test_a_bank_without_a_task_that_can_be_trained_makes_a_quiet_night(home: Home, tiny_base: Path) -> None:
    """The reason says what it keeps."""
    deployment = night_made.settings(tiny_base)
    version = found(home, FixedClock(), deployment, router(), base_digest(tiny_base)).output
    start = Start(
        night="2026-01-02", champion=str(version), ordinal=1, deployment=deployment.digest, previous=None
    )
    name = bank.freeze(home, "2026-01-02", [CALL])

    with pytest.raises(QuietError, match=r"has no task of hop route or world.*keeps 1 of hop tool"):
        update(Context(home, deployment, night_made.world(tiny_base), start), name)
