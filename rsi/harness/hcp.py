"""The harness file: everything around the model that a version fixes, as one TOML document.

A thin part of the Harness Configuration Protocol: a header, prompts, the router's labels and sampling. The file
is named by the digest of its meaning (not of its spaces), stored under ``harnesses/<digest>.toml``, and never
changed; another route text is another harness, and so another version.
"""

import tomllib
from pathlib import Path
from typing import Literal

import tomlkit
from pydantic import Field, ValidationError, model_validator

from rsi.errors import ContractError, IntegrityError
from rsi.harness.rules import Rules
from rsi.ids import Digest
from rsi.ports import Prompt
from rsi.records import ChatMessage, Record
from rsi.settings import said
from rsi.store.files import write_whole

LIMIT = 256 * 1024
"""Largest harness file in bytes."""


class Prompts(Record):
    """System texts."""

    route: str = Field(min_length=1)
    """What the router is told before it reads a request."""
    answer: dict[str, str] = Field(default_factory=dict)
    """Role -> system text of the answer hop; a role without one gets none."""


class Sampling(Record):
    """How answers are drawn."""

    max_tokens: int = Field(256, ge=1, le=32768)
    temperature: float = Field(0.0, ge=0, le=2)


class Harness(Record):
    """One harness; `digest` names it."""

    hcp: Literal["0.1"] = "0.1"
    name: str
    prompts: Prompts
    labels: dict[str, str] = Field(min_length=1)
    """Word the router may say -> role. Closed: nothing else is a route."""
    router: str = "L0"
    """Role whose adapter routes."""
    sampling: Sampling = Sampling()
    agent: Rules = Rules()
    """Of the loop in which a specialist uses tools."""

    @model_validator(mode="after")
    def _roles_are_distinct(self) -> "Harness":
        if len(set(self.labels.values())) != len(self.labels):
            raise ValueError("two labels name the same role")
        if self.router not in self.labels.values():
            raise ValueError(f"router {self.router!r} is no role of [labels]")
        return self

    @property
    def words(self) -> tuple[str, ...]:
        """The labels, in the order of the file."""
        return tuple(self.labels)

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles, in the order of their labels."""
        return tuple(self.labels.values())

    def word(self, role: str) -> str:
        """The label that names a role.

        Raises:
            ContractError: the harness has no such role.
        """
        for word, named in self.labels.items():
            if named == role:
                return word
        raise ContractError(
            f"role {role!r} has no label in harness {self.name}; it has {', '.join(self.roles)}"
        )

    def route_prompt(self, messages: Prompt) -> Prompt:
        """What the router reads: the route text, then the last user turn alone."""
        request = next((m.content for m in reversed(messages) if m.role == "user"), "")
        return (
            ChatMessage(role="system", content=self.prompts.route),
            ChatMessage(role="user", content=request),
        )

    def answer_prompt(self, role: str, messages: Prompt) -> Prompt:
        """What the specialist reads: its system text, unless the caller brought one, then the conversation."""
        text = self.prompts.answer.get(role)
        if not text or any(m.role == "system" for m in messages):
            return messages
        return (ChatMessage(role="system", content=text), *messages)


def read(path: Path) -> Harness:
    """A harness from its file.

    Raises:
        ContractError: missing, too large, not TOML, or with keys or values it must not have.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise ContractError(f"no harness file at {path}") from None
    if len(data) > LIMIT:
        raise ContractError(f"{path} has {len(data)} bytes; a harness has at most {LIMIT}")
    try:
        return Harness.model_validate(tomllib.loads(data.decode()))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ContractError(f"{path} is not valid TOML: {error}") from None
    except ValidationError as error:
        raise ContractError(f"{path}: {said(error)}") from None


def store(folder: Path, harness: Harness) -> Digest:
    """Keep a harness under its digest and return that."""
    path = folder / f"{harness.digest}.toml"
    if not path.exists():
        write_whole(path, tomlkit.dumps(harness.model_dump(mode="json")).encode())
    return harness.digest


def load(folder: Path, name: str) -> Harness:
    """The harness with that digest.

    Raises:
        IntegrityError: it is missing or says something else than its name.
    """
    path = folder / f"{name}.toml"
    if not path.exists():
        raise IntegrityError(f"harness {name[:12]} is missing: expected {path}")
    harness = read(path)
    if harness.digest != name:
        raise IntegrityError(f"{path} does not say what its name says: its digest is {harness.digest[:12]}…")
    return harness
