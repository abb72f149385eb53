"""The version in service, as this gateway sees it: ``champion.json`` read again when the file changes.

A new version's adapters are loaded before it serves; a request keeps the version it started on. Where a new
version cannot be loaded the old one stays, `Versions.problem` says why, and the next look after a pause
tries again. What a version leaves behind is unloaded after a while; an adapter that the serving version or a running
request uses never is.
"""

import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from pydantic import BaseModel, ConfigDict, ValidationError

from rsi.errors import ContractError, IntegrityError, RefusedError, RsiError
from rsi.harness import hcp
from rsi.ports import Engine
from rsi.registry import adapters
from rsi.settings import Home, said

RETRY_S = 5.0
"""Pause before a version that could not be loaded is tried again."""
LINGER_S = 60.0
"""How long adapters stay that no version in service has any more: another gateway on the same engine may need them."""


class _Placed(BaseModel):
    model_config = ConfigDict(frozen=True)

    name: str
    path: Path


class _Pointer(BaseModel):
    model_config = ConfigDict(frozen=True)

    version: str
    base: str
    harness: str
    adapters: dict[str, _Placed]


@dataclass(frozen=True)
class Live:
    """A version that can serve: its harness read, its adapters loaded."""

    version: str
    harness: hcp.Harness
    adapters: Mapping[str, str]
    """Role -> adapter name."""
    since_s: int
    """When it was published, seconds since 1970."""


class Versions:
    """Follows the champion of one home on one engine; safe to share between threads."""

    def __init__(
        self, home: Home, engine: Engine, retry_s: float = RETRY_S, linger_s: float = LINGER_S
    ) -> None:
        """Load the champion.

        Raises:
            ContractError: there is no champion yet, or it belongs to another base.
            IntegrityError: its harness or an adapter is missing or not what its name says.
        """
        self._home, self._engine, self._retry_s, self._linger_s = home, engine, retry_s, linger_s
        self._switch = threading.Lock()
        self._guard = threading.Lock()
        self._users: Counter[str] = Counter()
        self._loaded = dict(engine.adapters())
        self._left: dict[str, float] = {}
        """Adapters that the last version in service had alone, and when they may go (monotonic seconds)."""
        self.running = 0
        """Requests that hold a lease."""
        self._retry_at = 0.0
        self.problem: str | None = None
        """Why the version that ``champion.json`` names is not the one that serves."""
        self._seen = self._stamp()
        self._live = self._load(self._seen)

    @property
    def live(self) -> Live:
        """The version that serves, as last looked up."""
        return self._live

    @property
    def loaded(self) -> Mapping[str, Path]:
        """Folders of the adapters in memory, by name; asking the engine would wait for its running batch."""
        return MappingProxyType(self._loaded)

    def changed(self) -> bool:
        """Whether `refresh` has something to do; cheap enough to ask for every request."""
        if self._stamp() != self._seen:
            return True
        return self.problem is not None and time.monotonic() >= self._retry_at

    def refresh(self) -> Live:
        """Take up the version that ``champion.json`` names now, or keep the old one and say why. Blocks."""
        with self._switch:
            if self.changed():
                stamp = self._stamp()
                try:
                    live = self._load(stamp)
                except Exception as error:  # whatever an engine says of a bad adapter, the old one serves
                    self.problem = str(error) or type(error).__name__
                    self._retry_at = time.monotonic() + self._retry_s
                else:
                    with self._guard:
                        before, self._live = self._live, live
                    self.problem = None
                    self._leave(before, live)
                # Only now: whoever asks meanwhile finds it changed, and waits for the lock.
                self._seen = stamp
            return self._live

    def _leave(self, before: Live, live: Live) -> None:
        """Note what only the version before had."""
        now = set(live.adapters.values())
        due = time.monotonic() + self._linger_s
        self._left.update(dict.fromkeys(before.adapters.values(), due))
        self._left = {name: at for name, at in self._left.items() if name not in now}

    def drain(self) -> None:
        """Unload what versions left behind, where its time is over and no request uses it; the rest is tried later."""
        for name, due in tuple(self._left.items()):
            if time.monotonic() < due:
                continue
            try:
                self.unload(name)
            except RsiError:
                self._left[name] = time.monotonic() + self._linger_s
            else:
                self._left.pop(name, None)

    @contextmanager
    def lease(self) -> Iterator[Live]:
        """The serving version, kept loaded until the request that uses it is done."""
        with self._guard:
            live = self._live
            self._users.update(live.adapters.values())
            self.running += 1
        try:
            yield live
        finally:
            with self._guard:
                self._users.subtract(live.adapters.values())
                self.running -= 1

    def load(self, name: str, folder: Path) -> None:
        """Load an adapter of this home beside those in service; one that is loaded already is left alone.

        Raises:
            ContractError: the name is not safe, or not that of a folder of this home's adapters.
            RefusedError: the name is taken by another folder, or the adapter belongs to another base.
            IntegrityError: a file is missing, or the content is not what the name says.
        """
        with self._switch:
            self._place(name, folder)

    def unload(self, name: str) -> None:
        """Forget an adapter.

        Raises:
            RefusedError: the serving version, or a request that is still running, uses it.
        """
        with self._switch:
            with self._guard:
                used = name in self._live.adapters.values() or self._users[name] > 0
            if used:
                raise RefusedError(f"adapter {name} is in service; promote or roll back to another first")
            if name in self._loaded:
                self._engine.unload(name)
                self._loaded = {other: folder for other, folder in self._loaded.items() if other != name}

    def _stamp(self) -> tuple[int, ...] | None:
        try:
            stat = self._home.champion.stat()
        except OSError:
            return None
        return stat.st_mtime_ns, stat.st_ino, stat.st_size

    def _load(self, stamp: tuple[int, ...] | None) -> Live:
        pointer = self._pointer()
        if pointer.base != self._engine.base:
            raise ContractError(
                f"version {pointer.version[:12]} belongs to base {pointer.base[:12]}, this gateway runs "
                f"{self._engine.base[:12]}; start it with the deployment's base"
            )
        harness = hcp.load(self._home.harnesses, pointer.harness)
        for placed in pointer.adapters.values():
            self._place(placed.name, placed.path)
        by_role = {role: placed.name for role, placed in pointer.adapters.items()}
        return Live(pointer.version, harness, by_role, (stamp or (0,))[0] // 10**9)

    def _pointer(self) -> _Pointer:
        path = self._home.champion
        try:
            return _Pointer.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            raise ContractError(f"no version to serve: {path} is missing; run `rsi init` first") from None
        except ValidationError as error:
            raise IntegrityError(
                f"{path} is not a champion file ({said(error)}); it is made from the ledger: remove it and "
                "start the gateway again"
            ) from None

    def _place(self, name: str, folder: Path) -> None:
        expected = adapters.folder(self._home, name).resolve()
        folder = (self._home.root / folder).resolve()
        if folder != expected or folder.parent != self._home.adapters.resolve():
            raise ContractError(f"adapter {name} must lie in {expected}, not {folder}")
        there = self._loaded.get(name)
        if there is not None:
            if Path(there).resolve() != folder:
                raise RefusedError(f"adapter name {name} is already loaded from {there}")
            return
        found = adapters.describe(self._home, name)
        if found.base != self._engine.base:
            raise RefusedError(
                f"adapter {name} belongs to base {found.base[:12]}, here runs {self._engine.base[:12]}"
            )
        self._engine.load(name, folder)
        self._loaded = {**self._loaded, name: folder}
