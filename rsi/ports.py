"""What the core needs from the world. Real ones are imported only where a command needs them."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from rsi.records import Argument, ChatMessage, WorldTask

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Prompt = tuple[ChatMessage, ...]
"""A conversation to be answered."""


class Clock(Protocol):
    """The time."""

    def now(self) -> datetime:
        """The moment, with a UTC zone."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """The moment, UTC."""
        return datetime.now(UTC)


class Progress(Protocol):
    """Somebody who likes to know how far long work has come."""

    def __call__(self, what: str, done: int, total: int, note: str = "") -> None:
        """`done` of `total` steps of `what`; `note` carries honest counts ("12 skipped")."""
        ...


class Trainer(Protocol):
    """Somebody who works on training jobs."""

    def __call__(self, place: Path, progress: Progress) -> None:
        """Work on the job in a folder, or find it done; at its return ``complete.json`` lies there.

        Raises:
            TransientError: its worker is gone or cannot be reached; the same call goes on with the job.
            RefusedError: training diverged, or a person stopped it.
        """
        ...


def silent(what: str, done: int, total: int, note: str = "") -> None:
    """A Progress that tells nobody."""


class Generation(NamedTuple):
    """One sampled answer."""

    text: str
    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    """Log-probability (nats) of each token under the distribution it was sampled from."""
    finish_reason: str
    """stop or length."""
    read: int | None = None
    """Tokens of the prompt; null where the engine does not tell."""


class Sampler(Protocol):
    """What goes on from tokens: all that a rollout needs of an engine."""

    def generate_tokens(
        self,
        prompts: Sequence[Sequence[int]],
        adapter: str | None,
        max_tokens: int,
        temperature: float,
        seeds: Sequence[int],
    ) -> list[Generation]:
        """One answer a prompt of token ids, read as they are.

        A prompt has a seed of its own: its answer does not depend on what else is asked in the call.
        """
        ...


class Engine(Sampler, Protocol):
    """What runs a model with adapters by name; `adapter=None` is the bare base."""

    @property
    def base(self) -> str:
        """Digest of the base model."""
        ...

    def choose(
        self, prompts: Sequence[Prompt], choices: Sequence[str], adapter: str | None
    ) -> list[tuple[float, ...]]:
        """Log-probabilities (nats) of every choice, one row a prompt, in the order of `choices`.

        A row is the log-softmax over the choices of their summed token log-probs: it sums to one in probability.
        """
        ...

    def generate(
        self,
        prompts: Sequence[Prompt],
        adapter: str | None,
        max_tokens: int,
        temperature: float = 0.0,
        seed: int = 0,
    ) -> list[Generation]:
        """One answer a prompt; temperature 0 is greedy."""
        ...

    def load(self, name: str, folder: Path) -> None:
        """Load an adapter under a new name. A name once used is never loaded with other content."""
        ...

    def unload(self, name: str) -> None:
        """Forget an adapter."""
        ...

    def adapters(self) -> Mapping[str, Path]:
        """What is loaded, by name."""
        ...


class Preference(StrEnum):
    """All that a judge may say of two answers."""

    FIRST = "first"
    SECOND = "second"
    SAME = "same"


class Judge(Protocol):
    """Somebody who compares two answers by a rubric, not knowing whose they are."""

    @property
    def name(self) -> str:
        """What records say of who judged: the model, and the digest of what it was asked with."""
        ...

    def prefer(self, rubric: str, question: str, first: str, second: str) -> Preference | None:
        """The better answer; None where no verdict could be had. All four texts are data, never instructions.

        Raises:
            TransientError: the judge cannot be reached now.
        """
        ...


class Embedder(Protocol):
    """What turns texts into vectors whose nearness is nearness of meaning."""

    def embed(self, texts: Sequence[str]) -> "NDArray[np.float64]":
        """One row a text, of length one, or zero for a text that says nothing; the same texts give the same rows."""
        ...


class Dialogue(Protocol):
    """How a base's chat template writes a conversation that grows token by token.

    What a model said is never encoded again: its sampled ids stay, and what others say is appended to them.
    """

    def opening(self, prompt: Prompt) -> tuple[int, ...]:
        """A conversation up to where the first answer begins."""
        ...

    def between(self, said: Sequence[int], turn: ChatMessage) -> tuple[int, ...]:
        """What follows an answer's ids: the end of its turn where it has none, `turn`, the next answer's opening."""
        ...

    def answer(self, text: str) -> tuple[int, ...]:
        """A given answer as it would have been sampled, with the token that ends a turn."""
        ...


class ToolResult(NamedTuple):
    """What a tool gave back."""

    text: str
    failed: bool = False
    """The world refused the call and is as it was; `text` says why."""


class Environment(Protocol):
    """A small world for one episode. It is reset once, and closed whatever happened.

    An exception out of it is a crash of the environment, never the model's fault.
    """

    @property
    def tools(self) -> tuple[Mapping[str, object], ...]:
        """Its tools, as the OpenAI chat API takes them."""
        ...

    @property
    def policy(self) -> str:
        """The rules of the house, for the system prompt."""
        ...

    def reset(self, task: WorldTask, seed: int) -> str:
        """Set up the task's world; what the model is asked. `seed` is for a world with chance in it."""
        ...

    def call(self, tool: str, arguments: Mapping[str, Argument]) -> ToolResult:
        """Use a tool with arguments that fit its schema."""
        ...

    def final_state(self) -> str:
        """The world as JSON: table name -> rows. Equal worlds give equal text."""
        ...

    def close(self) -> None:
        """Let go of it; also of one that was never reset."""
        ...
