"""Approving and rejecting in the real Prefect UI by a headless Chromium, with server and runner killed in between.

Screenshots go to ``RSI_SHOTS`` where it is set, else to the test's temporary folder, which pytest keeps for some runs.
"""

import os
import re
import shutil
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from playwright import sync_api as playwright

from flows.processes import Process, Processes
from flows.server import healthy, settings
from flows.watch import Run, Watch
from rsi.ports import SystemClock
from rsi.registry import approval, champion
from rsi.registry.verify import verify
from rsi.settings import Home
from rsi.store.ledger import Ledger
from tests import night_made
from tests.flows.flow_made import APPROVER, made_contracts, with_request

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.flow,
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: apt-get install chromium"),
]
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync")  # fmt: skip
PATIENCE_MS = 240_000
PATIENCE_S = 600
HERE = re.compile(r"(https?|wss?)://(127\.0\.0\.1|localhost)(:\d+)?(/|$)|(data|blob|about):")
KNOWN = re.compile(r"https://api2\.amplitude\.com/|https://[a-z0-9.-]*amplitude\.com/")
"""The newer UI's analytics, which no setting of the server keeps it from loading; refused here."""


@dataclass
class Site:
    """A Prefect server and a runner that can be killed and started again at the same place."""

    home: Home
    port: int
    processes: Processes
    runs: dict[str, Process] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def watch(self) -> Watch:
        return Watch(f"{self.url}/api", lambda: None)

    def start_server(self) -> None:
        """A server on the same database and port, and wait until it answers."""
        command = ["-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(self.port)]
        self._start("server", command)
        self.watch.until(lambda: healthy(f"{self.url}/api") or None, PATIENCE_S)

    def start_runner(self, home: Home) -> None:
        """Serve the flows of a home; runs name their own."""
        self._start("flows", ["-m", "flows.deploy", "--home", str(home.root), "--paused"])
        self.watch.until(lambda: self.watch.served("promote/tiny") or None, PATIENCE_S)

    def kill(self, name: str) -> None:
        """SIGKILL to all of it, as a lost machine would."""
        process = self.runs.pop(name)
        os.killpg(process.popen.pid, signal.SIGKILL)
        process.stop(grace_s=0)
        self.processes.started.remove(process)

    def ask(self, home: Home, verdict: str) -> str:
        """Start the promotion of a verdict; its run's id."""
        found = httpx.get(f"{self.url}/api/deployments/name/promote/tiny", timeout=60, trust_env=False).json()
        body = {
            "parameters": {"home": str(home.root), "verdict": verdict},
            "idempotency_key": f"promote:{verdict}",
        }
        address = f"{self.url}/api/deployments/{found['id']}/create_flow_run"
        return str(httpx.post(address, json=body, timeout=60, trust_env=False).json()["id"])

    def until(self, run: str, holds: Callable[[Run], bool]) -> Run:
        """Wait for a run to be so, and not over otherwise."""

        def asked() -> Run | None:
            seen = self.watch.run(run)
            return seen if holds(seen) or seen.over else None

        found = self.watch.until(asked, PATIENCE_S)
        assert holds(found), (found.state.name, found.state.message)
        return found

    def _start(self, name: str, command: list[str]) -> None:
        variables = settings(self.home, f"{self.url}/api")
        self.runs[name] = self.processes.start(name, [sys.executable, *command], variables)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    (tmp_path / "prefect").mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    with Processes(tmp_path / "logs") as processes:
        yield Site(Home(tmp_path / "prefect"), port, processes)


@pytest.fixture
def shots(tmp_path: Path) -> Path:
    folder = Path(os.environ.get("RSI_SHOTS") or tmp_path / "shots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@dataclass(frozen=True)
class Person:
    """Somebody before the UI."""

    page: playwright.Page
    elsewhere: list[str]

    def answer(self, url: str, run: str, said: dict[str, str], shots: Path, name: str) -> None:
        """Open the run, choose Resume, read, fill in the form, submit."""
        page = self.page
        page.goto(f"{url}/runs/flow-run/{run}")
        page.get_by_role("button", name="Open menu").click()
        page.get_by_role("menuitem", name="Resume").click()
        form = page.get_by_role("dialog")
        form.get_by_text("Evidence digest").wait_for()
        page.screenshot(path=shots / f"{name}-card.png")
        form.get_by_label("Select Decision").click()
        page.get_by_role("option", name=said["decision"]).click()
        for key, label in (("approver", "Your name"), ("reason", "Reason"), ("evidence", "Evidence")):
            form.get_by_label(label, exact=True).fill(said[key])
        page.screenshot(path=shots / f"{name}-filled.png")
        form.get_by_role("button", name="Resume").click()
        form.wait_for(state="hidden")


@pytest.fixture
def person() -> Iterator[Person]:
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        page = browser.new_page(viewport={"width": 1440, "height": 1300})
        page.set_default_timeout(PATIENCE_MS)
        elsewhere: list[str] = []
        page.on("request", lambda one: HERE.match(one.url) or elsewhere.append(one.url))
        page.route(KNOWN, lambda route: route.abort())
        yield Person(page, elsewhere)
        browser.close()


def test_13_14_18_one_is_approved_and_one_rejected_in_the_ui_over_killed_servers_and_runners(
    site: Site, person: Person, shots: Path, tiny_base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A night's candidate is approved while no runner lives, another rejected; exactly one promotion comes of it."""
    monkeypatch.setenv("RSI_CONTRACTS", str(night_made.contracts(tmp_path / "contracts")))
    home = night_made.make_home(tmp_path / "home", tiny_base)
    ending = night_made.run_night(home, tiny_base, taught=True, clock=SystemClock())
    assert ending.judgement == "pass", ending.reason
    other, second = with_request(tmp_path / "other", tiny_base, made_contracts(tmp_path / "made"))
    site.start_server()
    site.start_runner(home)
    runs = {
        "approve": site.ask(home, str(ending.verdict)),
        "reject": site.ask(other, second.digest),
    }
    for run in runs.values():
        site.until(run, lambda one: one.state.name == "Suspended")

    site.kill("flows")
    site.kill("server")
    site.start_server()
    said = {"approver": APPROVER, "reason": "the gain is large, no guard lost", "decision": "approve"}
    evidence = {"evidence": str(ending.verdict)[:8]}
    person.answer(site.url, runs["approve"], said | evidence, shots, "approve")
    site.kill("server")
    assert champion.current(Ledger(home.ledger, SystemClock())) != _candidate(home)
    site.start_server()
    site.start_runner(home)
    site.until(runs["approve"], lambda one: one.state.name == "Promoted")
    no = {"approver": APPROVER, "reason": "not this week", "decision": "reject", "evidence": second.digest[:8]}
    person.answer(site.url, runs["reject"], no, shots, "reject")
    site.until(runs["reject"], lambda one: one.state.name == "Rejected")
    person.page.goto(f"{site.url}/runs/flow-run/{runs['approve']}")
    person.page.get_by_text("Promoted").first.wait_for()
    person.page.screenshot(path=shots / "promoted.png")

    assert champion.current(Ledger(home.ledger, SystemClock())) == _candidate(home)
    assert [_kinds(one) for one in (home, other)] == [(1, 1), (1, 0)]
    assert verify(home, SystemClock()).findings == ()
    assert [one for one in person.elsewhere if not KNOWN.match(one)] == []
    assert {"approve-card.png", "reject-filled.png", "promoted.png"} <= {one.name for one in shots.iterdir()}


def _candidate(home: Home) -> str:
    """What the only request is about."""
    return approval.requests(Ledger(home.ledger, SystemClock()))[0].candidate


def _kinds(home: Home) -> tuple[int, int]:
    """Decisions and promotions."""
    kinds = [one.kind for one in Ledger(home.ledger, SystemClock())]
    return kinds.count("approval"), kinds.count("promotion")
