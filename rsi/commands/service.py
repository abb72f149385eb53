"""Long-running commands and the doctor."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from rsi.commands.say import Json, as_json, line
from rsi.errors import ContractError, RsiError
from rsi.records import Origin
from rsi.settings import Deployment, Home


def serve(
    host: Annotated[
        str | None, typer.Option(help="Address to listen on; the deployment's by default.")
    ] = None,
    port: Annotated[int | None, typer.Option(help="Port; 0 is any free one.")] = None,
    origin: Annotated[Origin, typer.Option(help="Origin written into the traces.")] = Origin.TRAFFIC,
    max_tokens: Annotated[
        int | None, typer.Option(help="Cap on answers; the deployment's by default.")
    ] = None,
    otlp_only: Annotated[
        bool, typer.Option("--otlp-only", help="Take OpenTelemetry traces only; no model is loaded.")
    ] = False,
) -> None:
    """Serve the champion: an OpenAI-compatible gateway that routes, answers and writes the next traces.

    It also takes OpenTelemetry traces: point an OTLP/HTTP exporter at it (`POST /v1/traces`).
    """
    home = Home.find()
    deployment = Deployment.read(home.deployment_file)
    if otlp_only:
        from rsi.serve import sink

        sink.run(home, deployment.serve, host, port)
        return
    from rsi.serve.gateway import run

    run(home, deployment, host, port, origin, max_tokens)


def demo(
    wait: Annotated[bool, typer.Option("--wait", help="Wait for you to approve in the Prefect UI.")] = False,
    requests: Annotated[
        int, typer.Option(min=20, max=150, help="Requests to replay through the gateway.")
    ] = 150,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Training steps; the demo's default otherwise.")
    ] = None,
    nights: Annotated[
        bool, typer.Option("--nights", help="Five nights in a row in its place, without Prefect.")
    ] = False,
) -> None:
    """The whole loop once, for real: traffic, night, approval in Prefect, promotion, the same traffic again."""
    if nights:
        os.execv(sys.executable, [sys.executable, "-m", "flows.nights"])
    command = [sys.executable, "-m", "flows.demo", "--requests", str(requests)]
    command += ["--wait"] if wait else []
    command += ["--steps", str(steps)] if steps else []
    os.execv(sys.executable, command)


def doctor(json: Json = False) -> None:
    """What is missing or misconfigured; exit code 2 if something is."""
    found = {
        "python": _tried(_python),
        "deployment": _tried(lambda: Deployment.read(Home.find().deployment_file).name),
        "assets": _tried(_assets),
        "contract": _tried(_contract),
        "disk": _tried(_disk),
        "packages": _tried(_packages),
    }
    if json:
        as_json({name: {"ok": ok, "text": text} for name, (ok, text) in found.items()})
    else:
        for name, (ok, text) in found.items():
            line(f"{'ok ' if ok else 'BAD'} {name}: {text}")
    if not all(ok for ok, _ in found.values()):
        raise typer.Exit(ContractError.exit_code)


def _tried(check: Callable[[], str]) -> tuple[bool, str]:
    try:
        return True, str(check())
    except (RsiError, OSError, subprocess.SubprocessError) as error:
        return False, str(error)


def _python() -> str:
    return sys.version.split()[0]


def _assets() -> str:
    from rsi import assets

    missing = [one.name for one in assets.status() if not one.present]
    if missing:
        raise ContractError(f"{', '.join(missing)} missing; run `rsi assets pull`")
    return "all there"


def _contract() -> str:
    from rsi.gate.contract import read
    from rsi.gate.suites import load

    deployment = Deployment.read(Home.find().deployment_file)
    told = []
    for contract in map(read, sorted({deployment.contract, *deployment.contracts.values()})):
        items = {name: len(load(name, pin).items) for name, pin in contract.pins.items()}
        asked = ", ".join(f"{name} ({count} items)" for name, count in items.items())
        told.append(f"{contract.name} with {asked}")
    return "; ".join(told)


def _disk() -> str:
    root = Home.find().root
    while not root.exists():
        root = root.parent
    free = shutil.disk_usage(root).free / 1e9
    if free < 2:
        raise ContractError(f"{free:.1f} GB free at {root}; a night needs about 2")
    return f"{free:.0f} GB free"


def _packages() -> str:
    from importlib.util import find_spec

    wanted = {"torch": "train", "peft": "train", "fastapi": "serve", "openai": "serve", "prefect": "flows"}
    missing = sorted({extra for package, extra in wanted.items() if find_spec(package) is None})
    if missing:
        raise ContractError(
            f"extras {', '.join(missing)} are not installed: pip install 'rsi[{','.join(missing)}]'"
        )
    return "train, serve and flows are installed"
