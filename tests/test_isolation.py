"""Discover, expand and update never open what the gate holds."""

import os
import subprocess
import sys

from rsi.settings import PROJECT
from tests import night_made

WATCH = """
import sys
from pathlib import Path
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
from rsi.night import STAGES, begin, lock, run_stage
from rsi.settings import Deployment, Home
from tests import night_made
home, base = Home(Path(sys.argv[1])), Path(sys.argv[2])
deployment, world = Deployment.read(home.deployment_file), night_made.world(base)
with lock(home, world, night_made.NIGHT):
    context = begin(home, deployment, world, night_made.NIGHT)
    for stage in sys.argv[3:]:
        run_stage(context, stage)
print("\\n".join(sorted({path for path in opened if "contracts" in path})))
"""


def opened(home, base, contracts, *stages):
    """Files below the contracts' folder that a process opened while it ran these stages."""
    done = subprocess.run(
        [sys.executable, "-c", WATCH, str(home.root), str(base), *stages],
        env={**os.environ, "RSI_CONTRACTS": str(contracts), "OMP_NUM_THREADS": "1"},
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {line.rsplit("/", 1)[-1] for line in done.stdout.split()}


def test_the_loop_opens_fingerprints_and_nothing_else_of_a_suite(tmp_path, tiny_base):
    """An audit hook saw every open; the gate, for comparison, opens the items."""
    contracts = night_made.contracts(tmp_path / "contracts")
    home = night_made.make_home(tmp_path / "home", tiny_base)

    assert opened(home, tiny_base, contracts, "discover", "expand", "update") == {"fingerprints.json"}
    assert "items.jsonl" in opened(home, tiny_base, contracts, "gate")


def test_no_held_out_text_reaches_what_the_loop_writes(tmp_path, tiny_base, monkeypatch):
    """After a whole night no file but the verdict's scorecard holds one."""
    monkeypatch.setenv("RSI_CONTRACTS", str(night_made.contracts(tmp_path / "contracts")))
    home = night_made.make_home(tmp_path / "home", tiny_base)
    night_made.run_night(home, tiny_base)
    texts = [text.encode() for held in night_made.HELD_OUT.values() for text in held]

    leaks = [
        path.name
        for path in home.root.rglob("*")
        if path.is_file() and any(text in path.read_bytes() for text in texts)
    ]
    assert set(leaks) <= {"scorecard.json"}
