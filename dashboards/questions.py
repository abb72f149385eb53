"""What the pages ask: filters in, frames out. The SQL stands in ``queries.sql``.

A question opens the snapshot, asks and closes it: the next one sees a newer snapshot, and no reader is in the way
of the writer. Frames are small: aggregates, or at most `MOST` rows.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date, datetime
from pathlib import Path
from typing import NamedTuple, TypeAlias

import pandas as pd
from duckdb import DuckDBPyConnection

from rsi.settings import Home
from rsi.statistics.intervals import wilson
from rsi.store.snapshot import open_snapshot
from rsi.store.statements import named

MOST = 1000
"""Rows of a list of traces or files."""
MOST_OF_ONE = 300
"""Turns, calls, scores or spans of one trace."""

_QUERIES = named(Path(__file__).with_name("queries.sql"))
Row: TypeAlias = Mapping[str, object]
"""A row by column name."""

_TRAFFIC = "traffic"
_UNITS = (("minute", 3), ("hour", 72), ("day", 24 * 120), ("week", 24 * 1100), ("month", 24 * 5500))
"""Each with the longest period, in hours, that it cuts; anything longer is cut into years."""


@dataclass(frozen=True)
class Choice:
    """The filters; nothing chosen leaves everything, "" stands for what is not known."""

    origins: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    """Traces that called one of them."""
    since: date | None = None
    until: date | None = None
    """Days, both included; traces without a time are left out where one is given."""


@dataclass(frozen=True)
class Options:
    """What there is to choose from: value -> number of traces, most first."""

    origins: Mapping[str, int]
    versions: Mapping[str, int]
    agents: Mapping[str, int]
    tools: Mapping[str, int]
    modes: pd.DataFrame
    traces: int
    dated: int
    """Traces with a time."""
    first: datetime | None
    last: datetime | None

    @property
    def usual(self) -> tuple[str, ...]:
        """Origins that a page begins with: traffic, where there is any."""
        return (_TRAFFIC,) if _TRAFFIC in self.origins else ()


class Headline(NamedTuple):
    """Counts over the chosen traces."""

    traces: int
    judged: int
    failed: int
    conversations: int
    conversations_failed: int
    calls: int
    calls_failed: int


@dataclass(frozen=True)
class Answers:
    """What the page of failures shows. `low`, `rate` and `high` are a share with its 95% Wilson interval."""

    headline: Headline
    unit: str
    """Width of a bucket of `over_time`: minute, hour, day, week, month or year."""
    over_time: pd.DataFrame
    by_version: pd.DataFrame
    by_rule: pd.DataFrame
    by_tool: pd.DataFrame
    modes: pd.DataFrame


@dataclass(frozen=True)
class Health:
    """What became of the input."""

    totals: Mapping[str, int]
    last_ingest: datetime | None
    reasons: pd.DataFrame
    files: pd.DataFrame
    duplicates: pd.DataFrame


@dataclass(frozen=True)
class Told:
    """One trace with its parts."""

    trace: Row
    conversation: list[Row]
    calls: list[Row]
    scores: list[Row]
    tree: list[Row]


def options(home: Home) -> Options:
    """What the filters offer.

    Raises:
        ContractError: there is no snapshot yet.
    """
    with open_snapshot(home) as connection:
        found = connection.execute(_QUERIES["options"]).fetchall()
        first, last, traces, dated = connection.execute(_QUERIES["extent"]).fetchall()[0]
        by_field = {
            name: {value: count for field, value, count in found if field == name}
            for name in ("origin", "version", "agent", "tool")
        }
        modes = _frame(connection, "modes")
    return Options(
        origins=by_field["origin"],
        versions=by_field["version"],
        agents=by_field["agent"],
        tools=by_field["tool"],
        modes=modes,
        traces=traces,
        dated=dated,
        first=first,
        last=last,
    )


def answers(home: Home, choice: Choice) -> Answers:
    """The page of failures, but for its list of traces."""
    with open_snapshot(home) as connection:
        _choose(connection, choice)
        first, last = connection.execute(_QUERIES["chosen_extent"]).fetchall()[0]
        unit = unit_of(first, last)
        return Answers(
            headline=Headline(*connection.execute(_QUERIES["headline"]).fetchall()[0]),
            unit=unit,
            over_time=_over_time(_frame(connection, "over_time", unit=unit), unit),
            by_version=_shares(_frame(connection, "by_version")),
            by_rule=_shares(_frame(connection, "by_rule")),
            by_tool=_shares(_frame(connection, "by_tool")),
            modes=_frame(connection, "modes"),
        )


def failing(home: Home, choice: Choice, mode: str | None = None) -> pd.DataFrame:
    """The newest `MOST` traces that failed; of a mode, those that show it."""
    with open_snapshot(home) as connection:
        _choose(connection, choice)
        return _frame(connection, "failing", mode=mode, most=MOST)


def health(home: Home) -> Health:
    """Files, refusals and duplicates."""
    with open_snapshot(home) as connection:
        totals = dict(_rows(connection, "totals")[0])
        last = totals.pop("last_ingest")
        return Health(
            totals={name: count for name, count in totals.items() if isinstance(count, int)},
            last_ingest=last if isinstance(last, datetime) else None,
            reasons=_frame(connection, "reasons"),
            files=_frame(connection, "files", most=MOST),
            duplicates=_frame(connection, "duplicates"),
        )


def trace(home: Home, prefix: str) -> Told | None:
    """One trace by its id or the first digits of it; null where that names none or several."""
    with open_snapshot(home) as connection:
        found = _rows(connection, "one", prefix=prefix)
        if not prefix or len(found) != 1:
            return None
        parts = {
            part: _rows(connection, part, uid=found[0]["trace_uid"], most=MOST_OF_ONE)
            for part in ("conversation", "calls", "scores", "tree")
        }
    return Told(found[0], **parts)


def queue(home: Home, choice: Choice, outcome: str | None) -> tuple[tuple[str, ...], int]:
    """Traces of an outcome that no person has labelled, newest first, and how many of the chosen ones are labelled."""
    with open_snapshot(home) as connection:
        _choose(connection, choice)
        waiting = connection.execute(_QUERIES["queue"], {"outcome": outcome, "most": MOST}).fetchall()
        labelled = connection.execute(_QUERIES["labelled"]).fetchall()[0][0]
    return tuple(uid for (uid,) in waiting), int(labelled)


def unit_of(first: datetime | None, last: datetime | None) -> str:
    """The unit of time that cuts a period into something to look at."""
    hours = (last - first).total_seconds() / 3600 if first and last else 0.0
    return next((unit for unit, most in _UNITS if hours <= most), "year")


def step(unit: str, times: int = 1) -> pd.DateOffset:
    """So many units of time."""
    return pd.DateOffset(**{f"{unit}s": times})


def share(hits: int, chances: int) -> tuple[float, float, float]:
    """Low, rate and high of a share."""
    interval = wilson(hits, chances)
    return interval.low, hits / chances if chances else float("nan"), interval.high


def _choose(connection: DuckDBPyConnection, choice: Choice) -> None:
    connection.execute(_QUERIES["chosen"], asdict(choice))


def _frame(connection: DuckDBPyConnection, query: str, **parameters: object) -> pd.DataFrame:
    return connection.execute(_QUERIES[query], parameters).df()


def _rows(connection: DuckDBPyConnection, query: str, **parameters: object) -> list[Row]:
    found = connection.execute(_QUERIES[query], parameters)
    names = [column[0] for column in found.description or ()]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def _shares(frame: pd.DataFrame) -> pd.DataFrame:
    """With columns low, rate and high of failed / judged."""
    found = [share(int(k), int(n)) for k, n in zip(frame["failed"], frame["judged"], strict=True)]
    low, rate, high = zip(*found, strict=True) if found else ((), (), ())
    return frame.assign(low=low, rate=rate, high=high)


def _over_time(frame: pd.DataFrame, unit: str) -> pd.DataFrame:
    """Every bucket from first to last, also those in which nothing happened, with its end."""
    if len(frame):
        moments = pd.date_range(frame["moment"].min(), frame["moment"].max(), freq=step(unit))
        frame = frame.set_index("moment").reindex(moments, fill_value=0).rename_axis("moment").reset_index()
    return _shares(frame.assign(judged=frame["failed"] + frame["passed"], until=frame["moment"] + step(unit)))
