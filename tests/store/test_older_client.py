"""The snapshot under the DuckDB that other tools still bring."""

import re
import subprocess
import venv
from pathlib import Path

import orjson
import pytest

from rsi.settings import Home
from rsi.store.database import LINKS, VIEWS
from rsi.store.snapshot import refresh
from tests.traces.inputs import CLOCK, SAMPLES, load, rows

ASK = """
import duckdb, json, sys
with duckdb.connect(sys.argv[1], read_only=True) as connection:
    names = connection.execute("select view_name from duckdb_views() where not internal").fetchall()
    print(json.dumps({name: connection.execute(f"select count(*) from {name}").fetchone()[0] for (name,) in names}))
"""


@pytest.mark.slow
def test_every_view_answers_in_duckdb_1_5(home: Home, tmp_path: Path) -> None:
    """The client of another environment opens the file and gets as many rows from each view."""
    load(home, SAMPLES)
    refresh(home, CLOCK)
    venv.create(tmp_path / "env", with_pip=True)
    python = str(tmp_path / "env" / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "duckdb==1.5.*"], check=True, timeout=250)
    said = subprocess.run(
        [python, "-c", ASK, str(home.snapshot)], capture_output=True, text=True, check=False
    )
    assert said.returncode == 0, said.stderr
    found = orjson.loads(said.stdout)
    assert {"v_llm_calls", "v_tool_calls", "v_verdicts", "v_versions"} <= set(found)
    for name in ("v_llm_calls", "v_tool_calls", "v_conversation", "v_outcomes"):
        assert [(found[name],)] == rows(home, f"select count(*) from {name}")


def test_views_use_no_word_that_only_duckdb_2_knows() -> None:
    """`if` as a function, outer joins beside a list taken apart; links are computed before a reader sees them."""
    for path in (VIEWS, VIEWS.with_name("loop_views.sql")):
        text = " ".join(path.read_text().split())
        assert " if(" not in text, path
        assert not re.findall(r", unnest\([^;]{0,80}\) as \w+ \(\w+\) (?:left|semi|anti) join", text), path
    assert " if(" in LINKS.read_text()
