"""The promotion of one verdict: ask a person, then publish, prove and put into service.

The run suspends as its first step, so that it survives any restart while it waits; it goes on from the top
when the form is filled in, or when `rsi approve` answered and woke it. The answer and the promotion are
ledger records, so a run that is repeated neither asks nor promotes twice.
"""

from pathlib import Path

from prefect import flow, get_run_logger, runtime, task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import INPUTS, RUN_ID
from prefect.client.schemas.objects import State
from prefect.flow_runs import suspend_flow_run
from prefect.states import Completed

from flows.approval import Answer, question
from flows.asking import ask
from flows.stages import retried
from rsi.commands.versions import replicas
from rsi.errors import RefusedError
from rsi.ports import SystemClock
from rsi.records import Approval, Decision
from rsi.registry import approval
from rsi.registry.promote import promote as put_into_service
from rsi.report.words import inert_markdown, short
from rsi.settings import Deployment, Home
from rsi.store.ledger import Ledger
from rsi.store.snapshot import refresh
from rsi.world import real

TURNS = 5
"""How often a person is asked before the run gives up; the request itself stays open."""


def _name() -> str:
    return f"promote-{str(runtime.flow_run.parameters['verdict'])[:8]}"


@flow(name="promote", flow_run_name=_name, retries=0, persist_result=True, result_serializer="json")
def promote(home: str, verdict: str) -> State[None]:
    """Wait for a person's answer to a verdict, and promote its candidate on a yes; gate again what that makes stale."""
    try:
        said = _answer(Home.find(Path(home)), verdict)
        if said.decision is Decision.REJECT:
            return Completed(name="Rejected", message=f"rejected by {said.approver}: {said.reason}")
        version = put(home, verdict)
    except RefusedError as refused:
        return Completed(name="Refused", message=f"{refused}; the champion stays")
    _show(verdict, version, said)
    ask(Home.find(Path(home)), f"promotion {verdict[:8]}")
    return Completed(name="Promoted", message=f"version {short(version)} is in service")


def _answer(place: Home, verdict: str) -> Approval:
    """The decision in the ledger; a person is asked until there is one.

    Raises:
        RefusedError: nothing can be decided any more, or no answer could be taken.
    """
    refused = None
    for turn in range(1, TURNS + 1):
        request = _request(place, verdict)
        if request.decision is not None:
            return request.decision
        seconds = int((request.expires - SystemClock().now()).total_seconds())
        text = question(place, request, refused)
        show(text, verdict, turn)
        form = Answer.with_initial_data(description=text)
        answer = suspend_flow_run(wait_for_input=form, timeout=max(1, seconds), key=f"answer-{turn}")
        refused = record(
            str(place.root), answer.approval(verdict).model_dump(mode="json"), answer.evidence, turn
        )
        if refused is not None:
            get_run_logger().warning("answer %d was not taken: %s", turn, refused)
    decision = _request(place, verdict).decision
    if decision is None:
        raise RefusedError(
            f"{TURNS} answers could not be taken, the last because {refused}; use `rsi approve`"
        )
    return decision


def _request(place: Home, verdict: str) -> approval.Request:
    clock = SystemClock()
    found = next(
        (one for one in approval.requests(Ledger(place.ledger, clock)) if one.verdict == verdict), None
    )
    if found is None or found.decision is None:
        why = approval.closed(place, clock, verdict)
        if found is None or why:
            raise RefusedError(str(why))
    return found


@task(cache_policy=INPUTS + RUN_ID, persist_result=True, result_serializer="json")
def show(text: str, verdict: str, turn: int) -> None:
    """The question on the run's page, once for each turn: the dialog of the form has little room for it."""
    create_markdown_artifact(text, key="question", description=f"verdict {short(verdict)}, question {turn}")
    get_run_logger().info(
        "A person is asked. Artifacts has the whole question; Resume (a button, or in the menu ⋮) opens the form."
    )


@task(cache_policy=INPUTS + RUN_ID, persist_result=True, result_serializer="json")
def record(home: str, said: dict[str, str], evidence: str, turn: int) -> str | None:
    """Write an answer into the ledger, once for each turn; why it was not taken, if it was not."""
    place = Home.find(Path(home))
    deployment = Deployment.read(place.deployment_file)
    try:
        approval.answer(place, SystemClock(), deployment, Approval.model_validate(said), evidence)
    except RefusedError as refused:
        return str(refused)
    return None


@retried
def put(home: str, verdict: str) -> str:
    """Publish to every gateway, or to an engine here; prove that it acts; move the pointer. The version."""
    place, clock = Home.find(Path(home)), SystemClock()
    deployment = Deployment.read(place.deployment_file)
    base = real(deployment).base().folder
    moved = put_into_service(place, clock, verdict, replicas(place, deployment), base)
    refresh(place, clock)
    return str(moved.output)


def _show(verdict: str, version: str, said: Approval) -> None:
    approver = inert_markdown(f"{said.approver} ({said.via})")
    create_markdown_artifact(
        f"# Promoted\n\nVersion `{short(version)}` is in service.\n\n"
        f"- verdict: `{short(verdict)}`\n- approved by: {approver}\n"
        f"- reason: {inert_markdown(said.reason)}\n- back: `rsi rollback`\n",
        key="promotion",
        description=f"verdict {short(verdict)}",
    )
