"""Weighing a closed set of answers on a server that tells log-probs of given next tokens."""

from collections.abc import Sequence
from math import exp, fsum, log
from typing import Protocol

Tokens = Sequence[int]


class Weigher(Protocol):
    """A server that tells log-probs of given next tokens."""

    def next_logprobs(
        self,
        prompts: Sequence[Tokens],
        wanted: Sequence[Tokens],
        adapter: str | None,
        temperature: float = 1.0,
    ) -> list[tuple[float, ...]]:
        """Log-probability (nats) of each wanted token as the next after its prompt."""
        ...


def weigh(
    engine: Weigher,
    prompts: Sequence[Tokens],
    choices: Sequence[Tokens],
    adapter: str | None,
    temperature: float = 1.0,
) -> list[tuple[float, ...]]:
    """Log-probs of the choices, one row a prompt, as `rsi.ports.Engine.choose` defines them.

    Choices that share all but their last token share a request, so that labels of one token cost one a prompt.
    """
    starts = sorted({tuple(choice[:at]) for choice in choices for at in range(len(choice))})
    after = {
        start: sorted({choice[len(start)] for choice in choices if _goes_on(choice, start)})
        for start in starts
    }
    told = iter(
        engine.next_logprobs(
            [[*prompt, *start] for prompt in prompts for start in starts],
            [after[start] for _ in prompts for start in starts],
            adapter,
            temperature,
        )
    )
    found = []
    for _ in prompts:
        known = {start: dict(zip(after[start], next(told), strict=True)) for start in starts}
        sums = [
            fsum(known[tuple(choice[:at])][token] for at, token in enumerate(choice)) for choice in choices
        ]
        top = max(sums)
        total = top + log(fsum(exp(one - top) for one in sums))
        found.append(tuple(one - total for one in sums))
    return found


def _goes_on(choice: Tokens, start: tuple[int, ...]) -> bool:
    return len(choice) > len(start) and tuple(choice[: len(start)]) == start
