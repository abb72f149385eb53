"""Where a trace stands among the others: in which batch it came, and with which traces it shares what was asked."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rsi.records import Origin

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

TEXT = 1000
"""Characters read of what was asked."""

# Groups are of one version, as the groups of samples are that a training step compares.
_PLACES = """
with placed as (
    select
        t.trace_uid, t.ordinal, o.outcome,
        md5(coalesce(t.version, '') || coalesce(' task ' || t.task_id, ' text ' || t.input_text)) as asked
    from traces_until($until) t
    join outcomes_until($until) o using (trace_uid)
    where list_contains($origins, t.origin)
),
repeated as (
    select asked, bool_or(outcome = 'pass') and bool_or(outcome = 'fail') as mixed
    from placed
    where asked is not null and outcome <> 'unknown'
    group by asked
    having count(*) > 1
)
select p.trace_uid, p.ordinal, r.asked, coalesce(r.mixed, false)
from placed p
left join repeated r using (asked)
"""
_TEXTS = """
select trace_uid, left(input_text, $most)
from traces_until($until) semi join wanted using (trace_uid)
where input_text is not null
"""


class Place(NamedTuple):
    """Of one trace."""

    ordinal: int = 0
    """The batch that brought it."""
    group: str | None = None
    """Names the judged traces of one version that were asked the same (task, else text); null where it is alone."""
    mixed: bool = False
    """Whether some of the group passed and some failed."""


def read_places(
    connection: "DuckDBPyConnection", origins: Sequence[Origin], until_ordinal: int
) -> dict[str, Place]:
    """Places of all traces of these origins up to a batch."""
    parameters = {"until": until_ordinal, "origins": [origin.value for origin in origins]}
    rows = connection.execute(_PLACES, parameters)
    found: dict[str, Place] = {}
    while block := rows.fetchmany(10_000):
        found.update((trace_uid, Place(ordinal, group, mixed)) for trace_uid, ordinal, group, mixed in block)
    return found


def read_texts(
    connection: "DuckDBPyConnection", until_ordinal: int, traces: Iterable[str]
) -> Mapping[str, str]:
    """The beginning of what was asked, of those traces that say it."""
    import pyarrow as pa

    connection.register("wanted", pa.table({"trace_uid": pa.array(sorted(traces), pa.string())}))
    try:
        rows = connection.execute(_TEXTS, {"until": until_ordinal, "most": TEXT}).fetchall()
    finally:
        connection.unregister("wanted")
    return {str(trace_uid): str(text) for trace_uid, text in rows}
