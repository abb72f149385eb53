"""How versions do in service: failed conversations, counted from the trace tables.

A conversation is the unit, since what is said in it hangs together: it failed when one of its traces did. What
was answered by two versions counts for each. Conversations that ingest set aside for the gate are not here.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from rsi.gate.terms import Unjudged, Watch
from rsi.ports import Clock
from rsi.questions import Arm
from rsi.settings import Home
from rsi.store.database import store_batch

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_ARMS = """
with judged as (
    select
        t.version, coalesce(t.conversation, t.trace_uid) as conversation,
        max(case o.outcome when 'fail' then 1 when 'pass' then 0 end) as failed
    from traces t
    join outcomes o using (trace_uid)
    where
        list_contains($origins, t.origin)
        and (
            t.version = $now and (t.start_ns is null or t.start_ns >= $since)
            or t.version = $before and (t.start_ns is null or (t.start_ns >= $oldest and t.start_ns < $since))
        )
    group by all
)
select version, count(*), count(failed), coalesce(sum(failed), 0)::bigint
from judged
group by version
"""


def arms(
    home: Home,
    clock: Clock,
    origins: Sequence[str],
    *,
    now: str,
    before: str,
    since: datetime,
    rule: Watch,
) -> tuple[Arm, Arm]:
    """How the version `now` did since its promotion, and the one before it until then.

    A trace without a time counts for the version that it names.

    Args:
        origins: whose traces count.
        now: digest of the version in service.
        before: digest of the version that it replaced.
        since: when it was promoted.
        rule: how far back to look, and what nobody's judgement means.
    """
    with store_batch(home, clock, "watch") as connection:
        found = _counted(connection, origins, now, before, since, since - timedelta(days=rule.days))
    return _arm(now, found, rule), _arm(before, found, rule)


def _counted(
    connection: "DuckDBPyConnection",
    origins: Sequence[str],
    now: str,
    before: str,
    since: datetime,
    oldest: datetime,
) -> dict[str, tuple[int, int, int]]:
    rows = connection.execute(
        _ARMS,
        {
            "origins": list(origins),
            "now": now,
            "before": before,
            "since": _ns(since),
            "oldest": _ns(oldest),
        },
    ).fetchall()
    return {str(version): (int(all_), int(judged), int(failed)) for version, all_, judged, failed in rows}


def _arm(version: str, found: dict[str, tuple[int, int, int]], rule: Watch) -> Arm:
    conversations, judged, failed = found.get(version, (0, 0, 0))
    counted = conversations if rule.unjudged is Unjudged.PASSED else judged
    return Arm(version=version, conversations=conversations, counted=counted, failed=failed)


def _ns(moment: datetime) -> int:
    """Whole seconds since 1970 as nanoseconds: the ledger knows no parts of a second."""
    return int(moment.timestamp()) * 10**9
