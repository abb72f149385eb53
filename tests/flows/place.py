"""A home in which a request waits, with a Prefect server and a runner of its own, which a test may kill."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from flows.processes import Process, Processes
from flows.server import Server, settings, start
from flows.watch import Run, Watch
from rsi.ports import SystemClock
from rsi.records import Verdict
from rsi.registry import champion
from rsi.registry.waiting import ask
from rsi.settings import Home
from rsi.store.ledger import Ledger
from tests.flows.flow_made import made_contracts, with_request

READY_S = 240.0


@dataclass
class Place:
    """The home, what its people use, and what is asked."""

    programs: Processes
    server: Server
    home: Home
    verdict: Verdict
    contracts: Path

    @property
    def watch(self) -> Watch:
        """Questions to the server."""
        return Watch(self.server.api_url, lambda: None)

    def serve(self, *options: str) -> Process:
        """A new runner, known to the server."""
        command = [sys.executable, "-m", "flows.deploy", "--home", str(self.home.root), "--paused", *options]
        runner = self.programs.start("flows", command, settings(self.server.home, self.server.api_url))
        self.watch.until(lambda: self.watch.served("promote/tiny") or None, READY_S)
        return runner

    def kill(self, process: Process) -> None:
        """SIGKILL to it and to all that it started: none of it tidies up."""
        os.killpg(process.popen.pid, signal.SIGKILL)
        process.popen.wait()
        self.programs.started.remove(process)

    def kill_server(self) -> None:
        """Kill the server and start it again at the same address on the same database."""
        was = self.server.process
        self.kill(was)
        again = self.programs.start(was.name, was.popen.args, settings(self.server.home, self.server.api_url))
        self.server = replace(self.server, process=again)
        self.server.wait(self.programs)

    def ask(self) -> str:
        """Start the run that asks a person, as a night does; its id once it waits."""
        about = {"home": str(self.home.root), "verdict": self.verdict.digest}
        run = self.start("promote", about, f"promote:{self.verdict.digest}")
        self.until(run, "Suspended")
        self.watch.until(lambda: self._described(run) or None, READY_S)
        return run

    def _described(self, run: str) -> bool:
        """Whether the form has what stands above it: that is written after the run is suspended."""
        body = {"prefix": "suspend", "limit": 10, "exclude_keys": []}
        found = ask(self.server.api_url, "POST", f"/flow_runs/{run}/input/filter", body).json()
        return any(one["key"].endswith("description") for one in found)

    def start(self, flow: str, parameters: dict[str, str], key: str) -> str:
        """Start a run; a busy server is asked again, and the key keeps that from being two runs."""
        found = ask(self.server.api_url, "GET", f"/deployments/name/{flow}/tiny").json()["id"]
        body = {"parameters": parameters, "idempotency_key": key, "state": {"type": "SCHEDULED"}}
        address = f"/deployments/{found}/create_flow_run"
        return str(ask(self.server.api_url, "POST", address, body, patience=30).raise_for_status().json()["id"])

    def until(self, run: str, state: str) -> Run:
        """Wait until a run is in a state."""
        one = self.watch.until(
            lambda: it if (it := self.watch.run(run)).state.name == state or it.over else None, READY_S
        )
        assert one.state.name == state, one.state.message
        return one

    def records(self) -> list[str]:
        """Kinds of the ledger's records."""
        return [one.kind for one in Ledger(self.home.ledger, SystemClock())]

    @property
    def champion(self) -> str:
        """The version in service."""
        return champion.current(Ledger(self.home.ledger, SystemClock()))

    def verify(self) -> str:
        """What `rsi verify` says of the home."""
        environment = {**os.environ, "RSI_HOME": str(self.home.root), "RSI_CONTRACTS": str(self.contracts)}
        command = [sys.executable, "-m", "rsi.cli", "verify"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@contextmanager
def placed(root: Path, base: Path) -> Iterator[Place]:
    """A place below a folder; its programs end with the block."""
    (root / "prefect").mkdir()
    with Processes(root / "logs") as programs:
        server = start(Home(root / "prefect"), programs)
        contracts = made_contracts(root / "contracts")
        home, verdict = with_request(root / "home", base, contracts)
        server.wait(programs)
        yield Place(programs, server, home, verdict, contracts)
