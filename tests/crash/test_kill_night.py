"""SIGKILL at every fault point of a night: run again, the outcome is that of a night left alone."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import orjson
import pytest

from rsi import faults
from rsi.settings import PROJECT, Home
from rsi.store.ledger import Ledger
from tests import night_made
from tests.made import FixedClock

ELSEWHERE = {"approval", "collect", "delete", "move", "promote", "remote", "rollback", "rollouts", "spool"}
"""Points that a night does not pass; they are killed at in the tests of those modules."""
POINTS = [name for name in faults.points() if name.split(".")[0] not in ELSEWHERE]
QUICK = {"update.after_checkpoint", "gate.after_ask"}
"""Points that every run of the tests kills at: in the two long parts of a night. The others take their time."""
LATER = {"ledger.after_append": 3, "update.after_step": 3}
"""Turn at which to kill, where the first would come before anything interesting."""


def outcome(home: Home) -> tuple[list[tuple[str | None, ...]], list[list[int]]]:
    """All that must not depend on what crashed: the ledger, and the steps that the metrics tell of.

    A question to the gate that is begun again is another record, for it counts; its place is that of the first.
    """
    records: list[tuple[str | None, ...]] = []
    for one in Ledger(home.ledger, FixedClock()):
        said = (one.kind, one.night, one.stage, one.input, one.output)
        if one.kind != "ask" or said not in records:
            records.append(said)
    metrics = [path.read_bytes().splitlines() for path in home.jobs.glob("*/metrics.jsonl")]
    return records, [[orjson.loads(line)["step"] for line in lines] for lines in metrics]


def run(
    home: Home, base, contracts, fault: str = "", kill_after: float | None = None
) -> subprocess.CompletedProcess:
    """One night in a process of its own, killed after some seconds where it is said."""
    command = [sys.executable, "-m", "tests.night_made", str(home.root), str(base)]
    with subprocess.Popen(
        command,
        env={**os.environ, "RSI_FAULT": fault, "RSI_CONTRACTS": str(contracts), "OMP_NUM_THREADS": "1"},
        cwd=PROJECT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            said = process.communicate(timeout=kill_after)
        except subprocess.TimeoutExpired:
            process.kill()
            said = process.communicate()
    return subprocess.CompletedProcess(command, process.returncode, *said)


class Prepared(NamedTuple):
    """What all of these tests start from."""

    fresh: Home
    contracts: Path
    expected: object
    seconds: float
    """What a night left alone takes, here and now."""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory, tiny_base):
    """A home before its first night, contracts, and what a night left alone makes."""
    root = tmp_path_factory.mktemp("kill")
    contracts = night_made.contracts(root / "contracts")
    fresh = night_made.make_home(root / "fresh", tiny_base)
    alone = Home(root / "alone")
    shutil.copytree(fresh.root, alone.root)
    began = time.monotonic()
    ended = run(alone, tiny_base, contracts)
    assert ended.returncode == 0, ended.stderr
    return Prepared(fresh, contracts, outcome(alone), time.monotonic() - began)


@pytest.mark.parametrize(
    "point", [pytest.param(one, marks=() if one in QUICK else pytest.mark.slow) for one in POINTS]
)
def test_1_a_killed_night_runs_to_the_same_end(point, prepared, tiny_base, tmp_path):
    """Ledger, digests and adapters are equal, whichever point the process died at."""
    fresh, contracts, expected, _ = prepared
    home = Home(tmp_path / "home")
    shutil.copytree(fresh.root, home.root)

    killed = run(home, tiny_base, contracts, f"{point}#{LATER.get(point, 1)}")
    assert killed.returncode == -signal.SIGKILL, f"{point} was not reached: {killed.stdout}{killed.stderr}"
    again = run(home, tiny_base, contracts)

    assert again.returncode == 0, again.stderr
    assert outcome(home) == expected


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_2_a_night_killed_at_random_times_runs_to_the_same_end(seed, prepared, tiny_base, tmp_path):
    """Twice in a row: anywhere in a night, then while it goes on."""
    home, rng = Home(tmp_path / "home"), random.Random(seed)
    shutil.copytree(prepared.fresh.root, home.root)

    killed = run(home, tiny_base, prepared.contracts, kill_after=rng.uniform(0.1, 0.8) * prepared.seconds)
    assert killed.returncode == -signal.SIGKILL, killed.stdout
    run(home, tiny_base, prepared.contracts, kill_after=rng.uniform(0.1, 0.5) * prepared.seconds)
    again = run(home, tiny_base, prepared.contracts)

    assert again.returncode == 0, again.stderr
    assert outcome(home) == prepared.expected
