"""A training job: one folder that any worker can run, named by the digest of what it is asked to do.

``job.json``, ``tasks.parquet`` with the bank's ``manifest.json``, ``harness.toml`` and ``adapters/`` say what to do and
with what; nothing else is needed but the base model. While it runs ``metrics.jsonl`` and ``checkpoints/`` grow; at its
end there is ``adapter/``, the checkpoints go, and ``complete.json`` is written last.
"""

import shutil
from enum import StrEnum
from pathlib import Path

from pydantic import Field, ValidationError

from rsi.algorithm import Update
from rsi.errors import ContractError, IntegrityError
from rsi.harness import hcp
from rsi.ids import canonical, digest_file
from rsi.records import BankManifest, Record, Task
from rsi.registry import adapters
from rsi.settings import Home
from rsi.store.files import publish_folder, write_whole
from rsi.tasks import bank
from rsi.tasks.prompt import ROUTE

SHOWN = "shown.parquet"
"""Rollouts of earlier jobs, where a job learns from their successes."""


class Job(Record):
    """What to train, on what, how; its digest names the folder."""

    schema_version: int = 3
    base: str
    """Digest of the base model."""
    base_name: str
    """Asset name or folder of it."""
    role: str
    """The role whose adapter is trained."""
    hop: str = ROUTE
    """Which of the bank's tasks it trains on."""
    warm_start: str | None
    """Adapter to start from; null for fresh weights."""
    frozen: tuple[str, ...]
    """Adapters of other roles, present in memory and never to change."""
    bank: str
    """Digest of the bank."""
    harness: str
    """Digest of the harness whose prompts are trained under."""
    settings: Update
    shown: str | None = None
    """SHA-256 of ``shown.parquet``: rollouts of earlier jobs whose successes it is shown, where its algorithm shows
    anything; null for the solutions that the tasks bring."""

    @property
    def adapters(self) -> list[str]:
        """Names of all adapters that it needs, sorted."""
        return sorted({*self.frozen, *([self.warm_start] if self.warm_start else [])})


class Reason(StrEnum):
    """Why a job ended."""

    STEPS = "steps"
    """All its steps were taken."""
    SECONDS = "seconds"
    TOKENS = "tokens"
    MONEY = "money"
    CLOCK = "clock"
    """One of its budgets was used up: its adapter is what it has become."""
    NO_SIGNAL = "no_signal"
    MISMATCH = "mismatch"
    ENTROPY = "entropy"
    REPEATED = "repeated"
    LENGTH = "length"
    GRADIENT = "gradient"
    """A rule was broken for too long."""
    DIVERGED = "diverged"
    """Loss, gradient or log-probs were no longer numbers."""
    STALLED = "stalled"
    """Nothing moved."""
    BROUGHT = "brought"
    """Its adapter was trained elsewhere (`rsi.update.brought`)."""

    @property
    def well(self) -> bool:
        """Whether what the job has become may be kept."""
        return self in (Reason.STEPS, Reason.SECONDS, Reason.TOKENS, Reason.MONEY, Reason.CLOCK, Reason.BROUGHT)


class Done(Record):
    """``complete.json``."""

    adapter: str | None
    """Name of the adapter in ``adapter/``; null where there is none."""
    steps: int
    """Steps that were taken."""
    skipped: int
    """Groups without signal."""
    ended: str
    """Why it ended, in words."""
    reason: Reason = Reason.STEPS
    """Why it ended."""
    unusable: int = 0
    """Tasks of the bank that could not be tried and were left out."""
    refused: dict[str, int] = Field(default_factory=dict)
    """Reason -> count of the rollouts that it was given and not shown: `rsi.update.shown.Refused`."""

    @property
    def words(self) -> str:
        """What came of it, in a line."""
        return f"adapter {self.adapter}: {self.ended}" if self.adapter else f"no adapter: {self.ended}"


def folder(home: Home, job: Job) -> Path:
    """Where a job lies in a home."""
    return home.jobs / job.digest


def submit(home: Home, job: Job, rollouts: Path | None = None) -> Path:
    """Make the job's folder, or find it; `rollouts` is the file that `job.shown` names.

    Raises:
        IntegrityError: bank, harness, rollouts or an adapter that it needs is not what its name says.
    """

    def fill(target: Path) -> None:
        (target / "job.json").write_bytes(canonical(job.model_dump(mode="json")))
        for file in ("tasks.parquet", "manifest.json"):
            shutil.copyfile(home.banks / job.bank / file, target / file)
        shutil.copyfile(home.harnesses / f"{job.harness}.toml", target / "harness.toml")
        if rollouts is not None:
            shutil.copyfile(rollouts, target / SHOWN)
        for name in needed:
            shutil.copytree(adapters.folder(home, name), target / "adapters" / name)

    bank.manifest(home, job.bank)
    hcp.load(home.harnesses, job.harness)
    if (rollouts and digest_file(rollouts)) != job.shown:
        raise IntegrityError(f"the job is shown {job.shown}, which is not the digest of {rollouts}")
    needed = job.adapters
    for name in needed:
        adapters.describe(home, name)
    return publish_folder(folder(home, job), fill)


def read(place: Path) -> Job:
    """The job in a folder.

    Raises:
        ContractError: there is none.
    """
    path = place / "job.json"
    try:
        return parse(path.read_bytes(), str(path))
    except FileNotFoundError:
        raise ContractError(f"{place} is no job's folder: expected {path}") from None


def parse(data: bytes, where: str) -> Job:
    """A job from its JSON; `where` is named in the error.

    Raises:
        ContractError: it is none of this version.
    """
    try:
        return Job.parse(data)
    except ValidationError as error:
        raise ContractError(f"{where} is no job of this version: {error.errors()[0]['msg']}") from None


def tasks(place: Path, job: Job) -> tuple[Task, ...]:
    """The job's tasks: those of its hop.

    Raises:
        IntegrityError: they are not those of the job's bank.
        ContractError: there are none.
    """
    try:
        said = BankManifest.parse((place / "manifest.json").read_bytes())
        held = digest_file(place / "tasks.parquet")
    except (FileNotFoundError, ValidationError) as error:
        raise IntegrityError(f"job {job.digest[:12]} lacks its tasks in {place}: {error}") from None
    if said.digest != job.bank or held != said.tasks_sha256:
        raise IntegrityError(
            f"{place / 'tasks.parquet'} is not bank {job.bank[:12]}; remove the folder and submit the job again"
        )
    found = tuple(one for one in bank.read(place / "tasks.parquet") if one.hop == job.hop)
    if not found:
        raise ContractError(f"bank {job.bank[:12]} has no {job.hop} task to train role {job.role} on")
    return found


def harness(place: Path, job: Job) -> hcp.Harness:
    """The harness that the job trains under.

    Raises:
        IntegrityError: the folder holds another one.
    """
    found = hcp.read(place / "harness.toml")
    if found.digest != job.harness:
        raise IntegrityError(
            f"{place / 'harness.toml'} is harness {found.digest[:12]}, the job names {job.harness[:12]}"
        )
    return found


def done(place: Path) -> Done | None:
    """How it ended, or None while it has not."""
    path = place / "complete.json"
    return Done.parse(path.read_bytes()) if path.exists() else None


def finish(place: Path, end: Done) -> Done:
    """Write the marker that makes a job complete."""
    write_whole(place / "complete.json", canonical(end.model_dump(mode="json")))
    return end


def collect(home: Home, place: Path, end: Done) -> None:
    """Bring the adapter of a complete job into the home, or nothing where it is not what the job named.

    Raises:
        IntegrityError: it is not; a worker may be another machine.
    """
    name = end.adapter
    if name is None:
        return

    def fill(target: Path) -> None:
        try:
            for file in adapters.FILES:
                shutil.copyfile(place / "adapter" / file, target / file)
            found = adapters.name_of(target)
        except (FileNotFoundError, ValidationError) as error:
            raise IntegrityError(f"{place / 'adapter'} is no whole adapter: {error}") from None
        if found != name:
            raise IntegrityError(
                f"{place / 'adapter'} is adapter {found}, and the job names {name[:80]}; remove the job's folder "
                "and train again"
            )

    publish_folder(adapters.folder(home, name), fill)
    adapters.describe(home, name)
