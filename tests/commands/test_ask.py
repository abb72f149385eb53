"""`rsi sql`: forms, places to read from and write to, what there is to ask, refusals."""

import io
import os
import subprocess
import sys
from pathlib import Path

import orjson
import pyarrow.parquet as pq
import pytest

from rsi.commands.ask import SHOWN
from rsi.store.snapshot import refresh
from tests.commands.spoken import Terminal
from tests.traces.inputs import CLOCK, SAMPLES, chat, load, write_lines

HOSTILE = "\x1b[31mred\x1b]0;title\x07 [bold]no markup[/bold] :smile: \x9b2J \u202etxt.exe"


@pytest.fixture
def rsi(terminal: Terminal) -> Terminal:
    """A home with a few traces."""
    load(terminal.home, SAMPLES / "tau.json")
    refresh(terminal.home, CLOCK)
    return terminal


def test_the_same_answer_in_every_form(rsi: Terminal, tmp_path: Path) -> None:
    """Table, JSON, CSV, Parquet."""
    sql = "select trial, outcome from v_outcomes join traces using (trace_uid) order by trial"

    assert [line.split() for line in rsi.ok("sql", sql).splitlines()] == [
        ["trial", "outcome"], ["0", "pass"], ["1", "fail"],
    ]  # fmt: skip
    rows = [{"trial": 0, "outcome": "pass"}, {"trial": 1, "outcome": "fail"}]
    assert orjson.loads(rsi.ok("sql", sql, "--json")) == rows
    assert orjson.loads(rsi.ok("sql", sql, "--format", "json")) == rows
    assert rsi.ok("sql", sql, "--format", "csv") == "trial,outcome\n0,pass\n1,fail\n"
    path = tmp_path / "a.parquet"
    assert rsi.ok("sql", sql, "--format", "parquet", "--out", str(path)) == ""
    assert pq.read_table(path).to_pylist() == rows


@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_every_form_goes_to_a_file(rsi: Terminal, form: str, tmp_path: Path) -> None:
    """With what would have been printed."""
    path = tmp_path / "answer"
    printed = rsi.ok("sql", "select 'x' as a", "--format", form)

    assert rsi.ok("sql", "select 'x' as a", "--format", form, "--out", str(path)) == ""
    assert path.read_text() == printed


def test_a_failing_question_leaves_the_file_there_was(rsi: Terminal, tmp_path: Path) -> None:
    """Also one that fails only while its rows are fetched."""
    path = tmp_path / "answers" / "answer"
    path.parent.mkdir()
    path.write_text("before")
    failing = "select if(range = 20000, error('late'), 'x') as a from range(20001)"

    for form in ("json", "csv", "parquet"):
        assert "late" in rsi.refused("sql", failing, "--format", form, "--out", str(path))
        assert path.read_text() == "before"
        assert list(path.parent.iterdir()) == [path]


def test_the_statement_comes_from_a_file_or_from_standard_input(
    rsi: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long ones do not fit a command line."""
    path = tmp_path / "question.sql"
    path.write_text("-- a comment\nselect 5 as five;\n")
    assert rsi.ok("sql", "--file", str(path), "--format", "csv") == "five\n5\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO("select 6 as six"))
    assert rsi.ok("sql", "-", "--format", "csv") == "six\n6\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "expected one question"),
        (["select 1", "--file", "x.sql"], "expected one question"),
        (["--file", "nowhere.sql"], "no file nowhere.sql"),
        (["select 1", "--format", "parquet"], "--out FILE"),
        (["select 1", "--json", "--format", "csv"], "exclude each other"),
        (["delete from traces"], "read-only"),
        (["select * from read_csv('/etc/passwd')"], "disabled"),
        (["select nonsense from traces"], "nonsense"),
        (["--schema", "nonsense"], "no table or view 'nonsense'"),
        (["select '\x1b[31m' || nonsense from traces"], "nonsense"),
    ],
)
def test_mistakes_are_one_line(rsi: Terminal, arguments: list[str], said: str) -> None:
    """Exit code 2, nothing printed, no control character of the question obeyed."""
    line = rsi.refused("sql", *arguments)

    assert said in line
    assert "\x1b" not in line


def test_the_schema_says_what_there_is(rsi: Terminal) -> None:
    """All of it, or one table; for a person and for a program."""
    shown = rsi.ok("sql", "--schema")
    assert "view v_llm_calls" in shown
    assert "gen_ai.usage.input_tokens" in shown
    (one,) = orjson.loads(rsi.ok("sql", "--schema", "v_usage", "--json"))
    assert (one["name"], one["kind"]) == ("v_usage", "view")
    assert {"name": "calls", "type": "BIGINT", "comment": "Calls."} in one["columns"]


def test_hostile_text_is_shown_and_not_obeyed(terminal: Terminal, tmp_path: Path) -> None:
    """Escapes become visible, markup and emoji names stay as they are; JSON gives the text back."""
    load(terminal.home, write_lines(tmp_path / "a.jsonl", [chat(HOSTILE)]))
    refresh(terminal.home, CLOCK)
    sql = "select input_text from traces"

    shown = terminal.ok("sql", sql)
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(shown)
    assert "\u241b[31mred" in shown
    assert "[bold]no markup[/bold] :smile:" in shown
    assert orjson.loads(terminal.ok("sql", sql, "--json")) == [{"input_text": HOSTILE}]


def test_a_table_for_a_person_ends_somewhere_and_says_so(rsi: Terminal) -> None:
    """The other forms have all rows."""
    sql = f"select range as n from range({SHOWN + 5})"
    done = rsi("sql", sql)

    assert len(done.out.splitlines()) == SHOWN + 1
    assert f"only the first {SHOWN} rows" in done.err
    assert len(rsi.ok("sql", sql, "--format", "csv").splitlines()) == SHOWN + 6


def test_a_reader_who_has_seen_enough_is_no_error(rsi: Terminal) -> None:
    """`rsi sql … | head -1` ends in silence."""
    asked = f'{sys.executable} -m rsi.cli sql "select range from range(300000)" --format csv | head -1'
    done = subprocess.run(
        ["bash", "-c", asked],
        env={**os.environ, "RSI_HOME": str(rsi.home.root)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert (done.stdout, done.stderr) == ("range\n", "")


def test_a_notebook_gets_a_connection(rsi: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """`rsi.open_snapshot()` reads RSI_HOME and gives frames; it cannot write."""
    import duckdb

    import rsi as package

    monkeypatch.setenv("RSI_HOME", str(rsi.home.root))
    with package.open_snapshot() as connection:
        frame = connection.sql("from v_outcomes order by outcome").df()
        with pytest.raises(duckdb.Error):
            connection.execute("delete from traces")

    assert list(frame["outcome"]) == ["fail", "pass"]
