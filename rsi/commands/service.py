"""Commands that run until they are stopped."""

import os
import sys
from typing import Annotated

import typer

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
