"""SIGKILL at any instant of an ingest: run again, rows and text are those of an ingest left alone."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from rsi.intake import Splits
from rsi.settings import PROJECT, Deployment, Home
from rsi.store.snapshot import refresh
from rsi.traces.ingest import Totals, ingest
from tests.traces.inputs import CLOCK, SAMPLES, rows

SPLIT = Deployment(split=Splits(dev=0.1, gate=0.2, vault=0.1))
KILLS = 4
SMALL = """
import sys
from pathlib import Path
from rsi.settings import Home
from rsi.traces import ingest, reading
from tests.crash.test_kill_ingest import load
reading.CHUNK_RECORDS, ingest.BATCH_BYTES = 4, 1
print("begun", flush=True)
load(Home(Path(sys.argv[1])))
"""
VIEWS = (
    "traces", "spans", "messages", "tool_calls", "scores", "outcomes", "span_links", "quarantine", "trace_sides",
    "trace_texts", "moving_traces",
)  # fmt: skip
PLACES = ("ordinal", "file_id", "line", "byte_offset")


def load(home: Home) -> Totals:
    return ingest(home, CLOCK, [SAMPLES], deployment=SPLIT)


def made(path: Path) -> Home:
    """A home with a secret that all of them share."""
    path.mkdir()
    (path / "key").write_bytes(b"secret")
    return Home(path)


def content(home: Home) -> list[object]:
    """Every row without its batch and place, and every record of raw and held-out text."""
    found: list[object] = [
        sorted(map(str, rows(home, f"select columns(lambda c: c not in {PLACES}) from {view}")))
        for view in VIEWS
    ]
    for path in sorted(
        one for folder in (home.raw, home.heldout) for one in folder.rglob("*") if one.is_file()
    ):
        text = (
            pq.read_table(path).to_pylist() if path.suffix == ".parquet" else path.read_bytes().splitlines()
        )
        found.append((path.name, sorted(map(str, text))))
    return found


@pytest.mark.parametrize("seed", [0, *(pytest.param(one, marks=pytest.mark.slow) for one in range(1, KILLS))])
def test_2_a_killed_ingest_is_finished_by_the_next(seed: int, tmp_path: Path) -> None:
    """Wherever it was killed, twice over: nothing is missing, nothing is twice, no draft is left."""
    alone, home = made(tmp_path / "alone"), made(tmp_path / "home")
    load(alone)
    rng = random.Random(seed)
    for _ in range(2):
        with subprocess.Popen(
            [sys.executable, "-c", SMALL, str(home.root)], cwd=PROJECT, stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"begun\n"
            time.sleep(rng.uniform(0.05, 1.5))
            process.kill()
    totals = load(home)
    assert all(
        one.read == one.loaded + one.duplicates + one.quarantined + one.heldout
        for one in (totals, *totals.files)
    )
    assert content(home) == content(alone)
    refresh(home, CLOCK)
    assert not [path for path in home.root.rglob(".*") if path.is_file()]
