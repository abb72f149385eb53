"""Weights that nothing in service or in question reaches, and what killed processes left: found, and deleted.

Kept (I8) is what the champion, the champions before it and every request that can still be acted on reach: both
versions of its verdict, all their ancestors, the adapters of these and those that training began with; also what
nights made that have not ended, and what young versions reach. Versions, harnesses, banks, modes and verdicts stay
for ever: they are small, lineage is told from them, and nights replay banks. A ledger record names what goes before
it goes.
"""

import shutil
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from rsi import faults
from rsi.ports import Clock
from rsi.records import Decision, LedgerRecord
from rsi.registry import adapters, approval, champion, versions
from rsi.registry.jobs import training
from rsi.settings import Home
from rsi.store.files import size_of
from rsi.store.ledger import Ledger
from rsi.store.locks import hold

KIND = "collection"
"""Of the ledger records that name deleted adapters."""
DAYS = 30.0
"""Nothing younger is deleted."""


class Waste(NamedTuple):
    """Something to delete."""

    kind: str
    """adapter, or draft: a folder that its maker never finished."""
    name: str
    path: Path
    bytes: int


def gone(records: Iterable[LedgerRecord]) -> frozenset[str]:
    """Names of the adapters that the ledger says were deleted."""
    found: set[str] = set()
    for one in records:
        said = one.body.get("adapters") if one.kind == KIND else None
        found.update(map(str, said if isinstance(said, list) else []))
    return frozenset(found)


def waste(home: Home, clock: Clock, days: float = DAYS, before: int = 1) -> tuple[Waste, ...]:
    """What may be deleted, by kind and name.

    Args:
        days: how old it must be, by the time of its folder.
        before: champions before the one in service that are kept, the last ones first; at least 1.

    Raises:
        IntegrityError: something that is kept is missing, so that nobody can tell what it reaches.
    """
    old = (clock.now() - timedelta(days=days)).timestamp()
    young = [path.stem for path in home.versions.glob("*.json") if path.stat().st_mtime >= old]
    roots = _roots(home, Ledger(home.ledger, clock), clock.now(), max(before, 1))
    kept = reached(home, [*young, *roots])
    found = [
        Waste("adapter", name, path, size_of(path))
        for name in adapters.names(home)
        if name not in kept and (path := adapters.folder(home, name)).stat().st_mtime < old
    ]
    drafts = (
        path
        for root in (home.adapters, home.banks, home.verdicts)
        for path in sorted(root.glob(".*"))
        if path.is_dir() and path.stat().st_mtime < old
    )
    return (*found, *(Waste("draft", path.name, path, size_of(path)) for path in drafts))


def collect(home: Home, clock: Clock, days: float = DAYS, before: int = 1) -> tuple[Waste, ...]:
    """Delete it. The caller holds the night lock.

    An adapter is named in the ledger, then renamed, then deleted: one that a kill left halfway is a draft.
    """
    with hold(home.store_lock, "gc", clock.now().isoformat(timespec="seconds"), wait_s=30):
        found = waste(home, clock, days, before)
        going = sorted(one.name for one in found if one.kind == "adapter")
        if going:
            freed = sum(one.bytes for one in found)
            Ledger(home.ledger, clock).append(KIND, body={"adapters": going, "bytes": freed})
        faults.point("collect.after_record")
        for one in found:
            hidden = one.path if one.kind == "draft" else one.path.with_name(f".gone.{one.name}")
            if hidden != one.path:
                if hidden.exists():
                    shutil.rmtree(hidden)
                one.path.rename(hidden)
            shutil.rmtree(hidden)
    return found


def reached(home: Home, roots: Iterable[str]) -> frozenset[str]:
    """Adapters that versions reach: their own, those of their ancestors, and those that training began with.

    Raises:
        IntegrityError: a version is missing.
    """
    seen: set[str] = set()
    open_ = list(roots)
    while open_:
        name = open_.pop()
        if name in seen:
            continue
        seen.add(name)
        version = versions.load(home, name)
        open_ += [version.parent] if version.parent else []
    kept = {adapter for name in seen for adapter in versions.load(home, name).adapters.values()}
    began = {job.adapter: job.warm_start for job in training(home)}
    fresh = list(kept)
    while fresh:
        start = began.get(fresh.pop())
        if start and start not in kept:
            kept.add(start)
            fresh.append(start)
    return frozenset(kept)


def _roots(home: Home, ledger: Ledger, now: datetime, before: int) -> Iterator[str]:
    """Versions that must stay whole."""
    records = ledger.records()
    served = [str(one.output) for one in reversed(records) if one.kind in champion.MOVES]
    yield from list(dict.fromkeys(served))[: before + 1]
    acted = {one.input for one in records if one.kind in ("promotion", "rollback")}
    for asked in approval.requests(ledger):
        said = asked.decision.decision if asked.decision else None
        late = said is None and now > asked.expires
        if not late and said is not Decision.REJECT and asked.verdict not in acted:
            found = approval.verdict(home, asked.verdict)
            yield from (found.champion, found.candidate)
    over = {one.night for one in records if one.kind == "end"}
    for one in records:
        if one.kind == "stage" and one.stage == "update" and one.output and one.night not in over:
            yield one.output
