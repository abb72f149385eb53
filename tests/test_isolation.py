"""Discover, expand and update never open what the gate holds."""

import os
import shlex
import subprocess
import sys

import orjson
import pytest

from rsi.engine.publish import EngineReplica
from rsi.gate.suites import fresh
from rsi.ids import night
from rsi.night import STAGES, begin, run, run_stage
from rsi.registry import promote
from rsi.settings import PROJECT, Deployment, gate_key
from rsi.store.database import store_batch
from rsi.store.ledger import Ledger
from rsi.tasks import bank, refused
from rsi.tasks.screen import request_of
from tests import machine_made, night_made
from tests.made import REQUESTS, FixedClock

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


@pytest.mark.slow
def test_the_loop_opens_fingerprints_and_nothing_else_of_a_suite(tmp_path, tiny_base):
    """An audit hook saw every open; the gate, for comparison, opens the items."""
    contracts = night_made.contracts(tmp_path / "contracts")
    home = night_made.make_home(tmp_path / "home", tiny_base)

    assert opened(home, tiny_base, contracts, "discover", "expand", "update") == {"fingerprints.json"}
    assert "items.jsonl" in opened(home, tiny_base, contracts, "gate")


APART = """
import sys
from dataclasses import replace
from pathlib import Path
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
from rsi.gate.examiner import Process
from rsi.night import run
from rsi.settings import Deployment, Home, gate_command
from tests import night_made
home, base = Home(Path(sys.argv[1])), Path(sys.argv[2])
world = replace(night_made.world(base), examiner=Process(gate_command()))
print(run(home, Deployment.read(home.deployment_file), world, night_made.NIGHT).reason)
print("\\n".join(["opened", *sorted(set(opened))]))
"""


@pytest.fixture(scope="module")
def apart(tmp_path_factory, tiny_base):
    """A whole night whose gate is a process of its own; its home, what it said, and the files that it opened."""
    root = tmp_path_factory.mktemp("apart")
    contracts = night_made.contracts(root / "contracts")
    home = night_made.make_home(root / "home", tiny_base)
    fresh.make(gate_key(home))
    command = shlex.join(["env", f"RSI_CONTRACTS={contracts}", sys.executable, "-m", "rsi.gate.worker"])
    environment = {name: value for name, value in os.environ.items() if name != "RSI_CONTRACTS"}
    done = subprocess.run(
        [sys.executable, "-c", APART, str(home.root), str(tiny_base)],
        env={**environment, "RSI_GATE": command, "OMP_NUM_THREADS": "1"},
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said, opened = done.stdout.split("\nopened\n")
    return home, said + done.stderr, opened.splitlines()


def test_53_only_the_gates_process_opens_what_is_held_out(apart):
    """An audit hook saw every open of the loop: no contract, no suite, no scorecard; and the verdict came."""
    home, said, opened = apart

    places = (str(home.root.parent / "contracts"), str(PROJECT / "contracts"))
    assert [path for path in opened if path.startswith(places)] == []
    assert [path for path in opened if path.endswith(("scorecard.json", "items.jsonl", "gate.key"))] == []
    assert any(path.endswith("fingerprints.json") for path in opened), "the hook sees the copies that the gate gave"
    assert [path.name for path in home.verdicts.glob("*/scorecard.json")] == ["scorecard.json"]
    assert "verdict" in said


def told(home):
    """Every text of the tables, of store and snapshot, and of columns on disk."""
    import duckdb

    for path in (home.store, home.snapshot):
        with duckdb.connect(str(path), read_only=True) as connection:
            for (name,) in connection.execute("select table_name from duckdb_tables() where not internal").fetchall():
                yield f"{path.name}:{name}", str(connection.execute(f'from "{name}"').fetchall())
    with duckdb.connect() as connection:
        for path in home.root.rglob("*.parquet"):
            yield str(path), str(connection.execute("from read_parquet($path)", {"path": str(path)}).fetchall())
    for path in home.root.rglob("*"):
        if path.is_file():
            yield str(path.relative_to(home.root)), path.read_bytes().decode(errors="replace")


def test_55_no_canary_of_a_held_out_item_is_anywhere_else(apart):
    """Not in a trace, prompt, task, rollout, log, card, report or table; the scorecard alone has the items' ids."""
    home, said, _ = apart
    canaries = [text for texts in night_made.HELD_OUT.values() for text in texts]
    canaries += [question for question, _ in night_made.QUESTIONS]
    everything = [*told(home), ("output", said)]

    assert [place for place, text in everything if any(canary in text for canary in canaries)] == []
    known = next(iter(REQUESTS["L1"]))
    places = {place.split(":")[0] for place, text in everything if known in text}
    assert {"store.duckdb", "snapshot.duckdb"} <= places, "what is not held out is found by the same search"
    key = gate_key(home).read_text()
    assert [place for place, text in everything if key in text] == ["heldout/gate.key"]
    ids = [place for place, text in everything if "L1-0" in text and "q-0" in text]
    assert all(place.endswith(("scorecard.json", "fingerprints.json")) for place in ids)
    assert [path.name for path in home.inbox.iterdir()] == ["L0.jsonl"], "what the gate asked is no traffic"


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


def test_57_what_single_items_came_to_changes_nothing_of_the_next_night(tmp_path, monkeypatch):
    """Two houses whose candidates got as many of the gate's items right, but others: the next nights are the same."""
    folder = machine_made.base(tmp_path / "base")
    monkeypatch.setenv("RSI_CONTRACTS", str(machine_made.contracts(tmp_path / "contracts")))
    results, nights = zip(
        *(
            _two_nights(tmp_path / name, folder, order)
            for name, order in (("one", machine_made.HELD_OUT), ("other", machine_made.HELD_OUT[::-1]))
        ),
        strict=True,
    )

    assert set(results[0]) & set(results[1]) == set() and len(results[0]) == len(results[1]) == machine_made.STEP
    assert nights[0] == nights[1] and [stage for stage, _ in nights[0]] == ["discover", "expand", "update"]


def _two_nights(place, folder, order):
    """Items that the first night's candidate got right, and what the stages of the second one made."""
    clock = FixedClock()
    home, deployment = machine_made.make_home(place / "home", folder, clock)
    world = machine_made.world(home, folder, clock, order=order)
    machine_made.logs(home.inbox, 1)
    verdict = str(run(home, deployment, world, night("2026-01-02")).verdict)
    scorecard = orjson.loads((home.verdicts / verdict / "scorecard.json").read_bytes())
    right = [one["item_id"] for one in scorecard["results"] if one["candidate"]["score"] != one["champion"]["score"]]
    machine_made.approve(home, verdict)
    promote.promote(home, clock, verdict, [EngineReplica(world.engine())], folder)
    machine_made.logs(home.inbox, 2)
    run(home, deployment, world, night("2026-01-03"))
    records = [one for one in Ledger(home.ledger, clock) if one.kind == "stage" and one.night == "2026-01-03"]
    return right, [(one.stage, one.output) for one in records if one.stage != "gate"]
