"""The store: one batch at a time, whole or not at all."""

import multiprocessing
import os
import resource
import signal
from pathlib import Path

import pytest

from rsi.errors import BusyError, ContractError, IntegrityError, TransientError
from rsi.settings import Home
from rsi.store.database import SCHEMA_VERSION, connect, last_ordinal, store_batch
from rsi.store.locks import hold
from tests.traces.inputs import CLOCK, SAMPLES, load, rows


def test_a_new_store_has_its_tables_and_views(home: Home) -> None:
    """Also the next time, with the same schema version."""
    for _ in range(2):
        with store_batch(home, CLOCK, "test") as connection:
            names = {
                name for (name,) in connection.execute("select table_name from duckdb_tables()").fetchall()
            }
            views = {
                name
                for (name,) in connection.execute(
                    "select view_name from duckdb_views() where not internal"
                ).fetchall()
            }
    assert {
        "trace_parts",
        "span_parts",
        "message_parts",
        "tool_call_parts",
        "scores",
        "ingest_files",
        "quarantine",
    } <= names
    assert {"failure_modes", "tasks", "ledger", "meta"} <= names
    assert {
        "traces",
        "spans",
        "messages",
        "tool_calls",
        "span_links",
        "v_outcomes",
        "v_failures",
        "v_llm_calls",
        "v_tool_calls",
    } <= views
    assert {"v_conversation", "v_ingest_health"} <= views
    assert rows(home, "select value from meta where key = 'schema_version'") == [(str(SCHEMA_VERSION),)]


def test_a_batch_that_fails_leaves_nothing(home: Home) -> None:
    """The transaction is rolled back and the lock is free again."""
    with pytest.raises(ZeroDivisionError), store_batch(home, CLOCK, "test") as connection:
        connection.execute("insert into meta values ('a', 'b')")
        raise ZeroDivisionError
    assert rows(home, "select count(*) from meta where key = 'a'") == [(0,)]


def _dies(home: Home) -> None:
    with store_batch(home, CLOCK, "test") as connection:
        connection.execute("insert into meta values ('killed', 'b')")
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_kill_in_a_batch_leaves_nothing(home: Home) -> None:
    """Neither rows nor a lock."""
    rows(home, "select 1")
    process = multiprocessing.get_context("spawn").Process(target=_dies, args=(home,))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    assert rows(home, "select count(*) from meta where key = 'killed'") == [(0,)]


def test_23_a_busy_store_names_its_holder(home: Home) -> None:
    """After the time that the caller would wait."""
    with (
        hold(home.store_lock, "the other", "today"),
        pytest.raises(BusyError, match="the other"),
        store_batch(home, CLOCK, "test", wait_s=0.0),
    ):
        pass


def test_a_store_written_by_a_newer_rsi_is_refused(home: Home) -> None:
    """With both versions in the message."""
    with store_batch(home, CLOCK, "test") as connection:
        connection.execute("update meta set value = '999' where key = 'schema_version'")
    with pytest.raises(ContractError, match=rf"version 999.*knows up to {SCHEMA_VERSION}"):
        connect(home)


def test_a_file_that_is_no_store_is_refused(home: Home) -> None:
    """It is not overwritten."""
    home.root.mkdir(parents=True)
    home.store.write_bytes(b"not a database" * 1000)
    with pytest.raises(IntegrityError, match=r"store\.duckdb"):
        connect(home)
    assert home.store.read_bytes() == b"not a database" * 1000


def test_the_last_ordinal_is_that_of_the_last_batch_with_something_new(home: Home, tmp_path: Path) -> None:
    """0 before the first; each row carries the number of its batch."""
    with store_batch(home, CLOCK, "test") as connection:
        assert last_ordinal(connection) == 0
    load(home, SAMPLES / "chat.jsonl")
    load(home, SAMPLES / "tau.json")
    load(home, SAMPLES / "tau.json")
    with store_batch(home, CLOCK, "test") as connection:
        assert last_ordinal(connection) == 2
    assert rows(home, "select format, min(ordinal), max(ordinal) from traces group by all order by all") == [
        ("chat", 1, 1),
        ("tau", 2, 2),
    ]


def full_disk(home: Home, size: int, insert: bool) -> None:
    """Files may not grow beyond `size` bytes."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    if insert:
        connect(home).close()
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    try:
        with store_batch(home, CLOCK, "test") as connection:
            connection.execute("insert into meta select 'key', uuid()::varchar from range(100000)")
    except TransientError as error:
        os._exit(9 if "is the disk full?" in str(error) else 1)
    os._exit(2)


@pytest.mark.parametrize("insert", [False, True], ids=["made", "written"])
def test_4_a_full_disk_leaves_the_store_as_it_was(home: Home, insert: bool) -> None:
    """Also where there was none: the next time, with room, all is well."""
    size = 600_000 if insert else 10_000
    process = multiprocessing.get_context("spawn").Process(target=full_disk, args=(home, size, insert))
    process.start()
    process.join()
    assert process.exitcode == 9
    assert home.store.exists() is insert
    assert rows(home, "select count(*) from meta") == [(1,)]
