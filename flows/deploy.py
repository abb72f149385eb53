"""Serves a home's flows in one process: the stages, `nightly` on its schedule (UTC), `promote` and `rebase`.

Makes the work pools ``rsi-cpu`` and ``rsi-gpu`` as well, with the deployment that their workers run (`flows.workers`).

``python -m flows.deploy --home …``. Runs until Ctrl-C; each flow run is a process of its own. The settings
that Prefect reads when it is imported are put in place first: results persisted as JSON, telemetry off.
"""

import argparse
import sys
from pathlib import Path

from flows import reports
from flows.processes import told
from flows.server import connect
from rsi.settings import Deployment, Home

POLL_S = 2.0
"""How often new runs are looked for."""


def serve(
    home: Home, deployment: Deployment, paused: bool, gpu: str | None, hook: str | None = None
) -> None:
    """Serve until a signal; `paused` shows the schedule but does not follow it, `gpu` is a `flows.workers.Kind`.

    `hook` is the address of a web hook that is told when a person is asked or has to look.
    """
    from prefect import serve as serve_deployments
    from prefect.schedules import Cron
    from prefect.types.entrypoint import EntrypointType

    from flows import automations, workers
    from flows.nightly import nightly
    from flows.promote import promote
    from flows.rebase import rebase
    from flows.stages import STAGES

    automations.ensure()
    if hook:
        automations.tell(deployment.name, hook)
    if deployment.workers.pool or gpu:
        workers.ensure(workers.Kind(gpu) if gpu else None)
    where = {"home": str(home.root)}
    module = EntrypointType.MODULE_PATH
    schedule = Cron(deployment.night.schedule, timezone="UTC", active=not paused)
    served = [
        stage.to_deployment(deployment.name, parameters=where, entrypoint_type=module) for stage in STAGES
    ]
    served.append(
        nightly.to_deployment(deployment.name, parameters=where, schedule=schedule, entrypoint_type=module)
    )
    served += [
        one.to_deployment(deployment.name, parameters=where, entrypoint_type=module) for one in (promote, rebase)
    ]
    serve_deployments(*served, pause_on_shutdown=False, print_starting_message=False, query_seconds=POLL_S)


def main() -> None:
    """Serve the home named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m flows.deploy", description="Serve a home's flows.")
    parser.add_argument("--home", type=Path, help="folder of the deployment (RSI_HOME)")
    parser.add_argument("--paused", action="store_true", help="do not follow the schedule")
    parser.add_argument(
        "--gpu", choices=("docker", "kubernetes", "process"), help="what rsi-gpu starts; docker where it is new"
    )
    parser.add_argument(
        "--notify", type=Path, help="file whose one line is the address of a web hook, told when a person is asked"
    )
    parser.add_argument("--reports-url", help="where a proxy serves the reports that the form links to")
    asked = parser.parse_args()
    home = Home.find(asked.home)
    deployment = Deployment.read(home.deployment_file)
    url = connect(home)
    shown = reports.serve(home, told=asked.reports_url)
    print(
        f"serving deployment {deployment.name} of {home.root} · Prefect at {url.removesuffix('/api')} · "
        f"reports at {shown}",
        flush=True,
    )
    serve(home, deployment, asked.paused, asked.gpu, asked.notify.read_text().strip() if asked.notify else None)


if __name__ == "__main__":
    sys.exit(told(main))
