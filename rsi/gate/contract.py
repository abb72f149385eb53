"""The evaluation contract: which suites decide, and the bars, margins and levels they are held to.

A contract lies at ``contracts/gate/<name>/vN.toml``. It is read by the gate alone and pins its suites by
digest, so that a changed item changes the contract's name for the world, not the measure behind its back.
"""

import re
import tomllib
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, ValidationError, model_validator

from rsi.errors import ContractError
from rsi.gate.terms import (
    Budget,
    Correction,
    Hygiene,
    JudgeRule,
    Level,
    Levels,
    Noise,
    Order,
    Power,
    Share,
    Watch,
)
from rsi.ids import Digest, digest
from rsi.records import Record, Rule
from rsi.settings import contracts_dir, said

LIMIT = 64 * 1024
"""Largest contract file in bytes."""
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}/v[1-9][0-9]{0,3}")
"""``name/vN``, for contracts and suites alike."""

Name = Annotated[str, StringConstraints(pattern=f"^{NAME.pattern}$")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class Target(Record):
    """The suite on which the candidate must be better."""

    suite: Name
    """For instance ``routing/v1``."""
    pin: Sha256 = Field(alias="digest")
    """Digest of the suite's files (key `digest`); with another the suite is refused."""
    min_items: int = Field(ge=1)
    """Fewer answered items than this cannot tell."""
    min_label_items: int = Field(1, ge=1)
    """The same, for each label."""
    min_hard_items: int = Field(1, ge=0)
    """The same, for the hard items of our own; 0 where the suite has none and their bar is left out."""
    min_accuracy: Share
    """Bar for the candidate over all items."""
    min_label_accuracy: Share = 0.8
    """Bar for each label."""
    min_hard_accuracy: Share = 0.7
    """Bar for the hard items written for this project."""
    alpha: Level = 0.05
    """Level of the one-sided paired test for a gain."""
    max_tokens: int = Field(64, ge=1, le=4096)
    """Cap on the answer, where the suite is answered in words."""


class Guard(Record):
    """A suite on which the candidate must not be worse by the margin or more."""

    suite: Name
    pin: Sha256 = Field(alias="digest")
    min_items: int = Field(ge=1)
    margin: float = Field(0.08, gt=0, lt=1)
    """Loss of accuracy that is already too much, as a share."""
    alpha: Level = 0.05
    """Level of the one-sided non-inferiority test."""
    champion_low: Share = 0.3
    """Below this the suite is too hard for the champion to notice a loss."""
    champion_high: Share = 0.9
    """Above this it is too easy."""
    max_tokens: int = Field(ge=1, le=4096)
    """Cap on the answer, in tokens; what keeps the `exact` verifier honest."""


class ZeroTolerance(Record):
    """A suite of what must never go wrong: one wrong answer of the candidate fails it."""

    suite: Name
    pin: Sha256 = Field(alias="digest")
    rate: float = Field(gt=0, lt=1)
    """Share of failures that none among the items has to exclude, with a confidence of 95%: about three failures in as
    many items as the suite must have (the rule of three)."""
    max_tokens: int = Field(ge=1, le=4096)
    """Cap on the answer, in tokens."""


class Contract(Record):
    """The rule that decides."""

    schema_version: Literal[1]
    name: Name
    target: Target
    guards: tuple[Guard, ...] = Field(min_length=1)
    zero_tolerance: tuple[ZeroTolerance, ...] = ()
    anchor: Annotated[str, StringConstraints(pattern=r"^(genesis|[0-9a-f]{64})$")] | None = None
    """A fixed version that guards are compared with too, so that small losses cannot add up over nights."""
    correction: Correction = Correction.NONE
    """Over all guards, against champion and anchor."""
    budget: Budget | None = None
    power: Power | None = None
    noise: Noise | None = None
    order: Order | None = None
    levels: Levels | None = None
    hygiene: Hygiene | None = None
    judge: JudgeRule | None = None
    watch: Watch | None = None
    """What becomes of a version that goes wrong in service."""
    approval: Rule | None = None
    """Who may answer a request about a passed candidate; the verdict repeats it."""

    @model_validator(mode="after")
    def _suites_are_distinct(self) -> "Contract":
        names = [part.suite for part in self.parts]
        if len({name.split("/")[0] for name in names}) != len(names):
            raise ValueError(f"a suite is named twice among {', '.join(names)}")
        for guard in self.guards:
            if guard.champion_low >= guard.champion_high:
                raise ValueError(f"guard {guard.suite}: champion_low is not below champion_high")
        if self.correction is Correction.HOLM and len({guard.alpha for guard in self.guards}) > 1:
            raise ValueError("correction holm wants one alpha for all guards: they share it")
        return self

    @property
    def digest(self) -> Digest:
        """SHA-256 of the canonical JSON, without the tables that the contract does not have.

        A file keeps its digest when contracts learn to say more.
        """
        added = (
            *("correction", "budget", "power", "noise", "order", "levels", "watch", "approval"),
            *("zero_tolerance", "hygiene", "judge"),
        )
        absent = {name for name in added if getattr(self, name) in (None, Correction.NONE, ())}
        return digest(self.model_dump(mode="json", exclude=absent))

    @property
    def parts(self) -> tuple[Target | Guard | ZeroTolerance, ...]:
        """The target, then the guards, then what tolerates nothing."""
        return (self.target, *self.guards, *self.zero_tolerance)

    @property
    def pins(self) -> dict[str, str]:
        """Suite -> the digest it must have."""
        return {part.suite: part.pin for part in self.parts}


def read(name: str, root: Path | None = None) -> Contract:
    """The contract called `name` (``demo/v1``) below `root` (by default the contracts folder).

    Raises:
        ContractError: the name is none, or the file is missing, too large, not TOML, or has a key or value it
            must not have; the message names file and key.
    """
    if not NAME.fullmatch(name):
        raise ContractError(f"contract {name[:80]!r} is not a name like demo/v1")
    path = (root or contracts_dir()) / "gate" / f"{name}.toml"
    try:
        with path.open("rb") as file:
            data = file.read(LIMIT + 1)
    except (FileNotFoundError, NotADirectoryError):
        raise ContractError(
            f"no contract {name}: expected {path}; name another in the deployment file or set RSI_CONTRACTS"
        ) from None
    if len(data) > LIMIT:
        raise ContractError(f"{path} has more than {LIMIT} bytes; a contract is a page of bars and margins")
    try:
        contract = Contract.model_validate(tomllib.loads(data.decode()))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ContractError(f"{path} is not valid TOML: {error}") from None
    except ValidationError as error:
        raise ContractError(f"{path}: {said(error)}") from None
    if contract.name != name:
        raise ContractError(f"{path}: name: found {contract.name!r}, expected {name!r}, as its path says")
    return contract


def versions(root: Path, name: str) -> list[int]:
    """Numbers of the suites and contracts of a name that are there."""
    found = [*root.glob(f"suites/{name}/v*"), *root.glob(f"gate/{name}/v*.toml")]
    return sorted({int(path.stem[1:]) for path in found if path.stem[1:].isdigit()})
