"""The actor: an engine that samples with the adapter in training, which it knows by its content's name.

Learner and actor share nothing but adapters: after each step the learner's weights are written, named by their digest,
loaded under that name, and the one before is unloaded. So the actor may be this process or a server elsewhere.
"""

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from rsi.ids import digest_files
from rsi.ports import Engine, Generation
from rsi.update import learner
from rsi.update.learner import Learner

_FILES = ("adapter_config.json", "adapter_model.safetensors")


class Actor:
    """`rsi.ports.Sampler` with whatever the learner is at the moment."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        """`folder` is where adapters lie while they are loaded; a server must see it under the same path."""
        self._engine, self._folder = engine, folder
        self._loaded: str | None = None
        self._stack = ExitStack()

    def follow(self, model: Learner, base: str) -> str:
        """Take the learner's weights as they are now; their name."""
        self._folder.mkdir(parents=True, exist_ok=True)
        stack = ExitStack()
        draft = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=self._folder)))
        learner.export(model, draft, base)
        name = f"{learner.TRAINED}-{digest_files(draft, _FILES)[:12]}"
        if name == self._loaded:
            stack.close()
            return name
        self._engine.load(name, draft)
        self.close()
        self._loaded, self._stack = name, stack
        return name

    def generate_tokens(
        self,
        prompts: Sequence[Sequence[int]],
        adapter: str | None,
        max_tokens: int,
        temperature: float,
        seeds: Sequence[int],
    ) -> list[Generation]:
        """As the engine answers."""
        return self._engine.generate_tokens(prompts, adapter, max_tokens, temperature, seeds)

    def close(self) -> None:
        """Let go of what is loaded."""
        if self._loaded is not None:
            self._engine.unload(self._loaded)
        self._loaded = None
        self._stack.close()
