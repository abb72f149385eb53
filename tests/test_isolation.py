"""Discover, expand and update never open what the gate holds."""

import os
import subprocess
import sys

import orjson

from rsi.night import STAGES, begin, run_stage
from rsi.settings import PROJECT, Deployment
from rsi.store.database import store_batch
from rsi.tasks import bank, refused
from rsi.tasks.screen import request_of
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


def test_held_out_text_and_unknown_labels_in_traffic_make_no_task(tmp_path, tiny_base, monkeypatch):
    """Both are counted by reason; the rest of the traffic becomes the bank."""
    monkeypatch.setenv("RSI_CONTRACTS", str(night_made.contracts(tmp_path / "contracts")))
    home = night_made.make_home(tmp_path / "home", tiny_base)
    planted = [(night_made.HELD_OUT["L1"][0].upper(), "L1"), ("sing me to sleep", "L9")]
    (home.inbox / "planted.jsonl").write_bytes(
        b"".join(
            orjson.dumps(
                {
                    "id": text,
                    "messages": [{"role": "user", "content": text}, {"role": "assistant", "content": "well"}],
                    "scores": [{"name": "route", "value": 0.0, "correction": role, "source": "human"}],
                }
            )
            + b"\n"
            for text, role in planted
        )
    )
    deployment = Deployment.read(home.deployment_file)
    context = begin(home, deployment, night_made.world(tiny_base), night_made.NIGHT)

    made = [run_stage(context, stage) for stage in list(STAGES)[:2]][-1]

    assert bank.manifest(home, made).rejected == {"held_out_exact": 1, "unknown_label": 1}
    assert {text for text, _ in planted}.isdisjoint(request_of(one) for one in bank.load(home, made))
    assert bank.manifest(home, made).tasks == 16
    held, stranger = sorted(refused.read(home), key=lambda one: one.reason)
    assert (held.reason, held.held_out) == ("held_out_exact", "tiny-routing/v1:L1-0")
    assert (stranger.reason, stranger.expected) == ("unknown_label", "L9")
    with store_batch(home, night_made.world(tiny_base).clock, "test") as connection:
        rows = connection.execute("select night, reason, held_out, len(traces) from refusals order by reason")
        told = rows.fetchall()
    assert told == [
        (night_made.NIGHT, "held_out_exact", "tiny-routing/v1:L1-0", 1),
        (night_made.NIGHT, "unknown_label", None, 1),
    ]
