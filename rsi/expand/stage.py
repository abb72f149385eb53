"""Expand: the night's failure modes into a bank of verified tasks."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rsi import faults
from rsi.context import Context
from rsi.discover.facts import UNKNOWN
from rsi.errors import QuietError
from rsi.expand.coverage import balance
from rsi.expand.propose import Corrected, propose
from rsi.harness import hcp
from rsi.ids import Digest
from rsi.records import FailureMode, Modes, Task
from rsi.registry import versions
from rsi.settings import contracts_dir
from rsi.store.database import store_batch
from rsi.store.ledger import Ledger
from rsi.tasks import bank, heldout, overrule, refused
from rsi.tasks.overlap import Index
from rsi.tasks.refused import Reason
from rsi.tasks.screen import Rules, Screened, screen

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_CORRECTED = """
select distinct t.trace_uid, t.input_text, t.route, s.correction
from traces_until($ordinal) t join scores s using (trace_uid)
where s.name = 'route' and s.correction is not null and t.input_text is not null
  and s.ordinal <= $ordinal and list_contains($origins, t.origin)
order by t.trace_uid, s.correction
"""
_GIVERS = """
select trace_uid, coalesce('user ' || user_ref, 'conversation ' || conversation)
from traces_until($ordinal)
where user_ref is not null or conversation is not null
"""
_CLEAR = "delete from {table} where night = $night"
_FILL = "insert into {table} by name select * from night_rows"


def expand(context: Context, modes: Digest) -> Digest:
    """Make the night's bank; its digest.

    Raises:
        QuietError: too few failures to be worth a training run, or no task covers a failure mode.
    """
    home, deployment, start = context.home, context.deployment, context.start
    found = Modes.parse((home.modes / f"{modes}.json").read_bytes())
    open_modes = [one for one in found.modes if one.trainable]
    failures = sum(_of_today(one, start.champion) for one in open_modes)
    if failures < deployment.night.min_failures:
        raise QuietError(
            f"the version in service failed {failures} times in modes that are not fixed; a night trains from "
            f"{deployment.night.min_failures} on (min_failures in the deployment file)"
        )
    harness = hcp.load(home.harnesses, versions.load(home, start.champion).harness)
    with store_batch(home, context.world.clock, f"expand {start.night}") as connection:
        rows = connection.execute(
            _CORRECTED,
            {"ordinal": start.ordinal, "origins": [one.value for one in deployment.traces.origins]},
        ).fetchall()
        givers = dict(connection.execute(_GIVERS, {"ordinal": start.ordinal}).fetchall())
    proposals = propose(
        (Corrected(*row) for row in rows), harness.roles, {one.signature: one.mode_id for one in open_modes}
    )
    strangers = sum(correction not in harness.roles for *_, correction in rows)
    known = heldout.read(contracts_dir())
    overruled = overrule.known(Ledger(home.ledger, context.world.clock), start.night)
    passed = screen(
        proposals, Index(known.items, deployment.expand.overlap), Rules.of(deployment, givers, overruled)
    )
    _keep(context, passed)
    tasks, left = balance(passed.tasks, deployment.expand.max_tasks, deployment.expand.max_share)
    refusals = passed.rejected + left + Counter({Reason.UNKNOWN_LABEL.value: strangers})
    context.world.progress("expand", len(tasks), len(proposals), f"{refusals.total()} refused")
    if not any(one.mode_id for one in tasks):
        raise QuietError(
            f"no task covers a failure mode: {len(rows)} traces carry a correction, {len(proposals)} proposals, "
            f"refused {dict(refusals) or 'none'}"
        )
    name = bank.freeze(home, start.night, tasks, dict(refusals), dict(known.digests))
    faults.point("expand.after_bank")
    with store_batch(home, context.world.clock, f"expand {start.night}") as connection:
        _tell(connection, start.night, tasks)
    return name


def _of_today(mode: FailureMode, champion: str) -> int:
    """Traces of a mode that speak of the version in service: its own, and those of no known version."""
    return sum(mode.by_version.get(version, (0, 0))[0] for version in (champion, UNKNOWN))


def _keep(context: Context, passed: Screened) -> None:
    """Put the refusals where a person and analysts look, whether a bank comes of the night or not."""
    night = context.start.night
    refused.write(context.home, night, passed.refused)
    rows = [{"night": night, **one.model_dump(mode="json")} for one in passed.refused]
    with store_batch(context.home, context.world.clock, f"expand {night}") as connection:
        _fill(connection, "refusals", night, rows)


def _tell(connection: "DuckDBPyConnection", night: str, tasks: tuple[Task, ...]) -> None:
    """Put the night's tasks where analysts can join them."""
    import orjson

    rows = [
        {
            **one.model_dump(mode="json"),
            "night": night,
            "messages": orjson.dumps([turn.model_dump() for turn in one.messages]).decode(),
        }
        for one in tasks
    ]
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
