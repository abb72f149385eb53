"""What is held out, and that it stays out."""

from pathlib import Path

import orjson
import pyarrow.parquet as pq
import pytest

from rsi.intake import Splits
from rsi.records import Split
from rsi.settings import Deployment, Home
from rsi.store.database import store_batch
from rsi.traces import parts
from rsi.traces.rows import Place
from rsi.traces.split import Splitter
from rsi.traces.values import Piece
from tests.traces.inputs import CLOCK, SAMPLES, chat, correction, load, request, rows, write_lines

HALF = Deployment(split=Splits(dev=0.1, gate=0.25, vault=0.25))
PINNED = "vdvvdggtvttt"
TEXT_TABLES = ("trace_parts", "spans", "messages", "tool_call_parts", "scores", "quarantine")


def heldout(home: Home, split: str) -> list[dict[str, object]]:
    lines = [line for path in sorted((home.heldout / split).glob("*.ndjson")) for line in path.open()]
    return [orjson.loads(line) for line in lines]


def raw_texts(home: Home) -> list[str]:
    return sorted(
        str(row) for path in sorted(home.raw.glob("*.parquet")) for row in pq.read_table(path).to_pylist()
    )


def test_shares_are_met_and_sides_do_not_move() -> None:
    """Over many conversations; another secret or namespace deals anew."""
    shares = Splits(dev=0.1, gate=0.2, vault=0.3)
    splitter = Splitter(b"secret", shares)
    sides = [splitter.of("n", str(number)) for number in range(4000)]
    for split, share in ((Split.DEV, 0.1), (Split.GATE, 0.2), (Split.VAULT, 0.3), (Split.TRAIN, 0.4)):
        assert abs(sides.count(split) / 4000 - share) < 0.03
    assert sides == [Splitter(b"secret", shares).of("n", str(number)) for number in range(4000)]
    assert sides != [Splitter(b"other", shares).of("n", str(number)) for number in range(4000)]
    assert sides != [splitter.of("m", str(number)) for number in range(4000)]


def test_known_sides() -> None:
    """Pinned, since a changed hash would move conversations that were held out into training."""
    splitter = Splitter(b"secret", Splits(dev=0.1, gate=0.2, vault=0.3))
    assert "".join(splitter.of("n", str(number))[0] for number in range(12)) == PINNED


def test_larger_shares_keep_what_was_held_out() -> None:
    """Nothing goes back from gate or vault to train, or from one to the other."""
    small = Splitter(b"secret", Splits(dev=0.1, gate=0.1, vault=0.1))
    large = Splitter(b"secret", Splits(dev=0.1, gate=0.2, vault=0.3))
    for number in range(2000):
        before = small.of("n", str(number))
        if before in (Split.GATE, Split.VAULT):
            assert large.of("n", str(number)) is before


def test_held_out_text_is_in_its_place_and_nowhere_else(home: Home, tmp_path: Path) -> None:
    """Tables and raw text have train and dev only; gate and vault lie in files of their own."""
    records = [chat(f"subject-{number:04d}-x", id=f"c{number}") for number in range(200)]
    totals = load(home, write_lines(tmp_path / "a.jsonl", records), deployment=HALF)
    gate, vault = heldout(home, "gate"), heldout(home, "vault")
    assert totals.heldout == len(gate) + len(vault)
    assert 60 < totals.heldout < 140
    assert totals.loaded == 200 - totals.heldout
    kept = {str(text) for (text,) in rows(home, "select input_text from traces")}
    out = {str(one["messages"][0]["content"]) for one in gate + vault}  # type: ignore[index]
    assert not kept & out
    assert len(kept | out) == 200
    everything = "".join(str(row) for table in TEXT_TABLES for row in rows(home, f"from {table}"))
    raw = b"".join(
        row["body"] for path in home.raw.glob("*.parquet") for row in pq.read_table(path).to_pylist()
    )
    for text in out:
        assert text not in everything
        assert text.encode() not in raw
    sides = {side for (side,) in rows(home, "select distinct split from traces")}
    assert sides == {"train", "dev"}


def test_the_same_file_is_split_the_same_way_again(home: Home, tmp_path: Path) -> None:
    """In a home with the same secret; order of lines does not matter."""
    records = [chat(f"subject {number}", session=f"s{number % 40}") for number in range(120)]
    load(home, write_lines(tmp_path / "a.jsonl", records), deployment=HALF)
    other = Home(tmp_path / "other")
    other.root.mkdir()
    (other.root / "key").write_bytes(home.key())
    load(other, write_lines(tmp_path / "b.jsonl", records[::-1]), deployment=HALF)
    question = "select input_text, split from traces order by all"
    assert rows(home, question) == rows(other, question)
    assert rows(home, question) != []


def test_a_session_stays_together(home: Home, tmp_path: Path) -> None:
    """All its traces are on one side."""
    records = [chat(f"{number}", session=f"s{number % 20}") for number in range(200)]
    load(home, write_lines(tmp_path / "a.jsonl", records), deployment=HALF)
    counts = dict(rows(home, "select conversation, count(*) from traces group by all"))
    assert 0 < len(counts) < 20
    assert set(counts.values()) == {10}


def test_feedback_follows_its_trace(home: Home, tmp_path: Path) -> None:
    """In the same batch, and in a later file, also where the trace's session decided."""
    requests = [request(number, session=f"s{number // 2}") for number in range(80)]
    together = [correction(number, "L1") for number in range(40)]
    later = [correction(number, "L1") for number in range(40, 80)]
    load(home, write_lines(tmp_path / "a.ndjson", together + requests), deployment=HALF)
    totals = load(home, write_lines(tmp_path / "b.ndjson", later), deployment=HALF)
    assert 0 < totals.heldout < 40
    assert rows(home, "select count(*) from scores anti join traces using (trace_uid)") == [(0,)]
    assert rows(home, "select count(*) from traces anti join scores using (trace_uid)") == [(0,)]
    both = heldout(home, "gate") + heldout(home, "vault")
    out = {str(one["trace_id"]) for one in both if one["schema"] == "rsi.trace/1"}
    assert out == {str(one["trace_id"]) for one in both if one["schema"] == "rsi.feedback/1"}


def test_one_document_about_several_traces_is_taken_apart(home: Home, tmp_path: Path) -> None:
    """Raw text and held-out text of an OTLP document hold each trace on its own side only."""
    spans = [
        {"traceId": f"{number + 1:032x}", "spanId": f"{number + 1:016x}", "name": f"work-{number}-x"}
        for number in range(60)
    ]
    path = tmp_path / "a.json"
    path.write_bytes(
        orjson.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}, option=orjson.OPT_INDENT_2)
    )
    totals = load(home, path, deployment=HALF)
    assert totals.read == 60
    assert 0 < totals.heldout < 60
    kept = {str(name) for (name,) in rows(home, "select name from spans")}
    out = {str(span["name"]) for span in spans} - kept
    raw = b"".join(
        row["body"] for one in home.raw.glob("*.parquet") for row in pq.read_table(one).to_pylist()
    )
    held = "".join(str(one) for one in heldout(home, "gate") + heldout(home, "vault"))
    assert all(name.encode() in raw and name not in held for name in kept)
    assert all(name.encode() not in raw and name in held for name in out)


def test_held_out_records_are_one_line_each(home: Home, tmp_path: Path) -> None:
    """Also where they were spread over several, with line ends inside their strings."""
    records = [chat(f"first line {number}\nsecond \\n line") for number in range(60)]
    path = tmp_path / "a.json"
    path.write_bytes(orjson.dumps(records, option=orjson.OPT_INDENT_2))
    totals = load(home, path, deployment=HALF)
    found = heldout(home, "gate") + heldout(home, "vault")
    assert len(found) == totals.heldout > 0
    assert all(one in records for one in found)


def test_runs_of_one_task_stay_together(home: Home, tmp_path: Path) -> None:
    """Two trials of a tau-bench task share its instruction."""
    runs = orjson.loads((SAMPLES / "tau.json").read_bytes())
    many = [{**run, "task_id": task} for task in range(30) for run in runs]
    load(home, write_lines(tmp_path / "a.jsonl", many), deployment=HALF)
    counts = {count for (count,) in rows(home, "select count(*) from traces group by task_id")}
    assert counts == {2}


def test_feedback_before_its_trace_goes_where_the_trace_goes(home: Home, tmp_path: Path) -> None:
    """The trace's session decides, also where feedback came in an earlier batch: the same rows in any order."""
    requests = [request(number, session=f"s{number // 2}") for number in range(80)]
    said = [correction(number, "L1") for number in range(80)]
    first = write_lines(tmp_path / "feedback.ndjson", said)
    then = write_lines(tmp_path / "requests.ndjson", requests)
    load(home, first, deployment=HALF)
    load(home, then, deployment=HALF)
    other = Home(tmp_path / "other")
    other.root.mkdir()
    (other.root / "key").write_bytes(home.key())
    load(other, then, deployment=HALF)
    load(other, first, deployment=HALF)
    question = "select score_uid, trace_uid from scores order by all"
    assert rows(home, question) == rows(other, question)
    held = "from trace_sides where split in ('gate', 'vault')"
    assert rows(home, f"select count(*) from scores semi join ({held}) using (trace_uid)") == [(0,)]
    assert rows(home, "select count(*) from traces anti join scores using (trace_uid)") == [(0,)]
    assert raw_texts(home) == raw_texts(other)
    assert sorted(map(str, heldout(home, "gate"))) == sorted(map(str, heldout(other, "gate")))


def test_a_document_of_which_a_trace_goes_is_read_again_once(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many traces it is about: here the store knows more than the reader did."""
    spans = [
        {"traceId": f"{number + 1:032x}", "spanId": f"{number + 1:016x}", "name": "s"} for number in range(30)
    ]
    document = {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}
    load(home, write_lines(tmp_path / "a.jsonl", [document]))
    with store_batch(home, CLOCK, "test") as connection:
        connection.execute(
            "insert into deleted_traces select trace_uid, now()::timestamp from trace_parts limit 1"
        )
    real, calls = parts.read, []

    def counted(piece: Piece, place: Place) -> object:
        calls.append(place)
        return real(piece, place)

    monkeypatch.setattr(parts, "read", counted)
    load(home, write_lines(tmp_path / "b.jsonl", [document, chat("x")]))
    assert len(calls) == 1
    ((file_id,),) = rows(home, "select file_id from ingest_files where uri like '%b.jsonl'")
    assert pq.read_table(home.raw / f"{file_id}.parquet").num_rows == 30
