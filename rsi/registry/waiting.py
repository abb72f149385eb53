"""The suspended Prefect run that waits for an answer, reached over Prefect's HTTP API.

`rsi approve` writes the approval itself; this only wakes the run that would otherwise go on waiting for its form.
"""

import os

import httpx
import orjson

from rsi.errors import TransientError
from rsi.records import Approval
from rsi.registry.approval import PREFIX
from rsi.settings import Home


def api_url(home: Home) -> str | None:
    """Prefect's API: ``PREFECT_API_URL``, else what the last `rsi demo` or deployment left in ``prefect.json``."""
    said = os.environ.get("PREFECT_API_URL")
    if said:
        return said.rstrip("/")
    try:
        return str(orjson.loads((home.root / "prefect.json").read_bytes())["api_url"]).rstrip("/")
    except (OSError, ValueError, KeyError):
        return None


def resume(home: Home, said: Approval) -> str | None:
    """Resume the run that waits on this verdict with the same answer; its name, or None where none waits.

    Raises:
        TransientError: a server is configured but does not answer, or refuses.
    """
    url = api_url(home)
    if url is None:
        return None
    wanted = {
        "flow_runs": {
            "idempotency_key": {"any_": [f"promote:{said.verdict}"]},
            "state": {"name": {"any_": ["Suspended"]}},
        }
    }
    answer = {
        "run_input": {
            "decision": said.decision.value,
            "approver": said.approver,
            "reason": said.reason,
            "evidence": said.verdict[:PREFIX],
        }
    }
    try:
        with httpx.Client(base_url=url, timeout=30, trust_env=False) as client:
            found = client.post("/flow_runs/filter", json=wanted)
            found.raise_for_status()
            for run in found.json():
                if run.get("parameters", {}).get("home") != str(home.root):
                    continue
                reply = client.post(f"/flow_runs/{run['id']}/resume", json=answer)
                reply.raise_for_status()
                if reply.json().get("status") == "ACCEPT":
                    return str(run["name"])
                raise TransientError(
                    f"Prefect refused to resume run {run['name']}: {reply.json().get('details')}"
                )
    except httpx.HTTPError as error:
        raise TransientError(
            f"the Prefect server at {url} does not answer ({error}); the approval is in the ledger, "
            "run `rsi promote` when you like"
        ) from None
    return None
