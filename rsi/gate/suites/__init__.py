"""Held-out suites: what the two versions are asked.

A suite is a folder ``contracts/suites/<name>/vN/`` with

* ``suite.toml``: `name`, `version` (the N), `verifier`, `hop` (``route``, ``answer``, ``tool`` or ``world``),
  `description`, and for every hop but route `role`: whose adapter answers;
* ``items.jsonl``: one item a line, ``{"id", "split", "expected", "hard", "cluster", "text"}``, or with ``"messages"``
  for a request with the turns before it, or ``"ref": {"package", "file", "item"}`` and ``"source"`` in place of
  ``"text"``, for a public item whose text is not copied here. `split` is ``gate`` or ``vault``; `expected` is a role
  for ``choice`` and a list of spellings for ``exact``; an item of a suite that a model judges may have ``"marked":
  [{"answer", "right"}]``, answers that a person marked. In place of the file ``suite.toml`` may have a table
  ``[items]``: the source that draws the items (``bfcl``, ``environment``), their number and their digest; all of them
  are of the gate's split. With ``fresh = true`` an environment draws others for every question
  (`rsi.gate.suites.fresh`), and there is no digest of them;
* ``fingerprints.json``: what the loop's side may know of it (`rsi.gate.fingerprints`).

The suite is named by the digest over its first two files, pinned in the contract. Adding a source is one file here and
one name in `rsi.gate.suites.about.Drawn`.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from rsi import assets
from rsi.errors import ContractError, IntegrityError
from rsi.gate.contract import NAME
from rsi.gate.suites import about, lines
from rsi.gate.suites.about import About, Drawn, Hop
from rsi.gate.suites.fresh import Draw, items_digest
from rsi.gate.suites.lines import OWN, Resolve
from rsi.gate.suites.worlds import Worlds
from rsi.ids import Digest, digest_files
from rsi.questions import Commitment
from rsi.records import Item, OutcomeKind, Split
from rsi.settings import contracts_dir
from rsi.verifiers import gold, verify

__all__ = [
    "ABOUT",
    "ITEMS",
    "OWN",
    "About",
    "Draw",
    "Hop",
    "Mark",
    "Resolve",
    "Suite",
    "digest_of",
    "load",
    "objection",
]

ABOUT, ITEMS = "suite.toml", "items.jsonl"


class Mark(NamedTuple):
    """An answer that a person marked, with what its item expects."""

    expected: str
    answer: str
    right: bool


@dataclass(frozen=True)
class Suite:
    """One split of a suite, its texts resolved."""

    about: About
    digest: Digest
    """Over its files, so over every split."""
    items: tuple[Item, ...]
    drawn: Commitment | None = None
    """Of fresh items; null where they are frozen, or nobody drew any."""
    marks: tuple[Mark, ...] = ()
    """Of both splits."""

    @property
    def name(self) -> str:
        """``name/vN``."""
        return f"{self.about.name}/v{self.about.version}"


def digest_of(folder: Path) -> Digest:
    """The digest that names a suite: over its two files, or over the first where that says how items are drawn.

    Raises:
        ContractError: a file is missing, or there is one too many.
    """
    return digest_files(folder, _files(folder, _about(folder)))


def load(
    name: str,
    pin: str | None,
    root: Path | None = None,
    resolve: Resolve = assets.resolve,
    split: Split = Split.GATE,
    draw: Draw | None = None,
) -> Suite:
    """One split of the suite `name` (``routing/v1``), with the texts of public items resolved.

    Args:
        pin: the digest the contract expects; None only where a suite is written or looked at, never to judge.
        root: the contracts folder, by default that of the settings.
        resolve: text of a public item, by default `rsi.assets.resolve`.
        draw: what fresh items are drawn by and for; without it a suite of fresh items has none.

    Raises:
        IntegrityError: the suite's digest, or that of the items it draws, is not the one pinned.
        ContractError: a file is missing, an item is none that its verifier can judge, or there is no key to draw by.
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
    told = _about(folder)
    if f"{told.name}/v{told.version}" != name:
        raise ContractError(f"{folder / ABOUT}: says {told.name}/v{told.version}, expected {name}")
    if told.fresh:
        return _fresh(Suite(told, found, ()), draw if split is Split.GATE else None)
    if told.items is not None:
        drawn = _drawn(told, told.items, folder)
        return Suite(told, found, drawn if split is Split.GATE else ())
    listed = lines.read(folder / ITEMS, lambda wanted: objection(told, wanted))
    items = tuple(line.item(resolve) for line in listed if line.split is split)
    marks = (Mark(line.wanted, one.answer, one.right) for line in listed for one in line.marked)
    return Suite(told, found, items, marks=tuple(marks))


def _about(folder: Path) -> About:
    if not (folder / ABOUT).is_file():
        raise ContractError(f"no suite at {folder}: {ABOUT} is missing")
    return about.read(folder / ABOUT)


def _files(folder: Path, told: About) -> tuple[str, ...]:
    listed = (folder / ITEMS).is_file()
    if told.items is None and not listed:
        raise ContractError(f"no suite at {folder}: {ITEMS} is missing, and {ABOUT} has no [items]")
    if told.items is not None and listed:
        raise ContractError(f"suite at {folder} has both {ITEMS} and [items]; one of them says what is asked")
    return (ABOUT, ITEMS) if listed else (ABOUT,)


def _fresh(suite: Suite, draw: Draw | None) -> Suite:
    """The suite with the items of an occasion."""
    source = suite.about.items
    if draw is None or not isinstance(source, Worlds):
        return suite
    items = source.seeded(draw.seed(suite.digest)).draw()
    _check(suite.about, items, suite.name)
    return replace(suite, items=items, drawn=draw.commitment(items))


def _drawn(told: About, source: Drawn, folder: Path) -> tuple[Item, ...]:
    """The items of a source, if they are those that the suite was frozen with."""
    items = source.draw()
    found = items_digest(items)
    if (len(items), found) != (source.count, source.pin):
        raise IntegrityError(
            f"{folder / ABOUT}: [items] draws {len(items)} items of digest {found}, expected {source.count} of "
            f"{source.pin}; put source and asset back, or write a new version of suite and contract"
        )
    _check(told, items, str(folder / ABOUT))
    return items


def _check(told: About, items: tuple[Item, ...], where: str) -> None:
    for one in items:
        if wrong := objection(told, one.expected):
            raise ContractError(f"{where}: item {one.item_id}: {wrong}")


def objection(told: About, wanted: str) -> str:
    """What is wrong with an expectation; "" where its verifier accepts its own gold answer."""
    outcome = verify(told.verifier, gold(told.verifier, wanted) or "", wanted)
    if outcome.kind is OutcomeKind.SCORED and outcome.score == 1.0:
        return ""
    return f"verifier {told.verifier} does not accept its own expected answer ({outcome.detail or outcome.kind.value})"
