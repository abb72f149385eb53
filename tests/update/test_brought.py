"""An adapter that was trained elsewhere, as what a night's job has become."""

from pathlib import Path

import pytest

from rsi.errors import ContractError
from rsi.ports import silent
from rsi.registry import adapters
from rsi.settings import Home
from rsi.update import job as jobs
from rsi.update.brought import brought
from rsi.update.job import Job, Reason, collect, submit
from tests.made import tiny_job


def elsewhere(folder: Path, job: Job, **changed: object) -> Path:
    """A folder as another training leaves it; what is in its weights nobody looks at here."""
    folder.mkdir()
    (folder / "adapter_config.json").write_text('{"target_modules": ["q_proj"]}')
    (folder / "adapter_model.safetensors").write_bytes(b"weights")
    card = adapters.Card(
        role=job.role,
        base=job.base,
        rank=4,
        alpha=8,
        files=adapters.hashes(folder),
        harness=job.harness,
        probe=(),
    )
    adapters.seal(folder, card.model_copy(update=changed))
    return folder


def test_it_is_what_the_job_left_and_says_where_it_came_from(
    home: Home, tiny_base: Path, tmp_path: Path
) -> None:
    """Complete, collected under the name of its content; a second time nothing happens."""
    job = tiny_job(home, tiny_base)
    place, folder = submit(home, job), elsewhere(tmp_path / "there", job)

    brought(folder)(place, silent)
    brought(tmp_path / "nothing")(place, silent)
    end = jobs.done(place)

    assert end is not None
    assert (end.reason, end.reason.well, end.steps) == (Reason.BROUGHT, True, 0)
    assert end.ended == "trained elsewhere, and brought from there"
    collect(home, place, end)
    assert adapters.describe(home, str(end.adapter)).role == "L0"


@pytest.mark.parametrize("what", ["role", "base", "harness"])
def test_one_that_is_not_for_tonight_is_refused(
    home: Home, tiny_base: Path, tmp_path: Path, what: str
) -> None:
    """The message says what it is and what is trained; the job stays open."""
    job = tiny_job(home, tiny_base)
    place, folder = submit(home, job), elsewhere(tmp_path / "there", job, **{what: "L9"})

    with pytest.raises(ContractError, match=f"has {what} L9; tonight trains {what}"):
        brought(folder)(place, silent)
    with pytest.raises(ContractError, match="holds no adapter of ours"):
        brought(tmp_path)(place, silent)

    assert jobs.done(place) is None
