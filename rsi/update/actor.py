"""The actor: an engine that samples with the adapter in training, which it knows by its content's name.

Learner and actor share nothing but adapters: after each step the learner's weights are written, named by their digest,
and loaded under that name. So the actor may be this process or a server elsewhere. The adapter before stays until
another one comes, since a server may still be reading it; then it is unloaded and its folder removed.
"""

import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from rsi.engine.weights import ADAPTER_FILES
from rsi.errors import RsiError
from rsi.ids import digest, digest_files
from rsi.ports import Engine, Generation
from rsi.update import learner
from rsi.update.learner import Learner

KEPT = 2
"""Adapters that stay loaded: the one in training and the one before."""


def trusted(name: str) -> None:
    """No proof is asked of an engine in this process, which refuses weights that do not fit."""


class Actor:
    """`rsi.ports.Sampler` with whatever the learner is at the moment."""

    def __init__(self, engine: Engine, folder: Path, prove: Callable[[str], object] = trusted) -> None:
        """Sample with `engine`.

        `folder` is where adapters lie while they are loaded; a server must see it under the same path. `prove` is asked
        of each adapter once it is loaded; what it raises leaves the adapter unloaded.
        """
        self._engine, self._folder, self._prove = engine, folder.resolve(), prove
        self._loaded: list[str] = []

    def follow(self, model: Learner, base: str) -> str:
        """Take the learner's weights as they are now; their name.

        A server keeps what it computed by name and path, so the path is part of what the name says.
        """
        if not self._loaded:
            self._sweep()
        self._folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self._folder) as written:
            draft = Path(written)
            learner.export(model, draft, base)
            content = digest_files(draft, ADAPTER_FILES)
            name = f"{learner.TRAINED}-{digest([str(self._folder), content])[:12]}"
            if name in self._loaded and name in self._engine.adapters():
                return name
            place = self._folder / name
            if not place.exists():
                place.mkdir()
                for file in ADAPTER_FILES:
                    (draft / file).rename(place / file)
        self._load(name, place)
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
        """Let go of what is loaded; an engine that is away has let go already."""
        while self._loaded:
            self._drop(self._loaded.pop())

    def _load(self, name: str, place: Path) -> None:
        self._engine.load(name, place)
        try:
            self._prove(name)
        except BaseException:
            self._drop(name)
            raise
        if name not in self._loaded:
            self._loaded.append(name)
        while len(self._loaded) > KEPT:
            self._drop(self._loaded.pop(0))

    def _drop(self, name: str) -> None:
        with suppress(RsiError):
            self._engine.unload(name)
        with suppress(OSError):
            shutil.rmtree(self._folder / name)

    def _sweep(self) -> None:
        """Let go of what a worker that was killed here has left loaded."""
        for place in self._folder.glob(f"{learner.TRAINED}-*"):
            self._drop(place.name)
