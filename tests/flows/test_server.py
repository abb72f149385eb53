"""A Prefect server that is not there is one clear line."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import orjson
import pytest

from flows.processes import Processes
from flows.server import Server, publish, settings, start
from flows.watch import Watch
from rsi.errors import TransientError
from rsi.night import STAGES
from rsi.ports import SystemClock
from rsi.registry.waiting import api_url
from rsi.settings import PROJECT, Home
from rsi.store.ledger import Ledger
from tests.flows.flow_made import tiny_home
from tests.night_made import contracts, traces

DEAD = "http://127.0.0.1:9/api"


def _deploy(home: Home, **environment: str) -> "subprocess.CompletedProcess[str]":
    kept = {name: value for name, value in os.environ.items() if name != "PREFECT_API_URL"}
    command = [sys.executable, "-m", "flows.deploy", "--home", str(home.root)]
    return subprocess.run(
        command, env={**kept, **environment}, capture_output=True, text=True, timeout=60, check=False
    )


def test_serving_without_a_server_is_one_line(tiny_base: Path, tmp_path: Path) -> None:
    """None named: exit 2. A dead one: exit 75. Nothing is left in the home either way."""
    home = tiny_home(tmp_path / "home", tiny_base, with_traces=False)
    unnamed, dead = _deploy(home), _deploy(home, PREFECT_API_URL=DEAD)
    assert (unnamed.returncode, dead.returncode) == (2, 75)
    for said, words in (
        (unnamed.stderr, "no Prefect server is named"),
        (dead.stderr, f"{DEAD} does not answer"),
    ):
        assert words in said
        assert said.count("\n") == 1
    assert not (home.root / "prefect.json").exists()


def test_a_server_that_goes_away_while_it_is_watched_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """After some tries, naming its address."""
    monkeypatch.setattr("flows.watch.EVERY_S", 0.0)
    with pytest.raises(TransientError, match="does not answer"):
        Watch(DEAD, lambda: None).run("some")


def test_the_address_of_the_server_is_left_for_the_commands(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`rsi approve` finds it in the home."""
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    publish(home, "http://127.0.0.1:4200/api")
    assert orjson.loads((home.root / "prefect.json").read_bytes()) == {"api_url": "http://127.0.0.1:4200/api"}
    assert api_url(home) == "http://127.0.0.1:4200/api"


@pytest.mark.flow
def test_19_zombies_are_crashed_by_one_automation(served: str, server: Server) -> None:
    """Created by whoever serves; a second time changes nothing."""
    from flows.automations import ZOMBIES, ensure

    ensure()
    found = httpx.post(f"{server.api_url}/automations/filter", json={}, timeout=30).json()
    ours = [one for one in found if one["name"] == ZOMBIES]
    assert len(ours) == 1
    assert ours[0]["trigger"]["posture"] == "Proactive"
    assert ours[0]["actions"][0]["state"] == "CRASHED"


@pytest.mark.flow
def test_every_stage_nightly_and_promote_are_served_with_the_night_on_schedule(
    served: str, server: Server
) -> None:
    """Seven deployments; the night at the deployment's cron, in UTC."""
    found = httpx.post(f"{server.api_url}/deployments/filter", json={}, timeout=30).json()
    entries = {one["entrypoint"].rpartition(".")[2]: one for one in found if one["name"] == served}
    assert set(entries) == {"discover", "expand", "update", "gate", "nightly", "promote", "rebase"}
    schedule = entries["nightly"]["schedules"][0]["schedule"]
    assert (schedule["cron"], schedule["timezone"]) == ("0 2 * * *", "UTC")
    assert all("home" in one["parameters"] for one in entries.values())


@pytest.mark.flow
@pytest.mark.slow
def test_21_nights_go_on_where_the_database_of_prefect_was_lost(tiny_base: Path, tmp_path: Path) -> None:
    """All that counts is in the home: a night that ended is over under a new database, and the next one is whole."""
    home, its = tiny_home(tmp_path / "home", tiny_base, with_traces=True), Home(tmp_path)
    made = contracts(tmp_path / "contracts")

    with Processes(tmp_path / "logs") as processes:
        server = start(its, processes)
        server.wait(processes)
        first = _night(server, home, "2026-01-02", made)
    before = Ledger(home.ledger, SystemClock()).records()
    shutil.rmtree(its.root / "prefect")
    traces(home.inbox, routed="L2")
    with Processes(tmp_path / "logs") as processes:
        server = start(its, processes)
        server.wait(processes)
        again = _night(server, home, "2026-01-02", made)
        following = _night(server, home, "2026-01-03", made)

    assert first in ("Passed", "Not passed")
    assert again == "Quiet"
    assert following in ("Passed", "Not passed")
    after = Ledger(home.ledger, SystemClock()).records()
    assert after[: len(before)] == before
    stages = [(one.night, one.stage) for one in after if one.kind == "stage"]
    assert stages == [(night, stage) for night in ("2026-01-02", "2026-01-03") for stage in STAGES]


def _night(server: Server, home: Home, night: str, made: Path) -> str:
    """A night under Prefect in a process of its own; the name of the state it ended in."""
    words = (
        "import sys; from flows.nightly import nightly; "
        "print(nightly(sys.argv[1], sys.argv[2], return_state=True).name)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", words, str(home.root), night],
        cwd=PROJECT,
        env={**os.environ, **settings(server.home, server.api_url), "RSI_CONTRACTS": str(made)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()[-1]
