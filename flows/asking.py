"""Runs for what people are asked: started for each request that waits, ended where nobody can answer any more.

Runs are found again by their keys, so that asking twice starts nothing twice; one that died is run again.
"""

from prefect import get_run_logger
from prefect.client.orchestration import get_client
from prefect.deployments import run_deployment
from prefect.exceptions import ObjectNotFound
from prefect.states import AwaitingRetry

from rsi.errors import TransientError
from rsi.ports import SystemClock
from rsi.registry import approval, champion, waiting
from rsi.settings import Deployment, Home
from rsi.store.ledger import Ledger


def ask(place: Home, occasion: str) -> None:
    """Have every request that waits asked about, in their order, and every stale one gated again.

    `occasion` is why just now: what could not be gated again at one is tried at the next.
    """
    ledger, now = Ledger(place.ledger, SystemClock()), SystemClock().now()
    try:
        waiting.end(place, approval.over(ledger, now))
    except TransientError as away:
        get_run_logger().warning("runs that ask in vain were not ended: %s", away)
    in_service = champion.current(ledger)
    for one in approval.requests(ledger):
        match one.standing(now, in_service):
            case approval.Standing.OPEN:
                start(place, "promote", one.verdict, f"promote:{one.verdict}")
            case approval.Standing.STALE:
                start(place, "rebase", one.verdict, f"rebase:{one.verdict}:{occasion}")


def start(place: Home, flow: str, verdict: str, key: str) -> None:
    """Start a run of a served flow about a verdict, again where it died; say so where nothing serves it."""
    name = f"{flow}/{Deployment.read(place.deployment_file).name}"
    parameters = {"home": str(place.root), "verdict": verdict}
    try:
        run = run_deployment(name, parameters=parameters, idempotency_key=key, as_subflow=False, timeout=0)
        if run.state is not None and (run.state.is_failed() or run.state.is_crashed()):
            with get_client(sync_client=True) as client:
                client.set_flow_run_state(run.id, AwaitingRetry())
    except ObjectNotFound:
        by_hand = "approve" if flow == "promote" else flow
        get_run_logger().warning("nothing serves %s; use `rsi %s %s`", name, by_hand, verdict[:8])
