"""The readers' copy."""

from datetime import UTC, datetime

import duckdb
import pytest

from rsi.discover.kept import store_modes
from rsi.discover.modes import Mined
from rsi.errors import ContractError
from rsi.intake import Splits
from rsi.mode_parts import Factors
from rsi.records import FailureMode, Modes, ModeStatus
from rsi.settings import Deployment, Home
from rsi.store.database import store_batch
from rsi.store.ledger import Ledger
from rsi.store.snapshot import STORAGE, open_snapshot, refresh
from tests.traces.inputs import CLOCK, SAMPLES, StillClock, load, rows

MODE = FailureMode(
    mode_id="m-0123456789", signature="route:L2->L0", kind="route", title="code requests to chat", count=3,
    opportunities=4, rate=0.75, low=0.3, high=0.95, rank=1, priority=3.0, examples=("t1", "t2"),
    first_seen="2026-01-01", status=ModeStatus.NEW, by_version={"v1": (3, 4)},
    factors=Factors(frequency=750.0, severity=1.0, recency=1.0, learnability=0.5, repeated=0, mixed=0, standing=1.0),
)  # fmt: skip


def read(home: Home, sql: str) -> list[tuple[object, ...]]:
    with open_snapshot(home) as connection:
        return connection.execute(sql).fetchall()


def test_it_is_remade_only_when_something_changed(home: Home) -> None:
    """By traces, modes or the ledger; asking for nothing new leaves the file as it is."""
    load(home, SAMPLES / "tau.json")
    assert refresh(home, CLOCK)
    made = home.snapshot.stat().st_mtime_ns
    assert not refresh(home, CLOCK)
    load(home, SAMPLES / "tau.json")
    assert not refresh(home, CLOCK)
    assert home.snapshot.stat().st_mtime_ns == made
    load(home, SAMPLES / "chat.jsonl")
    assert refresh(home, CLOCK)
    modes = Modes(night="2026-01-01", traces=4, failures=3, modes=(MODE,))
    for changed in (modes, modes.model_copy(update={"modes": (MODE.model_copy(update={"count": 4}),)})):
        with store_batch(home, CLOCK, "test") as connection:
            store_modes(connection, Mined(changed, {MODE.mode_id: ("t1",)}))
        assert refresh(home, CLOCK)
        assert not refresh(home, CLOCK)
    Ledger(home.ledger, CLOCK).append("genesis", output="abc")
    assert refresh(home, CLOCK)
    assert not refresh(home, CLOCK)
    assert read(home, "select count, examples, status, by_version from failure_modes") == [
        (4, ["t1", "t2"], "new", '{"v1":[3,4]}')
    ]


def test_it_answers_what_the_store_answers(home: Home) -> None:
    """Tables and views, computed columns too."""
    load(home, SAMPLES)
    refresh(home, CLOCK)
    for name in (
        "traces", "spans", "messages", "tool_calls", "scores", "ingest_files", "v_outcomes", "v_failures",
        "v_llm_calls", "v_tool_calls", "v_conversation", "v_ingest_health", "v_trace_tree", "v_usage",
        "span_links", "outcomes",
    ):  # fmt: skip
        question = f"from {name} order by all"
        answer = read(home, question)
        assert answer == rows(home, question)
        assert answer


def test_it_holds_no_excerpts_and_nothing_of_what_is_held_out(home: Home) -> None:
    """Not even in bytes that no table refers to any more."""
    load(home, SAMPLES, deployment=Deployment(split=Splits(gate=0.5, vault=0.4)))
    refresh(home, CLOCK)
    assert read(home, "select count(excerpt), count(*) > 0 from quarantine") == [(0, True)]
    assert (
        read(
            home,
            "select * from duckdb_tables() where table_name like '%heldout%' or table_name like '%_parts'",
        )
        == []
    )
    assert rows(home, "select count(*) > 0 from trace_sides where split in ('gate', 'vault')") == [(True,)]
    assert b"not json at all" not in home.snapshot.read_bytes()
    assert b"not json at all" in home.store.read_bytes()


def test_23_it_opens_while_a_writer_holds_the_store(home: Home) -> None:
    """And a reader who has it open does not stop its replacement."""
    load(home, SAMPLES / "tau.json")
    refresh(home, CLOCK)
    with store_batch(home, CLOCK, "writer") as connection:
        connection.execute("insert into meta values ('a', 'b')")
        assert read(home, "select count(*) from traces") == [(2,)]
    with open_snapshot(home) as before:
        load(home, SAMPLES / "chat.jsonl")
        assert refresh(home, CLOCK)
        assert before.execute("select count(*) from traces").fetchall() == [(2,)]
    assert read(home, "select count(*) from traces") == [(11,)]


def test_it_is_in_the_older_storage_version(home: Home) -> None:
    """So that tools built on an older DuckDB open it."""
    refresh(home, CLOCK)
    ((tags,),) = read(home, "select tags from duckdb_databases() where database_name = 'snapshot'")
    assert str(tags["storage_version"]).startswith(STORAGE)  # type: ignore[index]


def test_40_readers_can_neither_write_nor_reach_files(home: Home) -> None:
    """The connection is read-only, without access to the outside, and its settings are locked."""
    refresh(home, CLOCK)
    for statement in (
        "delete from traces",
        "insert into meta values ('a', 'b')",
        "copy scores to 'out.csv'",
        "select * from read_text('/etc/hostname')",
        "set enable_external_access = true",
    ):
        with open_snapshot(home) as connection, pytest.raises(duckdb.Error):
            connection.execute(statement)


def test_the_ledger_is_mirrored(home: Home) -> None:
    """Record by record, in UTC; again whole after the file was restored shorter."""
    clock = StillClock(datetime(2026, 5, 6, 7, 8, 9, tzinfo=UTC))
    ledger = Ledger(home.ledger, clock)
    first = ledger.append("genesis", output="abc", body={"why": "start"})
    backup = home.ledger.read_bytes()
    ledger.append("night", night="2026-05-06", input="3")
    refresh(home, clock)
    assert read(
        home, "select seq, recorded_at, kind, night, output, body, prev from ledger order by seq"
    ) == [
        (1, datetime(2026, 5, 6, 7, 8, 9), "genesis", None, "abc", '{"why":"start"}', "0" * 64),
        (2, datetime(2026, 5, 6, 7, 8, 9), "night", "2026-05-06", None, "{}", first.digest),
    ]
    home.ledger.write_bytes(backup)
    refresh(home, clock)
    assert read(home, "select count(*) from ledger") == [(1,)]


def test_without_a_snapshot_the_error_says_what_to_do(home: Home) -> None:
    """One line."""
    with pytest.raises(ContractError, match="rsi snapshot"):
        open_snapshot(home)


def test_a_damaged_snapshot_is_replaced(home: Home) -> None:
    """It is only a copy; drafts do not stay behind."""
    load(home, SAMPLES / "tau.json")
    refresh(home, CLOCK)
    home.snapshot.write_bytes(b"broken")
    assert refresh(home, CLOCK)
    assert read(home, "select count(*) from traces") == [(2,)]
    assert not list(home.root.glob(".snapshot.*"))


def test_what_a_killed_one_left_is_removed(home: Home) -> None:
    """It is a copy of the whole store, in which what is deleted later would stay."""
    load(home, SAMPLES / "chat.jsonl")
    (home.root / ".snapshot.left").mkdir(parents=True)
    (home.root / ".snapshot.left" / "store.duckdb").write_bytes(home.store.read_bytes())
    assert refresh(home, CLOCK)
    assert not list(home.root.glob(".snapshot.*"))
