"""Requests through the gateway with the `openai` client, several at once, and feedback from their labels."""

import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

import httpx
import openai

from flows.traffic import Request
from rsi.errors import TransientError
from rsi.ports import Progress
from rsi.records import Record

AT_ONCE = 8
TIMEOUT_S = 300.0
"""A request may wait behind a full batch on a slow machine."""


class Replay(Record):
    """What became of the requests."""

    version: str
    """Digest of the version that answered."""
    seconds: float
    routed: dict[str, str]
    """Request id -> role."""

    def right(self, requests: Sequence[Request]) -> dict[str, tuple[int, int]]:
        """Label -> (routed right, requests)."""
        total = Counter(one.label for one in requests)
        right = Counter(one.label for one in requests if self.routed.get(one.id) == one.label)
        return {label: (right[label], total[label]) for label in sorted(total)}

    def accuracy(self, requests: Sequence[Request]) -> float:
        """Share routed right."""
        return sum(self.routed.get(one.id) == one.label for one in requests) / max(len(requests), 1)


def replay(url: str, requests: Sequence[Request], progress: Progress) -> Replay:
    """Send every request, and a score with its correction after each answer.

    Raises:
        TransientError: the gateway does not answer, or two versions answered.
    """
    started, routed, versions = time.monotonic(), dict[str, str](), set[str]()
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", timeout=TIMEOUT_S)
    pool = ThreadPoolExecutor(AT_ONCE)
    try:
        with httpx.Client(base_url=url, timeout=TIMEOUT_S, trust_env=False) as http:
            jobs = [pool.submit(_ask, client, http, one) for one in requests]
            for done, job in enumerate(as_completed(jobs), 1):
                name, role, version = job.result()
                routed[name] = role
                versions.add(version)
                progress("replay", done, len(requests))
    except (openai.OpenAIError, httpx.HTTPError) as error:
        raise TransientError(f"the gateway at {url} did not answer a request: {error}") from None
    finally:
        pool.shutdown(cancel_futures=True)
        client.close()
    if len(versions) != 1:
        raise TransientError(
            f"{len(versions)} versions answered during the replay, expected one; run it again"
        )
    return Replay(version=versions.pop(), seconds=round(time.monotonic() - started, 1), routed=routed)


def _ask(client: openai.OpenAI, http: httpx.Client, request: Request) -> tuple[str, str, str]:
    """(request id, role that answered, version that did)."""
    reply = client.chat.completions.with_raw_response.create(
        model="auto", messages=[{"role": "user", "content": request.text}]
    )
    role = reply.headers["x-rsi-route"]
    feedback = {
        "trace_id": reply.headers["x-rsi-trace-id"],
        "name": "route",
        "score": 1.0 if role == request.label else 0.0,
        "correction": request.label,
        "source": "label",
    }
    http.post("/v1/feedback", json=feedback).raise_for_status()
    return request.id, role, reply.headers["x-rsi-version"]
