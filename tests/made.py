"""Small things that tests of the loop are made from: a base, a harness, a bank, a job."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from rsi.algorithm import Update
from rsi.assets import base_folder
from rsi.harness import hcp
from rsi.records import ChatMessage, Task
from rsi.settings import PROJECT, Home
from rsi.tasks import bank
from rsi.update.job import Job

REQUESTS = {
    "L0": ("why is the sky blue", "tell me a joke about cats", "what does a mayor do", "write a short poem"),
    "L1": (
        "book a taxi for nine",
        "is my parcel there yet",
        "turn the heating off",
        "what is gold worth today",
    ),
    "L2": (
        "a function that sorts names",
        "regex for a date",
        "sql for the ten oldest users",
        "script to zip logs",
    ),
    "L3": (
        "a page with a login form",
        "dashboard with two charts",
        "a kanban board",
        "slider that mixes colours",
    ),
}
"""Invented requests by role."""


class FixedClock:
    """A clock that stands until it is moved."""

    def __init__(self, at: str = "2026-01-02T02:00:00+00:00") -> None:
        self._at = datetime.fromisoformat(at)

    def now(self) -> datetime:
        """The moment it stands at."""
        return self._at.astimezone(UTC)

    def move(self, **by: float) -> None:
        """Go on by a timedelta's arguments."""
        self._at += timedelta(**by)


def base_digest(folder: Path) -> str:
    """What names a base folder."""
    return base_folder(str(folder))[1]


def router() -> hcp.Harness:
    """The harness of the repository."""
    return hcp.read(PROJECT / "data" / "harness" / "router.toml")


def routing_tasks() -> list[Task]:
    """One task a request of `REQUESTS`."""
    return [
        bank.task(
            "route", (ChatMessage(role="user", content=text),), "choice", role, None, ("trace",), "correction"
        )
        for role, texts in REQUESTS.items()
        for text in texts
    ]


def tiny_job(home: Home, base: Path, **settings: object) -> Job:
    """A small training job over `routing_tasks`, its bank and harness stored in `home`."""
    harness = router()
    hcp.store(home.harnesses, harness)
    name = bank.freeze(home, "2026-01-02", routing_tasks())
    asked = {"steps": 6, "prompts": 4, "samples": 8, "rank": 4, "alpha": 8, "checkpoint_every": 2, **settings}
    return Job(
        base=base_digest(base),
        base_name=str(base),
        role="L0",
        warm_start=None,
        frozen=(),
        bank=name,
        harness=harness.digest,
        settings=Update.model_validate(asked),
    )
