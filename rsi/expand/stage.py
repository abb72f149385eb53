"""Expand: the night's failure modes into a bank of verified tasks."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import orjson

from rsi import faults
from rsi.context import Context
from rsi.discover.facts import UNKNOWN
from rsi.errors import QuietError
from rsi.expand.asking import Asking
from rsi.expand.grow import grow
from rsi.expand.prepare import prepare
from rsi.ids import Digest
from rsi.records import FailureMode, Modes, Refusal, Task
from rsi.store.database import store_batch
from rsi.tasks import bank, refused

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_CLEAR = "delete from {table} where night = $night"
_FILL = "insert into {table} by name select * from night_rows"
_JSON = ("messages", "facets")
"""Columns that are JSON in the store."""


def expand(context: Context, modes: Digest) -> Digest:
    """Make the night's bank; its digest.

    Raises:
        QuietError: too few failures to be worth a training run, or no task covers a failure mode.
    """
    home, start = context.home, context.start
    found = Modes.parse((home.modes / f"{modes}.json").read_bytes())
    enough(found, start.champion, context.deployment.night.min_failures)
    night = prepare(context, found)
    grown = grow(night, Asking(night))
    _keep(context, night.screening.refused)
    rejected, replayed = grown.account.rejected, grown.account.replayed
    note = f"{sum(rejected.values())} refused" + (f", {replayed} more of earlier banks" if replayed else "")
    context.world.progress("expand", grown.new, grown.proposals, note)
    if not any(one.mode_id for one in grown.tasks[: grown.new]):
        raise QuietError(
            f"no task covers a failure mode: {len(night.material.corrected)} traces carry a correction, "
            f"{grown.proposals} proposals, refused {dict(rejected) or 'none'}"
        )
    name = bank.freeze(home, start.night, grown.tasks, grown.account)
    faults.point("expand.after_bank")
    with store_batch(home, context.world.clock, f"expand {start.night}") as connection:
        _tell(connection, start.night, grown.tasks)
    return name


def enough(found: Modes, champion: str, least: int) -> None:
    """Nothing to do where the version in service failed often enough.

    Raises:
        QuietError: it did not.
    """
    failures = sum(_of_today(one, champion) for one in found.modes if one.trainable)
    if failures < least:
        raise QuietError(
            f"the version in service failed {failures} times in modes that are not fixed; a night trains from "
            f"{least} on (min_failures in the deployment file)"
        )


def _of_today(mode: FailureMode, champion: str) -> int:
    """Traces of a mode that speak of the version in service: its own, and those of no known version."""
    return sum(mode.by_version.get(version, (0, 0))[0] for version in (champion, UNKNOWN))


def _keep(context: Context, refusals: Sequence[Refusal]) -> None:
    """Put the refusals where a person and analysts look, whether a bank comes of the night or not."""
    night = context.start.night
    refused.write(context.home, night, refusals)
    rows = [{"night": night, **one.model_dump(mode="json")} for one in refusals]
    with store_batch(context.home, context.world.clock, f"expand {night}") as connection:
        _fill(connection, "refusals", night, rows)


def _tell(connection: "DuckDBPyConnection", night: str, tasks: tuple[Task, ...]) -> None:
    """Put the night's tasks where analysts can join them."""
    rows = []
    for one in tasks:
        said = one.model_dump(mode="json")
        rows.append({**said, "night": night, **{name: orjson.dumps(said[name]).decode() for name in _JSON}})
    _fill(connection, "tasks", night, rows)


def _fill(
    connection: "DuckDBPyConnection", table: str, night: str, rows: Sequence[Mapping[str, object]]
) -> None:
    """The rows of a night in place of those there are."""
    import pyarrow as pa

    connection.execute(_CLEAR.format(table=table), {"night": night})
    if rows:
        connection.register("night_rows", pa.Table.from_pylist(rows))
        connection.execute(_FILL.format(table=table))
        connection.unregister("night_rows")
