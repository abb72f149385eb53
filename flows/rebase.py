"""The change of a stale request, gated again on the version in service."""

from pathlib import Path

from prefect import flow, runtime
from prefect.client.schemas.objects import State
from prefect.states import Completed

from flows.asking import ask
from flows.evidence import show_card
from flows.progress import ArtifactProgress
from flows.stages import SKIPPED, retried
from rsi.errors import QuietError, RefusedError
from rsi.rebase import rebase as again
from rsi.settings import Deployment, Home
from rsi.world import real


def _name() -> str:
    return f"rebase-{str(runtime.flow_run.parameters['verdict'])[:8]}"


@flow(name="rebase", flow_run_name=_name, retries=0, persist_result=True, result_serializer="json")
def rebase(home: str, verdict: str) -> State[None]:
    """Gate it again; ask a person about what passes."""
    place = Home.find(Path(home))
    try:
        ended = gated(home, verdict)
    except QuietError as busy:
        return Completed(name=SKIPPED, message=str(busy))
    except RefusedError as refused:
        return Completed(name="Refused", message=f"{refused}; the champion stays")
    show_card(place, str(ended["verdict"]))
    ask(place, f"rebase {verdict[:8]}")
    name = "Passed" if ended["judgement"] == "pass" else "Not passed"
    return Completed(name=name, message=ended["reason"])


@retried
def gated(home: str, verdict: str) -> dict[str, str | None]:
    """The gate's answer about the same change on the version in service."""
    place = Home.find(Path(home))
    deployment = Deployment.read(place.deployment_file)
    ending = again(place, deployment, real(deployment, ArtifactProgress()), verdict)
    return {"verdict": ending.verdict, "judgement": ending.judgement, "reason": ending.reason}
