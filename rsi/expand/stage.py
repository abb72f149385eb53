"""Expand: the night's failure modes into a bank of verified tasks."""

from typing import TYPE_CHECKING

import orjson

from rsi import faults
from rsi.context import Context
from rsi.discover.facts import UNKNOWN
from rsi.errors import QuietError
from rsi.expand.grow import grow, prepare
from rsi.ids import Digest
from rsi.records import FailureMode, Modes, Task
from rsi.store.database import store_batch
from rsi.tasks import bank

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_CLEAR = "delete from tasks where night = $night"
_FILL = "insert into tasks by name select * from task_rows"
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
    grown = grow(night, home.journals)
    refused = grown.account.rejected
    context.world.progress("expand", len(grown.tasks), grown.proposals, f"{sum(refused.values())} refused")
    if not any(one.mode_id for one in grown.tasks[: grown.new]):
        raise QuietError(
            f"no task covers a failure mode: {len(night.material.corrected)} traces carry a correction, "
            f"{grown.proposals} proposals, refused {dict(refused) or 'none'}"
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


def _tell(connection: "DuckDBPyConnection", night: str, tasks: tuple[Task, ...]) -> None:
    """Put the night's tasks where analysts can join them."""
    import pyarrow as pa

    rows = []
    for one in tasks:
        said = one.model_dump(mode="json")
        rows.append({**said, "night": night, **{name: orjson.dumps(said[name]).decode() for name in _JSON}})
    connection.execute(_CLEAR, {"night": night})
    connection.register("task_rows", pa.Table.from_pylist(rows))
    connection.execute(_FILL)
    connection.unregister("task_rows")
