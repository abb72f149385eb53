"""Homes that an older rsi wrote: their rows are taken over, their ledgers open, and a newer one is refused."""

from pathlib import Path

import duckdb
import pytest

from rsi.errors import ContractError
from rsi.registry import champion
from rsi.settings import Home
from rsi.store.database import SCHEMA_VERSION, connect, last_ordinal, store_batch
from rsi.store.ledger import Ledger
from rsi.store.query import ask
from rsi.store.snapshot import refresh
from tests.made import FixedClock
from tests.traces.inputs import CLOCK, SAMPLES, load, rows

OLDER = Path(__file__).with_name("older")
STORES, LEDGERS = sorted(OLDER.glob("schema_*.sql")), sorted(OLDER.glob("ledger_*.ndjson"))
PLACE = "1, 'file', 1, 0"


def version_of(path: Path) -> int:
    """The number in a file's name."""
    return int(path.stem.rpartition("_v")[2])


def older(home: Home, script: Path) -> Home:
    """A store as that version made it: a trace with its parts, a score, one held out, a file, and a night's modes."""
    home.root.mkdir(parents=True)
    with duckdb.connect(str(home.store)) as connection:
        connection.execute(script.read_text())
        values = {
            "meta": f"('schema_version', '{version_of(script)}')",
            "batches": "(1, timestamp '2026-01-01', 2)",
            "heldout_traces": "('held', 'gate')",
            "deleted_traces": "('gone', timestamp '2026-01-01')",
            "ingest_files": "('file', 'inbox/a.jsonl', 'sha', 'default', 10, timestamp '2026-01-01', 2, 1, 0, 0, 1, 0)",
        }
        for table, row in values.items():
            connection.execute(f"insert into {table} values {row}")
        named = {
            "trace_parts": "part_uid, trace_uid, namespace, format, native_id, origin, time_state, split, input_text",
            "message_parts": "part_uid, message_uid, trace_uid, at_ns, seq, size, role, content, content_state",
            "scores": "score_uid, trace_uid, name, value, source",
            "failure_modes": "night, mode_id, signature, kind, title, count, opportunities, rate, low, high, rank, "
            "priority, examples, first_seen, status, by_version",
        }
        told = {
            "trace_parts": "'p', 't', 'default', 'chat', 'n', 'traffic', 'missing', 'train', 'where is it'",
            "message_parts": "'p', 'm', 't', 0, 0, 11, 'user', 'where is it', 'full'",
            "scores": "'s', 't', 'route', 0.0, 'human'",
            "failure_modes": "'2026-01-01', 'm-1', 'route:L0->L1', 'route', 'agents to chat', 3, 4, 0.75, 0.3, 0.9, 1, "
            "2.0, ['t'], '2026-01-01', 'new', '{}'",
        }
        for table, columns in named.items():
            placed = table != "failure_modes"
            more, where = (", ordinal, file_id, line, byte_offset", f", {PLACE}") if placed else ("", "")
            connection.execute(f"insert into {table} ({columns}{more}) values ({told[table]}{where})")
    return home


@pytest.mark.parametrize("script", STORES, ids=lambda path: path.stem)
def test_27_rows_of_an_older_store_are_taken_over(home: Home, script: Path) -> None:
    """Traces, scores, sides, files and modes; the file that was there stays beside the new one."""
    older(home, script)

    with store_batch(home, CLOCK, "test") as connection:
        assert last_ordinal(connection) == 1

    assert rows(home, "select value from meta where key = 'schema_version'") == [(str(SCHEMA_VERSION),)]
    assert rows(home, "select trace_uid, input_text from traces") == [("t", "where is it")]
    assert rows(home, "select content from messages") == [("where is it",)]
    assert rows(home, "select outcome from outcomes") == [("fail",)]
    assert rows(home, "select trace_uid, split, said from trace_sides order by all") == [
        ("held", "gate", "gate"),
        ("t", "train", "train"),
    ]
    assert rows(home, "select trace_uid, place, origin from trace_texts") == [("t", "raw", "traffic")]
    assert rows(home, "select mode_id, frequency, blame from failure_modes") == [("m-1", 3.0, "model")]
    assert rows(home, "select trace_uid from deleted_traces") == [("gone",)]
    assert (home.root / f"store.v{version_of(script)}.duckdb").exists()
    assert not list(home.root.glob(".migrate.*"))


@pytest.mark.parametrize("script", STORES, ids=lambda path: path.stem)
def test_an_older_store_goes_on_as_any_other(home: Home, script: Path) -> None:
    """What comes after is ingested, and readers get their snapshot."""
    older(home, script)
    load(home, SAMPLES / "chat.jsonl")
    refresh(home, CLOCK)

    found = dict(ask(home, "select trace_uid = 't', count(*) from traces group by all").rows)
    assert found[True] == 1
    assert found[False] > 1
    assert ask(home, "select title, status from v_failure_modes").rows == [("agents to chat", "new")]


def test_a_store_whose_move_breaks_off_is_as_it_was(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next start takes its rows over."""
    older(home, STORES[-1])
    before = home.store.read_bytes()
    with monkeypatch.context() as patch, pytest.raises(OSError):
        patch.setattr("rsi.store.migrate.os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "full")))
        connect(home)

    assert home.store.read_bytes() == before
    assert not list(home.root.glob(".migrate.*"))
    assert rows(home, "select trace_uid from traces") == [("t",)]


def test_a_store_without_parts_of_traces_is_refused(home: Home) -> None:
    """Rows of the first version are other things than parts; the message says what to do."""
    older(home, STORES[0])
    with duckdb.connect(str(home.store)) as connection:
        connection.execute("update meta set value = '1'")

    with pytest.raises(ContractError, match=r"schema version 1.*ingest the traces again"):
        connect(home)


def test_every_default_is_of_something_there_is(home: Home) -> None:
    """A default of a column that the schema lost would never be used."""
    from rsi.store.migrate import _DEFAULTS

    with store_batch(home, CLOCK, "test") as connection:
        there = {
            name
            for table, column in connection.execute(
                "select table_name, column_name from duckdb_columns() where not internal"
            ).fetchall()
            for name in (table, f"{table}__{column}")
        }
    assert set(_DEFAULTS) <= there


@pytest.mark.parametrize("path", LEDGERS, ids=lambda path: path.stem)
def test_27_ledgers_of_every_earlier_version_open(tmp_path: Path, path: Path) -> None:
    """Their chain holds, the champion is the one they name, and another record follows."""
    (tmp_path / "ledger.ndjson").write_bytes(path.read_bytes())
    ledger = Ledger(tmp_path / "ledger.ndjson", FixedClock("2026-02-01T00:00:00+00:00"))

    assert len(ledger.records()) == 10
    assert champion.current(ledger) == "f" * 64
    assert ledger.append("night", night="2026-02-01").seq == 11
    assert ledger.records()[-1].prev == ledger.records()[-2].digest
