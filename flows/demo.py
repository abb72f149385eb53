"""The whole loop once, for real: traffic, a night through Prefect, approval, promotion, the same traffic.

``rsi demo`` runs this. The feedback comes from labels, and the output says so; every number printed is
measured in this run. A demo that was stopped goes on where it stopped; every process it started ends with it.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from flows.demo_home import Demo, prepare
from flows.processes import Processes, told
from flows.server import Server, adopt, settings
from flows.server import start as start_server
from rsi.algorithm import Update
from rsi.commands.say import line
from rsi.errors import BusyError, RefusedError, RsiError, TransientError
from rsi.records import Approval, Decision, Verdict
from rsi.registry import approval, waiting
from rsi.report.progress import TerminalProgress
from rsi.serve.client import Gateway, running
from rsi.settings import Home, quiet_dependencies

if TYPE_CHECKING:
    from flows.replay import Replay
    from flows.traffic import Request
    from flows.watch import Run, Watch

DEMO_UPDATE = Update(
    steps=160,
    prompts=8,
    samples=16,
    learning_rate=3e-4,
    rank=16,
    alpha=32,
    exploration=0.2,
    checkpoint_every=20,
)
"""What the demo's training may spend."""
MAX_TOKENS = 4
"""Cap on answers: the demo is about the route."""
GATEWAY_READY_S = 300.0
SERVED_S = 180.0
PROMOTED_S = 900.0


class Services:
    """What runs while the demo does."""

    def __init__(self, demo: Demo, processes: Processes) -> None:
        self._processes = processes
        home = demo.home
        self.server: Server = start_server(home, processes)
        serve = [sys.executable, "-m", "rsi.cli", "serve", "--origin", "demo", "--port", "0"]
        serve += ["--max-tokens", str(MAX_TOKENS)]
        gateway = processes.start("gateway", serve, {"RSI_HOME": str(home.root)})
        self.server.wait(processes)
        adopt(home, self.server.api_url)
        deploy = [sys.executable, "-m", "flows.deploy", "--home", str(home.root), "--paused"]
        processes.start("flows", deploy, settings(home, self.server.api_url))
        processes.wait(gateway, (home.gateways / f"{gateway.popen.pid}.json").exists, GATEWAY_READY_S)
        self.gateway: Gateway = running(home)[0]

    @property
    def watch(self) -> "Watch":
        """Questions to the Prefect server."""
        from flows.watch import Watch

        return Watch(self.server.api_url, self._processes.check)

    def start(self, flow: str, key: str | None, **parameters: str) -> str:
        """Start a run of a served flow; its id."""
        from prefect.deployments import run_deployment

        run = run_deployment(
            f"{flow}/demo", parameters=parameters, idempotency_key=key, as_subflow=False, timeout=0
        )
        return str(run.id)


def play(demo: Demo) -> None:
    """The demo from its first line to its last.

    Raises:
        RefusedError: the gate or a person said no.
        TransientError: something that it needs is not there.
    """
    from flows.traffic import read

    requests = read()
    with Processes(demo.home.root / "logs") as processes:
        line("starting a Prefect server, the gateway and the flows (their output goes to logs/ in the home)")
        try:
            with demo.timed("start"):
                services = Services(demo, processes)
            line(f"  gateway at {services.gateway.url}/v1 · Prefect UI at {services.server.ui_url}")
            _story(demo, services, requests)
        finally:
            (demo.home.root / "prefect.json").unlink(missing_ok=True)


def _story(demo: Demo, services: Services, requests: "Sequence[Request]") -> None:
    from flows import summary

    chosen = demo.chosen(requests)
    before = _traffic(demo, services, requests, chosen)
    verdict = _night(demo, services)
    _promotion(demo, services, verdict)
    _await_version(services.gateway, verdict.candidate)
    line(f"\nthe same {len(chosen)} requests again, to version {verdict.candidate[:12]}")
    after = _replay(demo, services, chosen, "replay after")
    services.gateway.rotate()
    with demo.timed("discover after"):
        modes = demo.look_again()
    measured = summary.Measured(
        requests=chosen,
        before=before,
        after=after,
        verdict=verdict,
        suites=summary.suites(demo.home, verdict),
        modes_before=demo.modes_of(verdict.night),
        modes_after=modes,
        seconds=demo.seconds,
        words=demo.words(),
    )
    summary.show(measured)
    summary.write(demo.home, measured)
    line(f"\nthe same figures are in {demo.home.root / 'demo.json'}; the full report in")
    line(f"  {demo.home.verdicts / verdict.digest / 'report.html'}")
    line("next: `rsi lineage champion`, `rsi verify`, `rsi modes`, `rsi serve`")


def _traffic(
    demo: Demo, services: Services, requests: "Sequence[Request]", chosen: "Sequence[Request]"
) -> "Replay":
    """The first replay, and the rest of the requests as past traces; or what was kept of it."""
    done = demo.before()
    if done is not None:
        line(f"the first replay was done before ({len(chosen)} requests); going on after it")
        return done
    line(
        f"\nsending {len(chosen)} labelled requests through the gateway; the feedback comes from their labels"
    )
    replayed = _replay(demo, services, chosen, "replay before")
    services.gateway.rotate()
    sent = {one.id for one in chosen}
    past = [one for one in requests if one.id not in sent]
    with demo.timed("ingest"):
        totals = demo.ingest_past(past)
    line(f"  routed right: {replayed.accuracy(chosen):.1%}")
    line(f"  {totals} more labelled requests were ingested as traces of a time before there was a router")
    demo.keep(replayed)
    return replayed


def _replay(demo: Demo, services: Services, chosen: "Sequence[Request]", name: str) -> "Replay":
    from flows.replay import replay

    with demo.timed(name):
        return replay(services.gateway.url, chosen, TerminalProgress())


def _night(demo: Demo, services: Services) -> Verdict:
    """Run the night through Prefect, unless it ended before; the verdict, passed."""
    watch, name = services.watch, demo.night()
    if name is not None:
        line(f"\nnight {name}: discover, expand, update, gate, as Prefect flows")
        watch.until(lambda: watch.served("nightly/demo") or None, SERVED_S)
        with demo.timed("night"):
            run = services.start("nightly", None, home=str(demo.home.root), night=name)
            ended, stages = watch.follow(run, line, TerminalProgress())
        for stage in stages:
            demo.seconds[f"night: {stage.name.partition('-')[0]}"] = round(stage.total_run_time, 1)
        _check(ended, demo.home)
    verdict = demo.verdict()
    line("")
    line((demo.home.verdicts / verdict.digest / "card.md").read_text())
    if demo.judged_well(verdict):
        return verdict
    raise RefusedError(f"the gate says {verdict.judgement.value}; the champion stays")


def _check(run: "Run", home: Home) -> None:
    """Nothing to do for a night that ended with a verdict.

    Raises:
        BusyError: another night runs.
        RefusedError: the night stayed quiet.
        RsiError: it broke.
    """
    said = run.state.message or run.state.name
    if run.state.name == "Skipped":
        raise BusyError(said)
    if run.state.name == "Quiet":
        raise RefusedError(f"the night ended without a candidate: {said}")
    if run.state.type != "COMPLETED":
        raise RsiError(
            f"the night ended as {run.state.name}: {said} (see {home.root / 'logs' / 'flows.log'})"
        )


def _promotion(demo: Demo, services: Services, verdict: Verdict) -> None:
    """Have the request answered, by a person or as `demo`, and wait until the candidate is in service."""
    if demo.promoted(verdict):
        return
    watch, key = services.watch, f"promote:{verdict.digest}"
    found = watch.keyed(key)
    name = (
        found.id
        if found
        else services.start("promote", key, home=str(demo.home.root), verdict=verdict.digest)
    )

    def asks_or_over() -> "Run | None":
        run = watch.run(name)
        return run if run.over or run.state.name == "Suspended" else None

    watch.until(asks_or_over, SERVED_S)
    line(f"the promotion waits for an answer: {services.server.ui_url}/runs/flow-run/{name}")
    with demo.timed("approval and promotion"):
        if demo.wait:
            line("open it, choose Resume (a button, or in the run's menu ⋮), and fill in the form;")
            line("what to type as evidence stands above the form")
            ended, _ = watch.follow(name, line, TerminalProgress())
        else:
            _approve(demo, verdict)
            ended = watch.until(lambda: run if (run := watch.run(name)).over else None, PROMOTED_S)
    line(
        f"  {ended.name}: {ended.state.name.lower()}"
        + (f", {ended.state.message}" if ended.state.message else "")
    )
    if not demo.promoted(verdict):
        raise RefusedError(f"not promoted: {ended.state.message or ended.state.name}; the champion stays")


def _approve(demo: Demo, verdict: Verdict) -> None:
    """What `rsi approve` does, as `demo`: the answer into the ledger, then wake the run that waits for it."""
    said = Approval(
        verdict=verdict.digest,
        decision=Decision.APPROVE,
        approver=demo.approver,
        reason="the demo approves what passed its gate",
        via="command",
    )
    evidence = verdict.digest[: approval.PREFIX]
    approval.answer(demo.home, demo.clock, demo.deployment, said, evidence)
    line(f"approved as `{demo.approver}` by the code of `rsi approve` (evidence {evidence})")
    waiting.resume(demo.home, said)


def _await_version(gateway: Gateway, version: str) -> None:
    from flows.processes import patiently

    if not patiently(lambda: gateway.version() == version, 120.0):
        raise TransientError(
            f"the gateway at {gateway.url} does not serve version {version[:12]} after the promotion"
        )


def main() -> None:
    """Run the demo."""
    parser = argparse.ArgumentParser(prog="rsi demo", description="The whole loop once, for real.")
    parser.add_argument(
        "--requests", type=int, default=150, help="requests sent through the gateway (20 to 150)"
    )
    parser.add_argument("--steps", type=int, help=f"training steps ({DEMO_UPDATE.steps})")
    parser.add_argument("--wait", action="store_true", help="wait for you to approve in the Prefect UI")
    parser.add_argument("--home", type=Path, help="folder of the demo (RSI_HOME, ./.rsi)")
    asked = parser.parse_args()
    quiet_dependencies()
    update = DEMO_UPDATE.model_copy(update={"steps": asked.steps}) if asked.steps else DEMO_UPDATE
    play(prepare(Home.find(asked.home), update, asked.requests, asked.wait))


if __name__ == "__main__":
    sys.exit(told(main))
