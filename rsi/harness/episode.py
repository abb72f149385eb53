"""One run of the agent loop, kept as the tokens that were read and sampled."""

from dataclasses import dataclass
from enum import StrEnum

from rsi.records import NOBODYS, Outcome


class Speaker(StrEnum):
    """Whose turn it is."""

    PROMPT = "prompt"
    """The system text and the request, up to where the first answer begins."""
    ANSWER = "answer"
    """The model; only these tokens are trained on."""
    RESULT = "result"
    """A tool, or the harness saying what is wrong; up to where the next answer begins."""


class Stop(StrEnum):
    """Why an episode ended."""

    DONE = "done"
    """The model said the stop word."""
    TURNS = "turns"
    """It had all its turns."""
    UNREADABLE = "unreadable"
    """It said something that is no call, and the rules end there."""
    REPEATED = "repeated"
    """It made the same call again and again."""
    CONTEXT = "context"
    """There was no room for another answer."""
    CRASH = "crash"
    """The environment raised something or did not come back in time."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn; its tokens are `tokens[start:end]` of the episode. A result that nobody read has none."""

    speaker: Speaker
    start: int
    end: int
    text: str
    failed: bool = False
    """The answer was no call, or its call was refused."""


@dataclass(frozen=True, slots=True)
class Episode:
    """A finished rollout."""

    task_id: str
    seed: int
    tokens: tuple[int, ...]
    """The whole conversation; what was sampled stands as it was sampled."""
    logprobs: tuple[float, ...]
    """Log-probability (nats) of each sampled token when it was drawn, in order."""
    turns: tuple[Turn, ...]
    stop: Stop
    outcome: Outcome
    state: str
    """The world at the end as JSON; empty after a crash."""

    @property
    def mask(self) -> tuple[bool, ...]:
        """For each token, whether the model sampled it; as many are true as there are log-probs."""
        sampled = [False] * len(self.tokens)
        for turn in self.turns:
            if turn.speaker is Speaker.ANSWER:
                sampled[turn.start : turn.end] = [True] * (turn.end - turn.start)
        return tuple(sampled)

    @property
    def answers(self) -> tuple[str, ...]:
        """What the model said, turn by turn."""
        return tuple(turn.text for turn in self.turns if turn.speaker is Speaker.ANSWER)

    @property
    def reward(self) -> float | None:
        """The score, 0 for answers without one, and None where that was not the model's fault."""
        return None if self.outcome.kind in NOBODYS else self.outcome.score or 0.0
