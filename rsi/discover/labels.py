"""What persons say of failure modes: rename, merge, split, won't fix, undo. Append-only, records of the ledger.

Labels of before a night's first record count in that night; later ones in the next. They name modes by their ids,
which are the same in every night, so that they survive re-mining.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from rsi.errors import ContractError
from rsi.ids import canonical
from rsi.ports import Clock
from rsi.records import FailureMode, LedgerRecord, Modes, Record
from rsi.settings import Home
from rsi.store.ledger import Ledger
from rsi.store.locks import hold

KIND = "mode"
LONGEST = 120
"""Characters of a title or a reason."""


class Action(StrEnum):
    """What a person may do to a mode."""

    RENAME = "rename"
    MERGE = "merge"
    """Its traces count under another mode."""
    SPLIT = "split"
    """One of its topics becomes a mode of its own."""
    WONT_FIX = "wont_fix"
    """It is not trained away."""
    UNDO = "undo"
    """An earlier label does not count any more."""


class ModeLabel(Record):
    """One label."""

    action: Action
    by: str
    """Who says so."""
    mode: str = ""
    """The mode it is about; empty for undo."""
    title: str = ""
    into: str = ""
    """Merge: the mode that stays."""
    topic: str = ""
    reason: str = ""
    undoes: int = 0
    """Undo: number of the ledger's record."""
    chances: tuple[tuple[str, str], ...] = ()
    """Merge: what gives the opportunity for either."""


@dataclass(frozen=True)
class Codebook:
    """What all labels together say."""

    titles: Mapping[str, str] = field(default_factory=dict)
    """Mode -> its name."""
    into: Mapping[str, str] = field(default_factory=dict)
    """Mode -> the one that it was merged into."""
    chances: Mapping[str, frozenset[tuple[str, str]]] = field(default_factory=dict)
    """Mode that others were merged into -> its chances as (what, subject)."""
    splits: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Mode -> topics that are modes of their own."""
    wont_fix: Mapping[str, str] = field(default_factory=dict)
    """Mode -> why."""
    labels: int = 0
    """Labels that count."""

    def home_of(self, mode: str) -> str:
        """Where the traces of a mode count."""
        while mode in self.into:
            mode = self.into[mode]
        return mode


NONE = Codebook()


def labels_of(records: Iterable[LedgerRecord]) -> dict[int, ModeLabel]:
    """All labels by the number of their record, oldest first; undone ones as well."""
    return {one.seq: ModeLabel.parse(canonical(one.body)) for one in records if one.kind == KIND}


def codebook(labels: Mapping[int, ModeLabel]) -> Codebook:
    """What labels say together: the later of two about one thing, and none that was undone."""
    undone = {one.undoes for one in labels.values() if one.action is Action.UNDO}
    titles, into, wont_fix = dict[str, str](), dict[str, str](), dict[str, str]()
    chances, splits = dict[str, set[tuple[str, str]]](), dict[str, list[str]]()
    counted = 0
    for seq, one in sorted(labels.items()):
        if seq in undone or one.action is Action.UNDO:
            continue
        counted += 1
        if one.action is Action.RENAME:
            titles[one.mode] = one.title
        elif one.action is Action.WONT_FIX:
            wont_fix[one.mode] = one.reason
        elif one.action is Action.SPLIT and one.topic not in splits.setdefault(one.mode, []):
            splits[one.mode].append(one.topic)
        elif one.action is Action.MERGE and Codebook(into=into).home_of(one.into) != one.mode:
            into[one.mode] = one.into
            chances.setdefault(one.into, set()).update(one.chances)
    # Of a chain only its end is a mode, with the chances of all that were merged on the way.
    book = Codebook(into=into)
    ends: dict[str, set[tuple[str, str]]] = {}
    for mode, found in chances.items():
        ends.setdefault(book.home_of(mode), set()).update(found)
    return Codebook(
        titles=titles,
        into=into,
        chances={mode: frozenset(found) for mode, found in sorted(ends.items())},
        splits={mode: tuple(topics) for mode, topics in splits.items()},
        wont_fix=wont_fix,
        labels=counted,
    )


def codebook_of(ledger: Ledger, night: str) -> Codebook:
    """What counts in a night: the labels before its first record."""
    records = ledger.records()
    begun = next((one.seq for one in records if one.kind == "night" and one.night == night), len(records) + 1)
    return codebook({seq: one for seq, one in labels_of(records).items() if seq < begun})


def say(home: Home, clock: Clock, modes: Modes, said: ModeLabel) -> int:
    """Keep a label; the number of its record, which undoes it. It counts from the next night on.

    Raises:
        ContractError: it says nothing, or is about a mode, topic or label that there is not.
        BusyError: the store lock is held by somebody else.
    """
    ledger = Ledger(home.ledger, clock)
    with hold(home.store_lock, "label", clock.now().isoformat(timespec="seconds"), 30.0):
        checked = _checked(said, modes, labels_of(ledger))
        return ledger.append(KIND, input=modes.digest, body=checked.model_dump(mode="json")).seq


def _checked(said: ModeLabel, modes: Modes, before: Mapping[int, ModeLabel]) -> ModeLabel:
    if not said.by.strip():
        raise ContractError("a label needs the name of who says it (--by)")
    if said.action is Action.UNDO:
        there = before.get(said.undoes)
        if there is None or there.action is Action.UNDO:
            raise ContractError(
                f"there is no label {said.undoes} to undo; `rsi modes label list` shows their numbers"
            )
        return said
    mode = _found(modes, said.mode)
    said = said.model_copy(update={"title": _line(said.title), "reason": _line(said.reason)})
    if said.action is Action.RENAME and not said.title:
        raise ContractError("the new title is empty")
    if said.action is Action.WONT_FIX and not said.reason:
        raise ContractError("say why it will not be fixed (--reason)")
    if said.action is Action.SPLIT and said.topic not in {one.topic_id for one in mode.topics}:
        topics = ", ".join(one.topic_id for one in mode.topics) or "none"
        raise ContractError(f"mode {mode.mode_id} has no topic {said.topic!r}; it has {topics}")
    if said.action is not Action.MERGE:
        return said
    into = _found(modes, said.into)
    if into.mode_id == mode.mode_id or codebook(before).home_of(into.mode_id) == mode.mode_id:
        raise ContractError(f"mode {mode.mode_id} cannot be merged into itself")
    if "#" in mode.signature or "#" in into.signature:
        raise ContractError(
            "a mode that was split off is no part of a merge; undo the split (`rsi modes label undo`)"
        )
    return said.model_copy(update={"chances": tuple(sorted({*mode.chances, *into.chances}))})


def _found(modes: Modes, mode_id: str) -> FailureMode:
    for one in modes.modes:
        if one.mode_id == mode_id:
            return one
    raise ContractError(f"no failure mode {mode_id!r} in night {modes.night}; see `rsi modes`")


def _line(text: str) -> str:
    """One line of plain characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:LONGEST]
