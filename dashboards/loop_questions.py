"""What the pages on nights and versions ask. The SQL stands in ``loop.sql``.

As in `dashboards.questions`, a question opens the snapshot, asks and closes it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from dashboards.questions import MOST, share
from rsi.ids import Digest
from rsi.settings import Home
from rsi.store.snapshot import open_snapshot
from rsi.store.statements import named

_QUERIES = named(Path(__file__).with_name("loop.sql"))


@dataclass(frozen=True)
class Loop:
    """What the nights came to."""

    nights: pd.DataFrame
    """One row a night, newest first."""
    quality: pd.DataFrame
    """One row a version that served and suite, oldest first; low, rate and high are a share with its 95% Wilson
    interval, `place` counts versions from 0."""
    service: pd.DataFrame
    """One row for every time that a version came into service, oldest first."""


@dataclass(frozen=True)
class Night:
    """One night, with its verdict's clauses and its failure modes."""

    row: Mapping[str, object]
    clauses: pd.DataFrame
    modes: pd.DataFrame
    report: str | None
    """The page that its verdict brought; null where it has none."""


@dataclass(frozen=True)
class Lineage:
    """All versions, youngest first, and when which was in service."""

    versions: pd.DataFrame
    service: pd.DataFrame
    quality: pd.DataFrame


@dataclass(frozen=True)
class Origin:
    """One version, with what it was trained on."""

    row: Mapping[str, object]
    modes: pd.DataFrame
    examples: pd.DataFrame
    clauses: pd.DataFrame


def loop(home: Home) -> Loop:
    """Nights, quality and service.

    Raises:
        ContractError: there is no snapshot yet.
    """
    return Loop(_ask(home, "nights", most=MOST), quality(home), _ask(home, "service"))


def night(home: Home, row: Mapping[str, object]) -> Night:
    """One night of `Loop.nights`."""
    verdict = row["verdict"] if isinstance(row["verdict"], str) else ""
    return Night(
        row=row,
        clauses=_ask(home, "clauses", verdict=verdict),
        modes=_ask(home, "night_modes", night=row["night"]),
        report=report(home, Digest(verdict)) if verdict else None,
    )


def report(home: Home, verdict: Digest) -> str | None:
    """The HTML report of a verdict, which holds counts only and asks for nothing from elsewhere."""
    path = home.verdicts / verdict / "report.html"
    return path.read_text(encoding="utf-8") if verdict.isalnum() and path.is_file() else None


def lineage(home: Home) -> Lineage:
    """All versions.

    Raises:
        ContractError: there is no snapshot yet.
    """
    return Lineage(_ask(home, "versions", most=MOST), _ask(home, "service"), quality(home))


def origin(home: Home, row: Mapping[str, object]) -> Origin:
    """One version of `Lineage.versions`."""
    bank = row["bank"] if isinstance(row["bank"], str) else ""
    verdict = row["verdict"] if isinstance(row["verdict"], str) else ""
    return Origin(
        row=row,
        modes=_ask(home, "bank_modes", bank=bank),
        examples=_ask(home, "examples", bank=bank),
        clauses=_ask(home, "clauses", verdict=verdict),
    )


def quality(home: Home) -> pd.DataFrame:
    """What the versions that served got right, with intervals."""
    found = _ask(home, "quality")
    shares = [share(int(k), int(n)) for k, n in zip(found["correct"], found["items"], strict=True)]
    low, rate, high = zip(*shares, strict=True) if shares else ((), (), ())
    places = {seq: at for at, seq in enumerate(sorted(set(found["seq"])))}
    return found.assign(low=low, rate=rate, high=high, place=[places[seq] for seq in found["seq"]])


def suites_of(quality: pd.DataFrame) -> list[str]:
    """Suites of the curve, those that candidates had to be better on first."""
    order = quality.groupby("suite")["is_target"].any()
    return sorted(order.index, key=lambda suite: (not order[suite], suite))


def picked(
    frame: pd.DataFrame, column: str, said: object, chosen: pd.DataFrame
) -> Mapping[str, object] | None:
    """The row chosen in a list, else the one that an address names, else the first."""
    if len(chosen):
        return _row(frame, int(chosen.index[0]))
    named_rows = frame.index[frame[column].astype(str).str.startswith(str(said))] if said else frame.index[:0]
    first = [*named_rows, *frame.index][:1]
    return _row(frame, int(first[0])) if first else None


def _row(frame: pd.DataFrame, at: int) -> Mapping[str, object]:
    """A row whose missing values are None."""
    row = frame.loc[at]
    return {
        name: None if not isinstance(row[name], list) and pd.api.types.is_scalar(row[name]) and pd.isna(row[name])
        else row[name]
        for name in frame.columns
    }  # fmt: skip


def _ask(home: Home, query: str, **parameters: object) -> pd.DataFrame:
    with open_snapshot(home) as connection:
        return connection.execute(_QUERIES[query], parameters).df()
