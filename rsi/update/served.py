"""An actor behind a server such as vLLM: how it weighs labels, and the proof that it has the learner's weights.

A server answers 200 whatever it made of an adapter: one whose modules it does not know leaves the base's answers. It
may as well run another base, or tell log-probs of another distribution than the one it samples from. Losses stay
finite through all of that, so before rollouts count, labels are weighed on short probes by both sides and compared.
"""

from collections.abc import Callable, Sequence
from math import isfinite
from pathlib import Path
from typing import NamedTuple

from rsi.engine.publish import AGREEMENT, EFFECT, PROBES, Effect, Rows, furthest
from rsi.engine.weigh import Tokens, Weigher, weigh
from rsi.errors import ContractError, RefusedError
from rsi.records import ChatMessage
from rsi.update.actor import Actor
from rsi.update.closed import Labels, Texts, Weigh
from rsi.update.job import Job
from rsi.update.learner import Learner

AT_ONCE = 64
"""Most requests in flight, which a server works on side by side."""
PATIENCE_S = 600.0
"""How long one of them may take."""


class Probe(NamedTuple):
    """What both sides are asked."""

    prompts: Sequence[Tokens]
    choices: Sequence[Tokens]
    learner: Callable[[], Rows]
    """Log-probs of the choices by the learner's weights as they are now."""
    bare: Rows
    """Those of the learner's base."""


class Proof:
    """Whether a server answers with the weights that are trained.

    Two sides never agree to the last bit: how far they are apart on the base alone is the measure of what may be told
    apart. An adapter that moved less than four times that, or than twice `EFFECT`, is held to `AGREEMENT` only.
    """

    def __init__(self, engine: Weigher, probe: Probe) -> None:
        """Compare the bases.

        Raises:
            ContractError: the server runs another base, or does not tell log-probs after temperature.
        """
        self._engine, self._probe = engine, probe
        self._bare = weigh(engine, probe.prompts, probe.choices, None)
        self._before: Rows | None = None
        gap = furthest(self._bare, probe.bare)
        if not gap <= AGREEMENT:
            raise ContractError(
                f"the actor's base answers otherwise than the learner's: {gap:.2g} nats apart, at most {AGREEMENT} "
                "allowed; let it serve the very folder that is trained on, in the same precision"
            )
        self._noise = max(EFFECT, 2 * gap)
        hot = weigh(engine, probe.prompts, probe.choices, None, temperature=2.0)
        if furthest(hot, self._bare) <= self._noise:
            raise ContractError(
                "the actor tells the same log-probs at temperatures 1 and 2, so not those it samples from: start vLLM "
                "with --logprobs-mode processed_logprobs"
            )

    def check(self, name: str) -> Effect:
        """Compare an adapter that was loaded with the learner.

        Raises:
            RefusedError: the server answers otherwise, or as the base or the adapter before would.
        """
        now = self._probe.learner()
        acting = weigh(self._engine, self._probe.prompts, self._probe.choices, name)
        if not all(isfinite(value) for row in (*acting, *now) for value in row):
            raise RefusedError(f"adapter {name}: a log-prob on a probe is not finite")
        gap = furthest(acting, now)
        others: dict[str, tuple[Rows, Rows]] = {"the base": (self._probe.bare, self._bare)}
        if self._before is not None:
            others["the adapter before"] = (self._before, self._before)
        apart = [
            (furthest(acting, served), other, furthest(now, learnt))
            for other, (learnt, served) in others.items()
        ]
        nearest, other, moved = min(
            (one for one in apart if one[2] > 2 * self._noise), default=(gap, "", 0.0)
        )
        if nearest < gap:
            raise RefusedError(
                f"adapter {name} is loaded but does not act: the actor answers as {other} would ({nearest:.2g} nats "
                f"away), the learner is {moved:.2g} nats from that"
            )
        if not gap <= AGREEMENT:
            raise RefusedError(
                f"adapter {name} answers otherwise than the learner: {gap:.2g} nats apart, at most {AGREEMENT} allowed"
            )
        self._before = now
        return Effect(furthest(acting, self._bare), gap)


def join(job: Job, place: Path, model: Learner, texts: Texts) -> tuple[Actor, Weigh]:
    """The actor of a job behind a server, and how labels are weighed there.

    Raises:
        ContractError: the server runs another base than the job, or tells no log-probs that rollouts need.
        TransientError: it is away.
    """
    from rsi.engine.openai import OpenAIEngine, endpoint

    engine = OpenAIEngine(
        endpoint(job.settings.actor), job.base_name, job.base, workers=AT_ONCE, wait_s=PATIENCE_S, retries=0
    )
    own = Labels(model.decoder, texts, job.settings)
    probes = tuple((ChatMessage(role="user", content=text),) for text in PROBES)
    with model.bare():
        bare = own.measure(probes)
    choices = texts.choices()
    proof = Proof(engine, Probe(texts.prompts(probes), choices, lambda: own.measure(probes), bare))
    actor = Actor(engine, place / "actor", proof.check)

    def asked(prompts: Sequence[Sequence[int]]) -> Rows:
        return weigh(engine, prompts, choices, actor.follow(model, job.base))

    return actor, asked
