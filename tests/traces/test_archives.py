"""Inspect logs in zip files: the same traces as in JSON, whatever state the file is in."""

import zipfile
from pathlib import Path

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rsi.settings import Home
from rsi.traces import archives
from rsi.traces.detect import read
from rsi.traces.pieces import MAX_RECORD, pieces, taken
from rsi.traces.rows import JsonObject, Place, Reason, Rows
from rsi.traces.values import Flaw, Piece
from tests.traces.inputs import SHARED, load, rows
from tests.traces.mutated import records, sample

HERE = Place("default", None, "file", 1, 0)
LOG, CANCELLED = sample("inspect_ai.json")
FOLDER = SHARED / "inspect_ai"


def members(log: JsonObject) -> dict[str, bytes]:
    """A finished log as it lies in a zip file."""
    found: dict[str, object] = {"_journal/start.json": {key: log[key] for key in ("version", "eval", "plan")}}
    for one in log["samples"]:
        found[f"samples/{one['id']}_epoch_{one['epoch']}.json"] = one
    thin = [
        {key: one.get(key) for key in ("id", "epoch", "uuid", "input", "target", "scores")}
        for one in log["samples"]
    ]
    found["_journal/summaries/1.json"] = found["summaries.json"] = thin
    found["reductions.json"] = []
    found["header.json"] = {key: value for key, value in log.items() if key != "samples"}
    return {name: orjson.dumps(value, option=orjson.OPT_INDENT_2) for name, value in found.items()}


def written(path: Path, found: dict[str, bytes]) -> Path:
    """A file of these members."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in found.items():
            archive.writestr(name, body)
    return path


def traces(path: Path) -> list[Rows]:
    """What the readers make of a file."""
    return [
        one
        for piece in pieces(path)
        if isinstance(piece, Piece)
        for one in read(piece, HERE)[1]
        if isinstance(one, Rows)
    ]


def flaws(path: Path) -> list[Reason]:
    return [one.reason for one in pieces(path) if isinstance(one, Flaw)]


def bare(found: list[Rows]) -> list[tuple[object, ...]]:
    """Rows without the text that they came from."""
    return [(one.trace, one.spans, one.messages, one.tool_calls, one.scores, one.session) for one in found]


@pytest.mark.parametrize("name", ["log.eval", "renamed.json"])
def test_a_log_in_a_zip_file_is_the_log(tmp_path: Path, name: str) -> None:
    """The same rows as of the JSON log, whatever the file's name; each sample a record of its own."""
    path = written(tmp_path / name, members(LOG))
    (tmp_path / "log.json").write_bytes(orjson.dumps(LOG))
    assert taken(path)
    assert bare(traces(path)) == bare(traces(tmp_path / "log.json"))
    found = list(pieces(path))
    assert [one.line for one in found if isinstance(one, Piece)] == [1, 2]
    assert len({one.byte_offset for one in found if isinstance(one, Piece)}) == 2


def test_a_zip_file_in_the_store(home: Home, tmp_path: Path) -> None:
    """Every sample is counted, beside what was damaged; the same log in JSON adds nothing to say."""
    found = members(CANCELLED)
    found["samples/4_epoch_1.json"] = b"{"
    totals = load(home, written(tmp_path / "log.eval", found))
    assert (totals.read, totals.loaded, totals.quarantined) == (3, 2, 1)
    assert rows(home, "select native_id, error from traces order by all") == [
        ("sample-uuid-3", "The shears broke."),
        ("sample-uuid-5", "the run was cancelled"),
    ]
    (tmp_path / "log.json").write_bytes(orjson.dumps(CANCELLED))
    load(home, tmp_path / "log.json")
    assert rows(home, "select count(*), max(parts) from traces") == [(3, 1)]


def test_a_header_goes_with_every_sample_but_stays_small(tmp_path: Path) -> None:
    """Results, ids of the whole data set and whatever is long stay out of it."""
    log = {**LOG, "eval": {**LOG["eval"], "metadata": {"long": "x" * 100_000}}}
    log["eval"]["dataset"] = {"name": "beds", "sample_ids": list(range(50_000))}
    path = written(tmp_path / "log.eval", members(log))
    first = orjson.loads(next(one.body for one in pieces(path) if isinstance(one, Piece)))
    assert first["eval"]["dataset"] == {"name": "beds"}
    assert not {"results", "stats", "reductions"} & first.keys()
    assert "metadata" not in first["eval"]
    assert len(first["samples"]) == 1


def test_a_log_whose_run_was_killed(tmp_path: Path) -> None:
    """It has a start, the samples so far, and summaries of those that were not kept."""
    found = members(CANCELLED)
    for name in (
        "header.json",
        "summaries.json",
        "reductions.json",
        "samples/4_epoch_1.json",
        "samples/5_epoch_1.json",
    ):
        del found[name]
    path = written(tmp_path / "log.eval", found)
    assert len({one.byte_offset for one in pieces(path) if isinstance(one, Piece)}) == 3
    rows = {one.native: one for one in traces(path)}
    assert sorted(rows) == ["sample-uuid-3", "sample-uuid-4", "sample-uuid-5"]
    kept = rows["sample-uuid-4"]
    assert [one.content for one in kept.messages] == ["Dig."]
    assert [(one.name, one.value) for one in kept.scores] == [("dug", 0.0)]
    whole = {one.native: one for one in traces(written(tmp_path / "whole.eval", members(CANCELLED)))}
    assert kept.trace_uid == whole["sample-uuid-4"].trace_uid
    assert kept.scores[0].score_uid == whole["sample-uuid-4"].scores[0].score_uid


def test_the_oldest_layout(tmp_path: Path) -> None:
    """Start and results at the top."""
    found = {name: body for name, body in members(LOG).items() if name.startswith("samples/")}
    found["start.json"] = orjson.dumps({key: LOG[key] for key in ("version", "eval", "plan")})
    found["results.json"] = orjson.dumps({"status": "error", "error": {"message": "out of water"}})
    (first, *_) = pieces(written(tmp_path / "log.eval", found))
    assert isinstance(first, Piece)
    record = orjson.loads(first.body)
    assert (record["status"], record["error"], record["eval"]["task"]) == (
        "error",
        {"message": "out of water"},
        "garden",
    )


def in_pieces(sample_: JsonObject) -> dict[str, bytes]:
    """A sample as newer logs may keep it: two items a piece, attachments by their number."""
    prefix = f"samples/{sample_['id']}_epoch_{sample_['epoch']}"
    text = orjson.dumps(
        {
            key: value
            for key, value in sample_.items()
            if key not in ("messages", "attachments", "events_data")
        }
    )
    for number, name in enumerate(sample_["attachments"]):
        text = text.replace(f"attachment://{name}".encode(), f"attachment://{number}".encode())
    shell = orjson.loads(text)
    sequences = {
        "messages": sample_["messages"],
        "events": shell.pop("events"),
        "attachments": [*sample_["attachments"].values()],
    }
    found = {
        "sample.json": {**shell, "message_refs": [[0, 2], [2, 6]]},
        "metadata.json": shell.pop("metadata"),
    }
    found |= {"events/stats.json": {"model": 2}, "skeleton.json": {}}
    for sequence, items in sequences.items():
        found |= {f"{sequence}/{at}.json": items[at : at + 2] for at in range(0, len(items), 2)}
    return {f"{prefix}/{name}": orjson.dumps(value) for name, value in found.items()}


def test_samples_in_pieces(tmp_path: Path) -> None:
    """The same rows, beside a sample in one piece; what is made from the pieces is no record."""
    first, second = LOG["samples"]
    found = members(LOG)
    del found["samples/tulips_epoch_1.json"]
    found |= in_pieces(first)
    (tmp_path / "log.json").write_bytes(orjson.dumps({**LOG, "samples": [second, first]}))
    path = written(tmp_path / "log.eval", found)
    assert flaws(path) == []
    assert bare(traces(path)) == bare(traces(tmp_path / "log.json"))
    found["samples/tulips_epoch_1/events/4.json"] = b"[{"
    assert flaws(written(path, found)) == [Reason.NOT_JSON]
    del found["samples/tulips_epoch_1/events/4.json"]
    found["samples/tulips_epoch_1/metadata.json"] = b"5"
    assert flaws(written(path, found)) == [Reason.NOT_JSON]


def test_a_log_without_samples_is_one_record(tmp_path: Path) -> None:
    """Which the reader refuses, so that the file is accounted for."""
    path = written(tmp_path / "log.eval", members({**LOG, "samples": []}))
    (piece,) = pieces(path)
    assert isinstance(piece, Piece)
    (refused,) = read(piece, HERE)[1]
    assert not isinstance(refused, Rows)
    assert refused.reason is Reason.MISSING_FIELD


def test_damaged_samples_and_header_cost_only_themselves(tmp_path: Path) -> None:
    """Each is a flaw; the other samples are read, without a header as well."""
    found = members(CANCELLED)
    found["samples/3_epoch_2.json"] = b'{"id": 3, "epoch": 2'
    found["samples/4_epoch_1.json"] = b"\x00" * (MAX_RECORD + 1)
    found["header.json"] = b"[]"
    path = written(tmp_path / "log.eval", found)
    assert flaws(path) == [Reason.NOT_JSON, Reason.NOT_JSON, Reason.TOO_LARGE]
    assert [one.native for one in traces(path)] == ["sample-uuid-5"]


def test_a_cut_log_keeps_what_was_whole(tmp_path: Path) -> None:
    """The start of a log stands at its front, the directory at its end."""
    path = written(tmp_path / "log.eval", members(CANCELLED))
    data = path.read_bytes()
    path.write_bytes(data[: data.index(b"samples/5_epoch_1.json") + 60])
    assert [one.native for one in traces(path)] == ["sample-uuid-3", "sample-uuid-4"]
    assert flaws(path) == [Reason.CUT_STREAM, Reason.CUT_STREAM]


def test_other_zip_files_are_named_as_such(tmp_path: Path) -> None:
    """Also an empty one; nothing of them is unpacked."""
    for found in ({"../../evil.json": b"{}"}, {}):
        path = written(tmp_path / "other.json", found)
        (flaw,) = pieces(path)
        assert isinstance(flaw, Flaw)
        assert flaw.reason is Reason.UNKNOWN_FORMAT
        assert "unpack it first" in flaw.detail
    assert [one.name for one in tmp_path.iterdir()] == ["other.json"]


def test_hostile_names(tmp_path: Path) -> None:
    """A sample may be called anything: names are compared and shown, nothing else."""
    names = ["samples/../../x_epoch_1.json", "samples/a\nb_epoch_1.json", f"samples/{'n' * 60_000}_epoch_1.json",
             "samples/ä/b_epoch_2.json"]  # fmt: skip
    found = {**members({**LOG, "samples": []}), **dict.fromkeys(names, b"not json")}
    path = written(tmp_path / "log.eval", found)
    told = [one for one in pieces(path) if isinstance(one, Flaw)]
    assert len(told) == 4
    assert all(len(one.detail) < 300 and "\n" not in one.detail for one in told)


def test_an_archive_that_unpacks_to_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each member is within bounds, all together are not: the rest is refused."""
    monkeypatch.setattr(archives, "_LEAST_BUDGET", 20_000)
    monkeypatch.setattr(archives, "_RATIO", 1)
    body = b'{"id": 1, "epoch": 1, "input": "' + b"x" * 9_000 + b'", "target": ""}'
    found = {f"samples/{number}_epoch_1.json": body for number in range(5)}
    path = written(tmp_path / "log.eval", found)
    assert flaws(path) == [Reason.TOO_LARGE, Reason.TOO_LARGE]
    assert len(traces(path)) == 3


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=20), st.floats(0, 1))
def test_a_log_with_changed_bytes(tmp_path: Path, changes: list[tuple[float, int]], cut: float) -> None:
    """Nothing raises, whatever bytes are changed and wherever the file ends."""
    data = bytearray(written(tmp_path / "whole.eval", members(CANCELLED)).read_bytes())
    for at, byte in changes:
        data[int(at * (len(data) - 1))] = byte
    path = tmp_path / "damaged.eval"
    path.write_bytes(data[: 4 + int(cut * len(data))])
    for piece in pieces(path):
        if isinstance(piece, Piece):
            read(piece, HERE)


@pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no shared trace files {FOLDER}")
def test_recorded_logs_packed(tmp_path: Path) -> None:
    """Recorded logs give the same rows from a zip file; recorded zip files give a trace a sample."""
    for path in sorted(FOLDER.glob("*.json")):
        (log,) = records(path)
        if log["samples"]:
            target = written(tmp_path / f"{path.stem}.eval", members(log))
            assert bare(traces(target)) == bare(traces(path))
    for path in sorted(FOLDER.glob("*.eval")):
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.startswith("samples/")]
        assert len(traces(path)) == len(names)
        assert flaws(path) == []
