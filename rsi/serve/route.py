"""The route hop: which specialist answers.

The router scores every label of the harness and the best one wins. The label set is closed: whatever the
model would have liked to say, the result is a role of the harness. Where the scores decide nothing the
router's own role answers, and the reason says so.
"""

import asyncio
import math
import time
from dataclasses import dataclass
from enum import StrEnum

from rsi.engine.batcher import Batcher
from rsi.ports import Prompt
from rsi.serve.versions import Live


class RouteReason(StrEnum):
    """Why a role was taken."""

    CHOSEN = "chosen"
    """One label scored best."""
    TIE = "tie"
    """Several labels share the best score."""
    NOT_A_NUMBER = "not_a_number"
    """The scores hold a NaN or plus infinity, or no finite number."""
    NO_REQUEST = "no_request"
    """The conversation has no user turn to route by; the model was not asked."""


@dataclass(frozen=True)
class Routed:
    """The outcome of the hop."""

    role: str
    label: str
    """The word of the harness that names the role."""
    logprobs: dict[str, float]
    """Label -> log-probability (nats) among the labels; those that are not finite are left out."""
    ms: float
    reason: RouteReason


def pick(words: tuple[str, ...], scores: tuple[float, ...], fallback: str) -> tuple[str, RouteReason]:
    """The best-scoring word, or `fallback` with the reason why there is none."""
    if not any(map(math.isfinite, scores)) or any(math.isnan(s) or s == math.inf for s in scores):
        return fallback, RouteReason.NOT_A_NUMBER
    best = max(scores)
    winners = [word for word, score in zip(words, scores, strict=True) if score == best]
    return (winners[0], RouteReason.CHOSEN) if len(winners) == 1 else (fallback, RouteReason.TIE)


async def route(batcher: Batcher, live: Live, messages: Prompt) -> Routed:
    """Ask the router's adapter (or the base, where the version has none) for one label."""
    harness, began = live.harness, time.perf_counter()
    fallback = harness.word(harness.router)
    if not any(message.role == "user" for message in messages):
        return Routed(harness.router, fallback, {}, 0.0, RouteReason.NO_REQUEST)
    adapter = live.adapters.get(harness.router)
    asked = batcher.choose_one(harness.route_prompt(messages), harness.words, adapter)
    scores = await asyncio.wrap_future(asked)
    label, reason = pick(harness.words, scores, fallback)
    by_word = zip(harness.words, scores, strict=True)
    return Routed(
        role=harness.labels[label],
        label=label,
        logprobs={word: score for word, score in by_word if math.isfinite(score)},
        ms=(time.perf_counter() - began) * 1000,
        reason=reason,
    )
