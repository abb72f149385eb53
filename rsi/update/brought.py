"""An adapter that was trained elsewhere, as what a night's job has become.

The job says what the night would have trained, its end says where the adapter came from; it is admitted, gated, asked
about and promoted like any other.
"""

import shutil
from pathlib import Path

from pydantic import ValidationError

from rsi.errors import ContractError
from rsi.ports import Progress, Trainer
from rsi.registry import adapters
from rsi.update import job as jobs
from rsi.update.job import Done, Reason


def brought(folder: Path) -> Trainer:
    """A trainer that trains nothing: it lays the adapter of a folder into the job's.

    Raises (when asked to work):
        ContractError: the folder holds no adapter, or one of another role, base or harness than the job's.
    """

    def bring(place: Path, progress: Progress) -> None:
        if jobs.done(place) is not None:
            return
        job = jobs.read(place)
        try:
            card = adapters.Card.parse((folder / adapters.FILES[0]).read_bytes())
            name = adapters.name_of(folder)
        except (FileNotFoundError, ValidationError) as error:
            raise ContractError(f"{folder} holds no adapter of ours: {error}") from None
        for what, found, wanted in (
            ("role", card.role, job.role),
            ("base", card.base, job.base),
            ("harness", card.harness, job.harness),
        ):
            if found != wanted:
                raise ContractError(
                    f"the adapter in {folder} has {what} {found[:12]}; tonight trains {what} {wanted[:12]}"
                )
        target = place / "adapter"
        target.mkdir(exist_ok=True)
        for file in adapters.FILES:
            shutil.copyfile(folder / file, target / file)
        (place / "metrics.jsonl").touch()
        said = f"trained elsewhere, and brought from {folder.name}"
        progress("update", 1, 1, said)
        jobs.finish(place, Done(adapter=name, steps=0, skipped=0, ended=said, reason=Reason.BROUGHT))

    return bring
