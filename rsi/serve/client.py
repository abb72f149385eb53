"""How other processes reach the running gateways of a home: who runs where, and the admin API as methods.

A gateway leaves ``gateways/<pid>.json`` while it runs. A file whose process is gone, or whose pid now
belongs to a process born at another time, is skipped.
"""

import math
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import httpx
from pydantic import BaseModel, ConfigDict, ValidationError

from rsi.engine.publish import EngineReplica, Replica
from rsi.errors import ContractError, RefusedError, TransientError
from rsi.ports import Clock, Engine, Prompt
from rsi.settings import Home
from rsi.store.files import write_whole

TIMEOUT_S = 120.0
"""A probe may wait behind a full batch on a slow machine."""


class Health(BaseModel):
    """What ``GET /health`` says."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    status: str
    """ok, or degraded with `problems`."""
    version: str
    """Digest of the version that serves."""
    base: str
    """Digest of the base model."""
    adapters: dict[str, str]
    """Role -> adapter name of that version."""
    loaded: tuple[str, ...]
    """Every adapter in memory."""
    queue: int
    """Requests being answered or waiting."""
    spool: str | None
    """The open segment, if any."""
    problems: tuple[str, ...]


class Registration(BaseModel):
    """What a gateway leaves in ``gateways/<pid>.json``."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    url: str
    pid: int
    started: str
    """ISO 8601, UTC."""
    base: str
    """Digest of its base model."""
    born: int | None = None
    """Start of the process in clock ticks since boot (``/proc/<pid>/stat``, field 22), where known."""


class Gateway:
    """One running gateway, from outside."""

    def __init__(self, url: str, token: str, timeout_s: float = TIMEOUT_S) -> None:
        self.url = url
        self._http = httpx.Client(
            base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=timeout_s, trust_env=False
        )

    def close(self) -> None:
        """Let go of the connection."""
        self._http.close()

    def __enter__(self) -> "Gateway":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def health(self) -> Health:
        """How it is doing.

        Raises:
            TransientError: it does not answer, or answers with a server error (also every method below).
        """
        return Health.model_validate(self._ask("GET", "/health"))

    def version(self) -> str:
        """Digest of the version that serves."""
        return self.health().version

    def adapters(self) -> dict[str, Path]:
        """What is loaded, by name."""
        said = _Adapters.model_validate(self._ask("GET", "/admin/adapters"))
        return {one.name: one.path for one in said.adapters}

    def load(self, name: str, path: Path) -> None:
        """Load an adapter of the home.

        Raises:
            ContractError: the gateway will not have that name or path; the message says why.
            RefusedError: the name is taken.
        """
        self._ask("POST", "/admin/adapters", {"name": name, "path": str(path.resolve())})

    def unload(self, name: str) -> None:
        """Forget an adapter.

        Raises:
            RefusedError: it is in service.
        """
        self._ask("DELETE", f"/admin/adapters/{name}")

    def probe(
        self, prompts: Sequence[Prompt], choices: Sequence[str], adapter: str | None
    ) -> list[tuple[float, ...]]:
        """`Engine.choose` over there: log-probabilities (nats), one row a prompt; NaN where not finite."""
        body = {
            "adapter": adapter,
            "prompts": [[message.model_dump() for message in prompt] for prompt in prompts],
            "choices": list(choices),
        }
        said = _Probed.model_validate(self._ask("POST", "/admin/probe", body))
        return [tuple(math.nan if score is None else score for score in row) for row in said.logprobs]

    def rotate(self) -> Path | None:
        """Have the open segment of the spool closed; its path, if there was one."""
        closed = _Closed.model_validate(self._ask("POST", "/admin/rotate")).closed
        return Path(closed) if closed else None

    def _ask(self, method: str, path: str, body: Mapping[str, object] | None = None) -> object:
        try:
            reply = self._http.request(method, path, json=body)
        except httpx.HTTPError as error:
            why = str(error) or type(error).__name__
            raise TransientError(f"the gateway at {self.url} does not answer: {why}") from error
        if reply.is_success:
            return reply.json()
        message = f"the gateway at {self.url} answered {reply.status_code}: {_message(reply)}"
        if reply.status_code >= 500:
            raise TransientError(message)
        raise RefusedError(message) if reply.status_code == 409 else ContractError(message)


class _Read(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class _Loaded(_Read):
    name: str
    path: Path


class _Adapters(_Read):
    adapters: tuple[_Loaded, ...]


class _Probed(_Read):
    logprobs: tuple[tuple[float | None, ...], ...]


class _Closed(_Read):
    closed: str | None


class _Error(_Read):
    message: str


class _Failed(_Read):
    error: _Error


def _message(reply: httpx.Response) -> str:
    try:
        return _Failed.model_validate_json(reply.content).error.message
    except ValidationError:
        return reply.text[:200]


def token(home: Home) -> str:
    """The admin token of a home, made on first use, readable by its owner only."""
    path = home.root / "admin.token"
    if not path.exists():
        write_whole(path, secrets.token_urlsafe(32).encode())
    return path.read_text().strip()


def register(home: Home, url: str, base: str, clock: Clock) -> Path:
    """Say that this process serves at `url`; its file."""
    pid = os.getpid()
    started = clock.now().isoformat(timespec="seconds")
    said = Registration(url=url, pid=pid, started=started, base=base, born=_born(pid))
    path = home.gateways / f"{pid}.json"
    write_whole(path, said.model_dump_json().encode())
    return path


def unregister(home: Home) -> None:
    """This process serves no longer."""
    (home.gateways / f"{os.getpid()}.json").unlink(missing_ok=True)


def running(home: Home) -> list[Gateway]:
    """The gateways of this home whose process is alive, oldest pid first."""
    found = []
    for path in sorted(home.gateways.glob("*.json")):
        try:
            said = Registration.model_validate_json(path.read_bytes())
        except (FileNotFoundError, ValidationError):
            continue
        if _alive(said):
            found.append(Gateway(said.url, token(home)))
    return found


def replicas(home: Home, engine: Callable[[], Engine]) -> list[Replica]:
    """Where a version has to be published: every running gateway of this home; the engine where none runs."""
    return list(running(home)) or [EngineReplica(engine())]


def _alive(said: Registration) -> bool:
    try:
        os.kill(said.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    born = _born(said.pid)
    return born is None or said.born is None or born == said.born


def _born(pid: int) -> int | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        return int(stat.rsplit(")", 1)[1].split()[19])
    except (OSError, ValueError, IndexError):
        return None
