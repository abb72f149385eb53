"""Questions in SQL."""

import pytest

from rsi.errors import ContractError
from rsi.settings import Home
from rsi.store.query import ask
from rsi.store.snapshot import refresh
from tests.traces.inputs import CLOCK, SAMPLES, load


@pytest.fixture
def asked(home: Home) -> Home:
    """A home with a snapshot of two runs."""
    load(home, SAMPLES / "tau.json")
    refresh(home, CLOCK)
    return home


@pytest.mark.parametrize(
    ("sql", "columns", "rows"),
    [
        ("select trial, outcome from v_outcomes join traces using (trace_uid) order by 1",
         ("trial", "outcome"), [(0, "pass"), (1, "fail")]),
        ("from v_failures select count(*) as n;", ("n",), [(1,)]),
        ("with a as (select 1 as x) select x from a -- and a comment", ("x",), [(1,)]),
    ],
)  # fmt: skip
def test_answers(asked: Home, sql: str, columns: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    """Columns by name, rows in order."""
    assert ask(asked, sql) == (columns, rows)


@pytest.mark.parametrize("sql", ["show tables", "describe traces", "summarize scores", "explain select 1"])
def test_what_helps_to_ask_is_answered_too(asked: Home, sql: str) -> None:
    """Names, columns, plans."""
    assert ask(asked, sql).rows


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("delete from scores", "read-only"),
        ("drop view traces", "read-only"),
        ("create temp table x as select 1", "CREATE"),
        ("copy scores to 'x.csv'", "COPY"),
        ("attach 'other.duckdb'", "ATTACH"),
        ("set threads = 1", "SET"),
        ("select 1; select 2", "found 2"),
        ("", "found 0"),
        ("selec 1", "syntax error"),
        ("select nonsense from traces", "nonsense"),
        ("select * from read_text('/etc/hostname')", "disabled"),
        ("select 'x'::integer from traces", "Conversion"),
    ],
)
def test_refusals_are_one_line_that_says_why(asked: Home, sql: str, said: str) -> None:
    """Writes, several statements, mistakes."""
    with pytest.raises(ContractError, match=said) as caught:
        ask(asked, sql)
    assert "\n" not in str(caught.value)
