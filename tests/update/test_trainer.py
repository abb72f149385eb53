"""Who works on a job: this process, or the world's trainer; the candidate is the same."""

from dataclasses import replace

import pytest
import torch

from rsi.errors import IntegrityError
from rsi.harness import hcp
from rsi.ids import Digest
from rsi.registry import champion
from rsi.settings import Deployment
from rsi.store.ledger import Ledger
from rsi.tasks import bank
from rsi.update.job import done
from rsi.update.remote import work_on
from rsi.update.stage import train
from tests.made import FixedClock, router, routing_tasks
from tests.night_made import make_home, world


def trained(home, base, trainer):
    """A candidate for L0 on the invented requests."""
    torch.set_num_threads(1)
    deployment = Deployment.read(home.deployment_file)
    parent = Digest(champion.current(Ledger(home.ledger, FixedClock())))
    hcp.store(home.harnesses, router())
    name = bank.freeze(home, "2026-01-02", routing_tasks())
    around = replace(world(base), trainer=trainer)
    return train(home, deployment, around, parent, name, "L0", "route", deployment.update)


def test_a_trainer_elsewhere_makes_the_same_candidate(tmp_path, tiny_base):
    """It is given the job's folder and nothing else, and need not leave more than the folder."""
    here = trained(make_home(tmp_path / "here", tiny_base), tiny_base, None)
    asked = []

    def elsewhere(place, progress):
        asked.append(place)
        work_on(str(place), None, progress)

    assert trained(make_home(tmp_path / "there", tiny_base), tiny_base, elsewhere) == here
    assert [done(place) is not None for place in asked] == [True]


def test_a_trainer_that_leaves_nothing_is_not_believed(tmp_path, tiny_base):
    """Without complete.json there is no candidate."""
    with pytest.raises(IntegrityError, match=r"no complete\.json"):
        trained(make_home(tmp_path / "home", tiny_base), tiny_base, lambda place, progress: None)
