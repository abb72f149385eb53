"""Held-out suites: what the two versions are asked.

A suite is a folder ``contracts/suites/<name>/vN/`` with

* ``suite.toml``: `name`, `version` (the N), `verifier`, `hop` (``route`` or ``answer``), `description`, and
  for an answer hop `role`: whose adapter answers;
* ``items.jsonl``: one item a line, ``{"id", "split", "expected", "hard", "cluster", "text"}``, or with
  ``"ref": {"package", "file", "item"}`` and ``"source"`` in place of ``"text"``, for a public item whose
  text is not copied here. `split` is ``gate`` or ``vault``; `expected` is a role for ``choice`` and a list of
  spellings for ``exact``;
* ``fingerprints.json``: what the loop's side may know of it (`rsi.gate.fingerprints`).

The suite is named by the digest over its first two files, pinned in the contract.
"""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, ValidationError, model_validator

from rsi import assets
from rsi.assets import PublicRef
from rsi.errors import ContractError, IntegrityError
from rsi.gate.contract import NAME
from rsi.ids import Digest, canonical, digest_files
from rsi.records import ChatMessage, Item, OutcomeKind, Record, Split
from rsi.settings import contracts_dir, said
from rsi.verifiers import VERIFIERS, gold, verify

FILES = ("suite.toml", "items.jsonl")
LIMIT = 32 * 1024 * 1024
"""Largest items file in bytes."""
OWN = "own"
"""Source of items written for this project."""

Resolve = Callable[[PublicRef], str]
"""Text of a public item."""


class About(Record):
    """What ``suite.toml`` says."""

    name: str
    version: int = Field(ge=1)
    verifier: str
    hop: Literal["route", "answer"]
    role: str | None = None
    """Whose adapter answers, in an answer hop; the router's own role is the harness's to say."""
    description: str = ""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.verifier not in VERIFIERS:
            known = ", ".join(sorted(VERIFIERS))
            raise ValueError(f"no verifier is called {self.verifier!r}; there are {known}")
        if (self.hop == "answer") != (self.role is not None):
            raise ValueError("role belongs to the answer hop, and only to it")
        return self


class Line(Record):
    """One line of ``items.jsonl``."""

    id: str = Field(min_length=1, max_length=200)
    split: Literal[Split.GATE, Split.VAULT]
    expected: str | tuple[str, ...]
    hard: bool = False
    cluster: str | None = None
    """Items that stand or fall together; the item's own id where nothing is said."""
    source: str | None = None
    """`own` for text written here, else the package."""
    text: str | None = Field(None, min_length=1)
    ref: PublicRef | None = None

    @model_validator(mode="after")
    def _has_one_text(self) -> Self:
        if (self.text is None) == (self.ref is None):
            raise ValueError("an item has either text or ref")
        expected = self.ref.package if self.ref else OWN
        if self.source not in (None, expected):
            raise ValueError(f"source is {self.source!r}, expected {expected!r}")
        return self


@dataclass(frozen=True)
class Suite:
    """One split of a suite, its texts resolved."""

    about: About
    digest: Digest
    """Over both files, so over every split."""
    items: tuple[Item, ...]

    @property
    def name(self) -> str:
        """``name/vN``."""
        return f"{self.about.name}/v{self.about.version}"


def digest_of(folder: Path) -> Digest:
    """The digest that names a suite: over its two files.

    Raises:
        ContractError: a file is missing.
    """
    for name in FILES:
        if not (folder / name).is_file():
            raise ContractError(f"no suite at {folder}: {name} is missing")
    return digest_files(folder, FILES)


def load(
    name: str,
    pin: str | None,
    root: Path | None = None,
    resolve: Resolve = assets.resolve,
    split: Split = Split.GATE,
) -> Suite:
    """One split of the suite `name` (``routing/v1``), with the texts of public items resolved.

    Args:
        pin: the digest the contract expects; None only where a suite is written or looked at, never to judge.
        root: the contracts folder, by default that of the settings.
        resolve: text of a public item, by default `rsi.assets.resolve`.

    Raises:
        IntegrityError: the suite's digest is not the one pinned.
        ContractError: a file is missing, or a line is not an item that its verifier can judge.
    """
    if not NAME.fullmatch(name):
        raise ContractError(f"suite {name[:80]!r} is not a name like routing/v1")
    folder = (root or contracts_dir()) / "suites" / name
    found = digest_of(folder)
    if pin is not None and found != pin:
        raise IntegrityError(
            f"suite {name} at {folder} is not the one the contract pins: found {found}, expected {pin}; "
            "restore its files, or write a new version of suite and contract"
        )
    about = _about(folder / FILES[0])
    if f"{about.name}/v{about.version}" != name:
        raise ContractError(f"{folder / FILES[0]}: says {about.name}/v{about.version}, expected {name}")
    lines = [line for line in _lines(folder / FILES[1], about) if line.split is split]
    return Suite(about, found, tuple(_item(line, resolve) for line in lines))


def _about(path: Path) -> About:
    try:
        return About.model_validate(tomllib.loads(path.read_text()))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ContractError(f"{path} is not valid TOML: {error}") from None
    except ValidationError as error:
        raise ContractError(f"{path}: {said(error)}") from None


def _lines(path: Path, about: About) -> list[Line]:
    if path.stat().st_size > LIMIT:
        raise ContractError(f"{path} has more than {LIMIT} bytes; split the suite")
    found: list[Line] = []
    seen: dict[str, int] = {}
    for number, raw in enumerate(path.read_bytes().splitlines(), 1):
        if not raw.strip():
            continue
        try:
            line = Line.parse(raw)
        except ValidationError as error:
            raise ContractError(f"{path} line {number}: {said(error)}") from None
        if line.id in seen:
            raise ContractError(f"{path} line {number}: id {line.id!r} was used on line {seen[line.id]}")
        seen[line.id] = number
        expected = _expected(line)
        outcome = verify(about.verifier, gold(about.verifier, expected) or "", expected)
        if outcome.kind is not OutcomeKind.SCORED or outcome.score != 1.0:
            raise ContractError(
                f"{path} line {number}: verifier {about.verifier} does not accept its own expected answer "
                f"({outcome.detail or outcome.kind.value})"
            )
        found.append(line)
    return found


def _expected(line: Line) -> str:
    """What the verifier takes: the text itself, or the list as JSON."""
    return line.expected if isinstance(line.expected, str) else canonical(list(line.expected)).decode()


def _item(line: Line, resolve: Resolve) -> Item:
    text = line.text if line.ref is None else resolve(line.ref)
    return Item(
        item_id=line.id,
        messages=(ChatMessage(role="user", content=text or ""),),
        expected=_expected(line),
        cluster=line.cluster or line.id,
        source=line.ref.package if line.ref else OWN,
        hard=line.hard,
    )
