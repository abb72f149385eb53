"""Fakes of what the core takes as a parameter."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from rsi.ports import Engine, Generation, Prompt
from tests.made import router


class Taught:
    """A real engine, but whatever is not genesis (an adapter, another route text) routes known requests right."""

    def __init__(self, real: Engine, answers: Mapping[str, Sequence[str]]) -> None:
        self._real = real
        self._roles = {text: role for role, texts in answers.items() for text in texts}
        self._words = {role: word for word, role in router().labels.items()}

    @property
    def base(self) -> str:
        return self._real.base

    def choose(
        self, prompts: Sequence[Prompt], choices: Sequence[str], adapter: str | None
    ) -> list[tuple[float, ...]]:
        """The real numbers, or certainty where a version that is not genesis is asked what it was taught."""
        rows = self._real.choose(prompts, choices, adapter)
        genesis = router().prompts.route
        for at, prompt in enumerate(prompts):
            role = self._roles.get(prompt[-1].content)
            if role and (adapter or prompt[0].content != genesis):
                rows[at] = tuple(0.0 if word == self._words[role] else -50.0 for word in choices)
        return rows

    def generate(
        self,
        prompts: Sequence[Prompt],
        adapter: str | None,
        max_tokens: int,
        temperature: float = 0.0,
        seed: int = 0,
    ) -> list[Generation]:
        return self._real.generate(prompts, adapter, max_tokens, temperature, seed)

    def logprobs(
        self, prompts: Sequence[Prompt], answers: Sequence[str], adapter: str | None
    ) -> list[tuple[float, ...]]:
        return self._real.logprobs(prompts, answers, adapter)

    def load(self, name: str, folder: Path) -> None:
        self._real.load(name, folder)

    def unload(self, name: str) -> None:
        self._real.unload(name)

    def adapters(self) -> Mapping[str, Path]:
        return self._real.adapters()
