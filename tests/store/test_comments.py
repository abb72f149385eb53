"""What tables, views and columns mean, as readers of the snapshot see it."""

import duckdb
import pytest

from rsi.settings import Home
from rsi.store.query import schema
from rsi.store.snapshot import READERS, open_snapshot, refresh
from tests.traces.inputs import CLOCK

COMMENTS = [script for script in READERS if script.name.startswith("comments")]


@pytest.fixture
def snapshot(home: Home) -> Home:
    refresh(home, CLOCK)
    return home


def test_every_table_view_and_column_says_what_it_means(snapshot: Home) -> None:
    """In plain words, beside the thing itself; each is a sentence."""
    found = schema(snapshot)

    assert {"traces", "spans", "scores", "v_nights", "v_outcomes", "ledger"} <= {one.name for one in found}
    bare = [one.name for one in found if not one.comment]
    bare += [f"{one.name}.{column.name}" for one in found for column in one.columns if not column.comment]
    assert bare == []
    assert all(
        column.comment.endswith(".") and column.comment[0] != " " for one in found for column in one.columns
    )


def test_no_comment_is_about_something_that_is_gone(snapshot: Home) -> None:
    """As many comments are written as things have one, and a stale one is refused by DuckDB."""
    written = [
        line
        for script in COMMENTS
        for line in script.read_text().splitlines()
        if line.startswith("comment on")
    ]
    found = schema(snapshot)
    names = [f"table {one.name}" for one in found]
    names += [f"column {one.name}.{column.name}" for one in found for column in one.columns]

    assert sorted(line.removeprefix("comment on ").split(" is ")[0] for line in written) == sorted(names)


def test_comments_are_in_the_file_for_other_clients(snapshot: Home) -> None:
    """A plain DuckDB connection reads them."""
    with duckdb.connect(str(snapshot.snapshot), read_only=True) as connection:
        found = connection.execute(
            "select comment from duckdb_columns() where table_name = 'v_llm_calls' and column_name = 'ms'"
        ).fetchall()

    assert found == [("Duration in milliseconds; null where a time is unknown.",)]


def test_a_view_that_reads_otherwise_remakes_the_snapshot(snapshot: Home, monkeypatch, tmp_path) -> None:
    """An upgrade is seen by readers without new traces."""
    changed = tmp_path / "comments.sql"
    changed.write_text("comment on table traces is 'Another.';")
    monkeypatch.setattr("rsi.store.snapshot.READERS", (*READERS, changed))

    assert refresh(snapshot, CLOCK)
    with open_snapshot(snapshot) as connection:
        assert connection.execute(
            "select comment from duckdb_tables() where table_name = 'traces'"
        ).fetchall() == [("Another.",)]
