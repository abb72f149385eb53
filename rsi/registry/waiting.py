"""The suspended Prefect run that waits for an answer, reached over Prefect's HTTP API.

`rsi approve` writes the approval itself; this only wakes the run that would otherwise go on waiting for its form, or
ends one whose question nobody can answer any more.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import httpx
import orjson

from rsi.errors import TransientError
from rsi.records import Approval
from rsi.registry.approval import PREFIX
from rsi.settings import Home


class _Run(NamedTuple):
    id: str
    name: str
    verdict: str


def api_url(home: Home) -> str | None:
    """Prefect's API: ``PREFECT_API_URL``, else what the last `rsi demo` or deployment left in ``prefect.json``."""
    said = os.environ.get("PREFECT_API_URL")
    if said:
        return said.rstrip("/")
    try:
        return str(orjson.loads((home.root / "prefect.json").read_bytes())["api_url"]).rstrip("/")
    except (OSError, ValueError, KeyError):
        return None


def ask(
    url: str,
    method: str,
    path: str,
    body: object = None,
    patience: int = 5,
    check: Callable[[], None] | None = None,
) -> httpx.Response:
    """One question to Prefect's API, asked again while the server is busy: a locked SQLite file answers 503.

    Args:
        patience: tries, a second apart, after which the server counts as gone.
        check: called before each try; raises when it is of no use to go on.

    Raises:
        TransientError: no answer, or only errors of the server, in so many tries.
    """
    for left in reversed(range(patience)):
        if check is not None:
            check()
        try:
            reply = httpx.request(method, f"{url}{path}", json=body, timeout=30, trust_env=False)
            if reply.status_code < 500:
                return reply
            why = f"HTTP {reply.status_code}"
        except httpx.HTTPError as error:
            why = str(error) or type(error).__name__
        if left:
            time.sleep(1.0)
    raise TransientError(f"the Prefect server at {url} does not answer: {why}")


def resume(home: Home, said: Approval) -> str | None:
    """Resume the run that waits on this verdict with the same answer; its name, or None where none waits.

    Raises:
        TransientError: a server is configured but does not answer, or refuses.
    """
    url = api_url(home)
    if url is None:
        return None
    answer = {
        "run_input": {
            "decision": said.decision.value,
            "approver": said.approver,
            "reason": said.reason,
            "evidence": said.verdict[:PREFIX],
            "signature": said.signature,
        }
    }
    try:
        for run in _suspended(url, home, [said.verdict]):
            reply = ask(url, "POST", f"/flow_runs/{run.id}/resume", answer).raise_for_status().json()
            if reply.get("status") == "ACCEPT":
                return run.name
            raise TransientError(f"Prefect refused to resume run {run.name}: {reply.get('details')}")
    except (httpx.HTTPStatusError, TransientError) as error:
        raise TransientError(
            f"{error}; the approval is in the ledger, run `rsi promote` when you like"
        ) from None
    return None


def end(home: Home, over: Mapping[str, str]) -> list[str]:
    """Cancel the runs that wait on these verdicts (verdict -> why nobody can answer); their names.

    Raises:
        TransientError: a server is configured but does not answer.
    """
    url = api_url(home)
    if url is None or not over:
        return []
    ended = []
    for run in _suspended(url, home, list(over)):
        state = {"state": {"type": "CANCELLED", "name": "Over", "message": over[run.verdict]}}
        reply = ask(url, "POST", f"/flow_runs/{run.id}/set_state", state)
        if reply.is_success and reply.json().get("status") == "ACCEPT":
            ended.append(run.name)
    return ended


def _suspended(url: str, home: Home, verdicts: Sequence[str]) -> list[_Run]:
    """Runs of this home that wait on one of these verdicts."""
    wanted = {
        "flow_runs": {
            "idempotency_key": {"any_": [f"promote:{one}" for one in verdicts]},
            "state": {"name": {"any_": ["Suspended"]}},
        }
    }
    found = ask(url, "POST", "/flow_runs/filter", wanted).raise_for_status().json()
    runs = [
        _Run(str(run["id"]), str(run["name"]), str(run["parameters"].get("verdict")))
        for run in found
        if run.get("parameters", {}).get("home") == str(home.root)
    ]
    return [run for run in runs if run.verdict in verdicts]
