"""What is removed by age, and what never is."""

import os
from pathlib import Path

import pytest

from rsi.settings import Deployment, Home, Retention
from rsi.store.ledger import Ledger
from rsi.store.retention import Kind, old, tidy
from tests.made import FixedClock
from tests.traces.inputs import SAMPLES, load

NOW = FixedClock("2026-06-01T00:00:00+00:00")
DAY_S = 86_400
ALL = Retention(spool_days=7, jobs_days=7, snapshots_days=7)


def aged(path: Path, days: float, data: bytes = b"x") -> Path:
    """A file that was written so many days ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    at = NOW.now().timestamp() - days * DAY_S
    os.utime(path, (at, at))
    return path


@pytest.fixture
def made(home: Home) -> Home:
    """Spool read and not read, jobs over and going, stores of older versions, and what records name."""
    chat = (SAMPLES / "chat.jsonl").read_bytes()
    read = aged(home.inbox / "gateway-1.ndjson", 30, chat)
    load(home, read)
    aged(home.inbox / "copy.ndjson", 3, chat)
    aged(home.inbox / "gateway-2.ndjson", 30, b'{"never": "read"}\n')
    aged(home.inbox / "gateway-3.ndjson.open", 30, chat)
    for job, days, files in (
        ("over", 30, ("complete.json",)),
        ("young", 2, ("complete.json",)),
        ("going", 30, ()),
    ):
        for name in (
            "job.json",
            "metrics.jsonl",
            "adapter/adapter.json",
            "rollouts.parquet",
            "actor/a",
            *files,
        ):
            aged(home.jobs / job / name, days)
    for name in ("store.v3.duckdb", ".snapshot.abc/store.duckdb", "snapshot.duckdb"):
        aged(home.root / name, 30)
    os.utime(home.root / ".snapshot.abc", (0, 0))
    for name in ("banks/a/manifest.json", "versions/a.json", "raw/a.parquet", "adapters/L0-1/adapter.json"):
        aged(home.root / name, 3000)
    return home


def names(home: Home) -> set[str]:
    """Files in the home."""
    return {str(one.relative_to(home.root)) for one in home.root.rglob("*") if one.is_file()}


def test_only_what_is_old_and_not_needed_goes(made: Home) -> None:
    """Each with its kind and size; looking removes nothing."""
    before = names(made)
    seen = old(made, ALL, NOW)
    assert names(made) - {"locks/store"} == before - {"locks/store"}

    gone = tidy(made, ALL, NOW)

    assert gone == seen
    assert before - names(made) == {
        "inbox/gateway-1.ndjson",
        "jobs/over/rollouts.parquet",
        "jobs/over/actor/a",
        "store.v3.duckdb",
        ".snapshot.abc/store.duckdb",
    }
    assert {one.kind for one in gone} == set(Kind)
    assert sum(one.bytes for one in gone if one.kind is Kind.JOBS) == 2
    assert tidy(made, ALL, NOW) == ()


def test_nothing_goes_where_no_age_is_named(made: Home) -> None:
    """As in a deployment file that does not speak of it."""
    assert old(made, Retention(), NOW) == ()
    assert Deployment().retention == Retention()


def test_what_is_kept_does_not_change_what_a_night_is() -> None:
    """A night that began goes on under another retention."""
    assert Deployment(retention=ALL).digest == Deployment().digest


def test_the_ledger_and_the_store_stay(made: Home) -> None:
    """However old."""
    Ledger(made.ledger, NOW).append("genesis", output="a" * 64)
    for path in (made.ledger, made.store):
        os.utime(path, (0, 0))
    tidy(made, Retention(spool_days=1, jobs_days=1, snapshots_days=1), NOW)

    assert made.ledger.exists()
    assert made.store.exists()
    assert made.snapshot.exists()
