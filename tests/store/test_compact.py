"""The store written anew."""

from rsi.settings import Home
from rsi.store.compact import compact
from rsi.store.database import store_batch
from tests.traces.inputs import CLOCK, SAMPLES, load, rows

ALL = """
select table_name from duckdb_tables()
union all
select view_name from duckdb_views() where not internal
order by 1
"""


def test_the_rows_stay_and_what_was_deleted_leaves_the_file(home: Home) -> None:
    """Tables, views and macros as before; the next batch goes on."""
    load(home, SAMPLES / "tau.json")
    with store_batch(home, CLOCK, "test") as connection:
        connection.execute("insert into meta values ('secret', 'wordsthatmustgo')")
    with store_batch(home, CLOCK, "test") as connection:
        connection.execute("delete from meta where key = 'secret'")
    assert b"wordsthatmustgo" in home.store.read_bytes()
    names, traces = rows(home, ALL), rows(home, "from traces order by all")

    compact(home, CLOCK)

    assert b"wordsthatmustgo" not in home.store.read_bytes()
    assert rows(home, ALL) == names
    assert rows(home, "from traces order by all") == rows(home, "from traces_until(9) order by all") == traces
    load(home, SAMPLES / "chat.jsonl")
    assert len(rows(home, "from traces")) > len(traces)
    assert not list(home.root.glob(".compact.*"))


def test_what_a_killed_one_left_is_removed(home: Home) -> None:
    """A copy of the store does not outlive what is deleted from it."""
    load(home, SAMPLES / "chat.jsonl")
    (home.root / ".compact.left").mkdir()
    (home.root / ".compact.left" / "store.duckdb").write_bytes(b"")
    compact(home, CLOCK)
    assert not list(home.root.glob(".compact.*"))
