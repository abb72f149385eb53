"""Labelled requests routed by the version in service, written down as the gateway would: a trace and a score each.

For traffic that is replayed inside one process; what should have answered comes from the labels, and the score says so.
"""

from collections.abc import Sequence
from typing import NamedTuple

from rsi.context import World
from rsi.harness import hcp
from rsi.ids import Digest, digest
from rsi.records import ChatMessage, Origin
from rsi.registry import champion, versions
from rsi.registry.loaded import able
from rsi.serve.capture import Capture, FeedbackLine, TraceLine, nanoseconds
from rsi.serve.episodes import Tally
from rsi.serve.route import Routed, pick
from rsi.settings import Deployment, Home
from rsi.traces.spool import Spool

BATCH = 16


class Labelled(NamedTuple):
    """One request."""

    text: str
    role: str
    """Who should answer."""


def ask(
    home: Home,
    deployment: Deployment,
    world: World,
    requests: Sequence[Labelled],
    origin: Origin,
    occasion: str,
) -> tuple[Digest, Tally]:
    """Have the version in service route the requests; its digest, and how many it routed right.

    `occasion` tells these traces from those of the same requests at another time.
    """
    name = champion.point(home, world.clock)
    version = versions.load(home, name)
    harness = hcp.load(home.harnesses, version.harness)
    engine = able(home, world, [version])
    spool = Spool(home.inbox, "asked", clock=world.clock)
    capture = Capture(spool, deployment.traces.namespace, origin)
    right = 0
    try:
        for start in range(0, len(requests), BATCH):
            some = requests[start : start + BATCH]
            prompts = [(ChatMessage(role="user", content=one.text),) for one in some]
            rows = engine.choose(
                [harness.route_prompt(one) for one in prompts],
                harness.words,
                version.adapters.get(harness.router),
            )
            for one, prompt, row in zip(some, prompts, rows, strict=True):
                label, reason = pick(harness.words, row, harness.word(harness.router))
                scores = dict(zip(harness.words, row, strict=True))
                routed = Routed(harness.labels[label], label, scores, 0.0, reason)
                now = nanoseconds(world.clock.now())
                trace = digest(["asked", occasion, name, one.text])[:32]
                capture.trace(TraceLine(trace, name, trace, now, now, prompt, None, None, routed, "base"))
                score = float(routed.role == one.role)
                capture.feedback(
                    FeedbackLine(f"route-{trace}", trace, "route", score, one.role, "label", None, now)
                )
                right += routed.role == one.role
            world.progress("requests", min(start + BATCH, len(requests)), len(requests))
    finally:
        spool.close()
    return name, Tally(len(requests), right)
