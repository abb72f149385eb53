"""The reader that CONTRIBUTING shows, taken from there and installed as somebody else's package."""

import importlib
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from rsi.settings import Home
from rsi.traces.formats import ENTRY_POINTS, FORMATS, formats
from rsi.traces.rows import Format
from tests.traces.inputs import ROOT, load, rows, write_lines

GUIDE = (ROOT / "CONTRIBUTING.md").read_text()
MODULE = "acme_traces"


def block(language: str) -> str:
    """The one block in a language."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", GUIDE, re.DOTALL | re.MULTILINE)
    return str(found)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Format]:
    """The reader, in a package whose entry point is the one of the guide."""
    (group,) = tomllib.loads(block("toml"))["project"]["entry-points"].items()
    assert group == (ENTRY_POINTS, {"acme": MODULE})
    site = tmp_path / "site"
    about = site / f"{MODULE}-1.0.dist-info"
    about.mkdir(parents=True)
    (site / f"{MODULE}.py").write_text(block("python"))
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {MODULE}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{ENTRY_POINTS}]\nacme = {MODULE}\n")
    monkeypatch.syspath_prepend(str(site))
    formats.cache_clear()
    yield importlib.import_module(MODULE)  # type: ignore[misc]
    formats.cache_clear()
    del sys.modules[MODULE]


def test_the_reader_is_asked_before_ours(installed: Format) -> None:
    """Its record has `messages` too, which the last of ours would take."""
    assert formats() == (installed, *FORMATS)
    record = orjson.loads(block("json"))
    assert next(one.NAME for one in FORMATS if one.matches(record)) == "chat"


def test_its_record_loads(installed: Format, home: Home, tmp_path: Path) -> None:
    """With messages, time, user and score, all from the record of the guide; the second time nothing is new."""
    path = tmp_path / "acme.json"
    path.write_text(block("json"))
    assert load(home, path).loaded == 1
    assert rows(home, "select format, native_id, input_text, output_text, start_ts::varchar from traces") == [
        ("acme", "r-17", "Where is my parcel?", "In Graz.", "2026-01-02 03:04:05")
    ]
    assert rows(home, "select user_ref[:6] from traces") == [("<user:",)]
    assert rows(home, "select role, content from messages order by seq") == [
        ("user", "Where is my parcel?"),
        ("assistant", "In Graz."),
    ]
    assert rows(home, "select kind, len(input_messages), len(output_messages) from spans") == [("llm", 1, 1)]
    assert rows(home, "select name, value, said, source from scores") == [("stars", 0.75, "4", "end_user")]
    again = write_lines(tmp_path / "again.jsonl", [orjson.loads(block("json"))])
    assert load(home, again).duplicates == 1


def test_it_keeps_the_rules_that_the_guide_states(installed: Format, home: Home, tmp_path: Path) -> None:
    """No value on another scale, no score where none is said, no invented time; nothing said is refused."""
    said = [{"role": "user", "content": "Hello?"}]
    records: list[object] = [
        {"acme_run": "loud", "messages": said, "stars": 11},
        {"acme_run": "quiet", "messages": said},
        {"acme_run": "mute", "messages": "none"},
        {"acme_run": None, "messages": said},
    ]
    totals = load(home, write_lines(tmp_path / "runs.jsonl", records))
    assert (totals.loaded, totals.quarantined) == (2, 2)
    assert rows(home, "select value, said from scores") == [(None, "11")]
    assert rows(home, "select distinct start_ns, time_state from traces") == [(None, "missing")]
    assert rows(home, "select distinct reason from quarantine") == [("missing_field",)]
