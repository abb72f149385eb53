"""Quarantine: what a mended reader can take comes in from its raw text."""

from pathlib import Path
from types import ModuleType

import orjson
import pyarrow.parquet as pq
import pytest

from rsi.intake import Splits
from rsi.settings import Deployment, Home
from rsi.traces import detect
from rsi.traces.formats import formats
from rsi.traces.formats.run import Run
from rsi.traces.formats.run import rows as run_rows
from rsi.traces.formats.turns import said
from rsi.traces.retry import retry
from rsi.traces.rows import JsonObject, Place, Refusal, Rows
from tests.traces.inputs import ALL_TRAIN, CLOCK, chat, load, rows, write_lines


def reader() -> ModuleType:
    """A reader of a format that nobody knew."""
    module = ModuleType("diary")
    module.NAME = "diary"  # type: ignore[attr-defined]

    def read(record: JsonObject, place: Place) -> tuple[Rows | Refusal, ...]:
        run = Run(str(record["day"]), "diary", turns=(said("user", str(record["diary"])),))
        return (run_rows(run, "diary", place),)

    module.matches = lambda record: "diary" in record  # type: ignore[attr-defined]
    module.read = read  # type: ignore[attr-defined]
    return module


def test_a_new_reader_takes_what_was_refused(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted, settled, and not offered again; what still cannot be read stays."""
    records = [{"diary": "dear", "day": 1}, chat("x"), {"odd": 1}, {"diary": "me", "day": 2}]
    path = write_lines(tmp_path / "a.jsonl", records)
    with path.open("ab") as file:
        file.write(b'{"cut": ')
    load(home, path)
    assert rows(home, "select reason, count(*) from v_quarantine group by all order by 1") == [
        ("cut_line", 1),
        ("unknown_format", 3),
    ]
    monkeypatch.setattr(detect, "formats", lambda: (reader(), *formats()))
    done = retry(home, CLOCK, "unknown_format", deployment=ALL_TRAIN)
    assert (done.read, done.settled, done.still) == (3, 2, 1)
    assert rows(home, "select input_text from traces order by 1") == [("dear",), ("me",), ("x",)]
    assert rows(home, "select count(*) from quarantine") == [(4,)]
    assert rows(home, "select line from v_quarantine order by 1") == [(3,), (5,)]
    assert rows(home, "select refusals from v_ingest_health") == [(2,)]
    again = retry(home, CLOCK, deployment=ALL_TRAIN)
    assert (again.settled, again.still) == (0, 2)


def test_a_refused_part_whose_text_is_not_kept_stays_refused(home: Home, tmp_path: Path) -> None:
    """Of a record that is held out in part only the parts that stay are there to be read again."""
    documents = []
    for number in range(1, 31):
        spans = [
            {"traceId": f"{one:032x}", "spanId": f"{one:016x}", "name": "s"} for one in (number, number + 100)
        ]
        documents.append({"resourceSpans": [{"scopeSpans": [{"spans": [*spans, {"name": "nameless"}]}]}]})
    half = Deployment(split=Splits(dev=0, gate=0.5, vault=0))
    totals = load(home, write_lines(tmp_path / "a.jsonl", documents), deployment=half)
    assert (totals.quarantined, 0 < totals.heldout < 60) == (30, True)
    done = retry(home, CLOCK, deployment=half)
    assert (done.settled, done.still + done.without_text) == (0, 30)
    assert 0 < done.still < 30
    assert rows(home, "select count(*) from v_quarantine") == [(30,)]


def test_text_of_what_turns_out_to_be_held_out_leaves_raw_text(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knew whose it was while it was refused."""
    half = Deployment(split=Splits(dev=0, gate=0.5, vault=0))
    records = [{"diary": f"dear-{number}-x", "day": number} for number in range(30)]
    load(home, write_lines(tmp_path / "a.jsonl", records), deployment=half)
    monkeypatch.setattr(detect, "formats", lambda: (reader(), *formats()))

    assert retry(home, CLOCK, deployment=half).settled == 30

    (path,) = home.raw.glob("*.parquet")
    raw = [orjson.loads(row["body"]) for row in pq.read_table(path).to_pylist()]
    held = [orjson.loads(line) for line in next((home.heldout / "gate").glob("*.ndjson")).open()]
    seen = {str(text) for (text,) in rows(home, "select input_text from traces")}
    assert seen == {one["diary"] for one in raw}
    assert sorted(raw + held, key=lambda one: one["day"]) == records
    assert 0 < len(held) < 30
