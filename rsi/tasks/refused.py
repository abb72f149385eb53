"""Refusals: why a proposal is in no bank, kept by night so that a person can look and overrule.

``refused/<night>.parquet`` in the home holds those of the night's last look at its proposals, whether a bank came of
it or not; the table ``refusals`` holds the same for analysts.
"""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from rsi.errors import ContractError
from rsi.records import Refusal
from rsi.settings import Home
from rsi.store.files import whole

if TYPE_CHECKING:
    import pyarrow as pa


class Reason(StrEnum):
    """Why a proposal is refused, in the order in which the screens look."""

    UNKNOWN_LABEL = "unknown_label"
    """Somebody said that a specialist was right whom the harness does not have."""
    SCHEMA = "not_a_task"
    """A role, an order of messages or a hop that no harness renders, or text that cannot be stored."""
    EMPTY = "empty_request"
    TOO_LONG = "too_long"
    NO_VERIFIER = "no_verifier"
    LICENCE = "licence"
    HELD_OUT_EXACT = "held_out_exact"
    HELD_OUT_RUN = "held_out_run"
    HELD_OUT_NEAR = "held_out_near"
    INJECTION = "injection"
    PERSONAL = "personal_data"
    LANGUAGE = "language"
    CONTRADICTION = "contradicting_corrections"
    DUPLICATE = "duplicate"
    NEAR_DUPLICATE = "near_duplicate"
    SELF_CHECK = "verifier_refuses_gold"
    OVER_SOURCE = "over_source"
    """Its giver has its share of the bank already."""
    OVER_LIMIT = "over_limit"
    """The bank has as many tasks as it takes."""
    OVER_SHARE = "over_share"
    """Its expected answer has its share of the bank already."""
    OVER_SYNTHETIC = "over_synthetic_share"
    """Made-up tasks have their share of the bank already."""


OVERRULABLE = frozenset(
    {
        Reason.TOO_LONG,
        Reason.HELD_OUT_RUN,
        Reason.HELD_OUT_NEAR,
        Reason.INJECTION,
        Reason.PERSONAL,
        Reason.LANGUAGE,
        Reason.NEAR_DUPLICATE,
    }
)
"""What a person may overrule: judgements that can be wrong. The letters and digits of a held-out item are none."""


def path(home: Home, night: str) -> Path:
    """Where a night's refusals lie."""
    return home.refused / f"{night}.parquet"


def write(home: Home, night: str, refusals: Sequence[Refusal]) -> Path:
    """Keep a night's refusals, in the order of their ids; the same ones give the same bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    ordered = sorted(refusals, key=lambda one: (one.task_id, one.reason))
    target = path(home, night)
    target.parent.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pylist([one.model_dump(mode="json") for one in ordered], schema=_schema())
    with whole(target) as file:
        pq.write_table(table, file, compression="zstd")
    return target


def nights(home: Home) -> tuple[str, ...]:
    """Nights that have refusals on file, oldest first."""
    found = (one.name.removesuffix(".parquet") for one in home.refused.glob("[!.]*.parquet"))
    return tuple(sorted(found, key=lambda one: (one[:10], len(one), one)))


def read(home: Home, night: str | None = None) -> tuple[Refusal, ...]:
    """A night's refusals, of the last night by default.

    Raises:
        ContractError: no such night looked at proposals.
    """
    import pyarrow.parquet as pq

    known = nights(home)
    wanted = night or (known[-1] if known else None)
    if wanted is None or wanted not in known:
        raise ContractError(
            f"no refusals of night {wanted or 'any'} in {home.refused}; `rsi expand` makes them"
        )
    return tuple(Refusal.model_validate(row) for row in pq.read_table(path(home, wanted)).to_pylist())


def _schema() -> "pa.Schema":
    import pyarrow as pa

    text = ("task_id", "reason", "source", "evidence")
    return pa.schema(
        [
            *(pa.field(name, pa.string(), nullable=False) for name in text),
            pa.field("held_out", pa.string()),
            pa.field("text", pa.string(), nullable=False),
            pa.field("expected", pa.string(), nullable=False),
            pa.field("mode_id", pa.string()),
            pa.field("traces", pa.list_(pa.string()), nullable=False),
        ]
    )
