"""Files into the store: counts, quarantine, idempotency, raw text, and what a crash leaves."""

import gzip
import random
from pathlib import Path

import orjson
import pyarrow.parquet as pq
import pytest

from rsi.errors import ContractError, TransientError
from rsi.ids import digest_file
from rsi.intake import Splits
from rsi.records import Origin
from rsi.settings import Deployment, Home
from rsi.store.files import write_whole
from rsi.traces import ingest as ingesting
from rsi.traces import reading
from rsi.traces.delete import Wanted, delete
from rsi.traces.ingest import Totals, ingest
from rsi.traces.pieces import taken
from tests.traces.inputs import ALL_TRAIN, CLOCK, SAMPLES, chat, correction, load, request, rows, write_lines

TABLES = ("traces", "spans", "messages", "tool_calls", "scores", "quarantine")


def content(home: Home) -> list[object]:
    """Every row of every table that ingest fills, without where it came from."""
    columns = "* exclude (ordinal, file_id, line, byte_offset)"
    return [sorted(map(str, rows(home, f"select {columns} from {table}"))) for table in TABLES]


def adds_up(totals: Totals) -> bool:
    counts = [totals, *totals.files]
    return all(one.read == one.loaded + one.duplicates + one.quarantined + one.heldout for one in counts)


def test_the_samples_load_and_the_counts_add_up(home: Home) -> None:
    """A folder is read in order of name; what was refused is counted, not fatal."""
    totals = load(home, SAMPLES)
    by_name = {Path(one.uri).name: one for one in totals.files if not one.skipped}
    assert [Path(one.uri).name for one in totals.files if one.skipped] == ["README.md"]
    assert list(by_name) == sorted(one.name for one in SAMPLES.iterdir() if taken(one))
    wanted = {
        "broken.jsonl": (15, 4, 11),
        "chat.jsonl": (10, 10, 0),
        "gateway.ndjson": (7, 7, 0),
        "otlp.json": (5, 3, 2),
        "tau.json": (2, 2, 0),
    }
    for name, counts in wanted.items():
        one = by_name[name]
        assert (one.read, one.loaded, one.quarantined) == counts, name
    assert adds_up(totals)
    sums = (totals.read, totals.loaded, totals.quarantined)
    assert rows(home, "select sum(read), sum(loaded), sum(quarantined) from ingest_files") == [sums]


def test_broken_lines_are_quarantined_with_line_offset_and_reason(home: Home) -> None:
    """Each at its place in the file, with the beginning of what stood there."""
    text = (SAMPLES / "broken.jsonl").read_bytes()
    load(home, SAMPLES / "broken.jsonl")
    found = rows(home, "select line, byte_offset, reason, excerpt from quarantine order by line")
    assert [(line, reason) for line, _, reason, _ in found] == [
        (2, "not_json"),
        (4, "not_json"),
        (5, "not_utf8"),
        (7, "unknown_format"),
        (8, "unknown_format"),
        (9, "too_deep"),
        (10, "missing_field"),
        (11, "bad_value"),
        (12, "unknown_format"),
        (13, "bad_value"),
        (16, "cut_line"),
    ]
    lines = text.split(b"\n")
    for line, offset, _, excerpt in found:
        assert isinstance(line, int)
        assert isinstance(offset, int)
        assert text[offset:].startswith(lines[line - 1])
        assert str(excerpt) == lines[line - 1][:200].decode(errors="replace")
    assert rows(home, "select input_text from traces where input_text like 'half%'") == [
        ("half \ufffd a smile, NUL \ufffd, not a number",)
    ]


def test_the_same_file_again_changes_nothing(home: Home, tmp_path: Path) -> None:
    """By content, whatever its name; not even the number of the last batch moves."""
    load(home, SAMPLES)
    before, ordinal = content(home), rows(home, "select max(ordinal), count(*) from batches")
    copy = tmp_path / "other.ndjson"
    copy.write_bytes((SAMPLES / "gateway.ndjson").read_bytes())
    totals = load(home, SAMPLES, copy)
    assert all(one.known or one.skipped for one in totals.files)
    assert totals.read == 0
    assert content(home) == before
    assert rows(home, "select max(ordinal), count(*) from batches") == ordinal


def test_a_grown_file_adds_only_what_is_new(home: Home, tmp_path: Path) -> None:
    """Old lines are duplicates, broken ones too."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(orjson.dumps(chat("one")) + b"\nnonsense\n")
    load(home, path)
    with path.open("ab") as file:
        file.write(orjson.dumps(chat("two")) + b"\n")
    totals = load(home, path)
    assert (totals.read, totals.loaded, totals.duplicates, totals.quarantined) == (3, 1, 2, 0)
    assert adds_up(totals)
    assert rows(home, "select count(*) from traces") == [(2,)]
    assert rows(home, "select count(*) from quarantine") == [(1,)]


def test_a_shuffled_file_adds_nothing(home: Home, tmp_path: Path) -> None:
    """Order of lines is no content."""
    records = [
        orjson.loads(line) for name in ("gateway.ndjson", "chat.jsonl") for line in (SAMPLES / name).open()
    ]
    load(home, write_lines(tmp_path / "a.jsonl", records))
    before = content(home)
    random.Random(7).shuffle(records)
    totals = load(home, write_lines(tmp_path / "b.jsonl", records))
    assert (totals.loaded, totals.duplicates) == (0, len(records))
    assert content(home) == before


def test_59_order_of_files_and_batches_does_not_matter(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One batch or many, forward or backward: the same rows."""
    load(home, SAMPLES)
    other = Home(tmp_path / "other")
    # Pseudonyms of users are made with the deployment's key.
    write_whole(other.root / "key", home.key())
    monkeypatch.setattr(reading, "CHUNK_RECORDS", 7)
    monkeypatch.setattr(ingesting, "BATCH_BYTES", 1)
    load(other, *sorted(SAMPLES.glob("*.json*"), reverse=True), SAMPLES / "gateway.ndjson")
    assert content(other) == content(home)


def test_a_record_twice_in_one_file_is_loaded_once(home: Home, tmp_path: Path) -> None:
    """The second is a duplicate."""
    totals = load(home, write_lines(tmp_path / "a.jsonl", [chat("same"), chat("same")]))
    assert (totals.loaded, totals.duplicates) == (1, 1)


def test_one_bad_file_never_stops_a_folder(home: Home, tmp_path: Path) -> None:
    """Binary, empty and damaged ones stand beside a good one; hidden and other names are skipped."""
    folder = tmp_path / "in"
    write_lines(folder / "z" / "good.jsonl", [chat("good")])
    write_lines(folder / ".hidden" / "a.jsonl", [chat("hidden")])
    write_lines(folder / ".b.jsonl", [chat("hidden")])
    (folder / "notes.txt").write_text("not taken")
    (folder / "empty.json").write_bytes(b"")
    (folder / "binary.json").write_bytes(bytes(range(256)))
    (folder / "damaged.jsonl.gz").write_bytes(b"\x1f\x8b" + bytes(50))
    (folder / "no.jsonl.zst").write_bytes(b"no zstd at all")
    (folder / "dangling.jsonl").symlink_to(folder / "nowhere.jsonl")
    totals = load(home, folder)
    assert totals.loaded == 1
    assert adds_up(totals)
    assert rows(home, "select uri.split('/')[-1], reason from quarantine order by all") == [
        ("binary.json", "not_json"),
        ("damaged.jsonl.gz", "cut_stream"),
        ("no.jsonl.zst", "cut_line"),
    ]


def test_a_file_that_cannot_be_read_is_tried_again(home: Home, tmp_path: Path) -> None:
    """It is refused with the reason, and not marked as read."""
    path = write_lines(tmp_path / "a.jsonl", [chat("here"), chat("and here")])
    text = path.read_bytes()
    totals = ingest(
        home, CLOCK, [path], progress=lambda *_: path.unlink(missing_ok=True), deployment=ALL_TRAIN
    )
    assert (totals.read, totals.quarantined) == (1, 1)
    assert rows(home, "select reason from quarantine") == [("unreadable",)]
    assert rows(home, "select uri, read, refusals from v_ingest_health") == [(str(path), None, 1)]
    path.write_bytes(text)
    assert load(home, path).loaded == 2


def test_a_file_that_vanishes_while_it_is_read_does_not_count_as_read(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its hash and its content."""
    path = write_lines(tmp_path / "a.jsonl", [chat("here")])
    text = path.read_bytes()

    def hashed(one: Path) -> str:
        found = digest_file(one)
        one.unlink()
        return found

    with monkeypatch.context() as patched:
        patched.setattr(ingesting, "digest_file", hashed)
        assert load(home, path).quarantined == 1
    path.write_bytes(text)
    assert load(home, path).loaded == 1


def test_an_open_segment_is_read_up_to_its_last_whole_line(home: Home, tmp_path: Path) -> None:
    """The half line waits; under its final name the rest is read."""
    first, second = (orjson.dumps(request(number)) for number in (1, 2))
    path = tmp_path / "gateway-1.ndjson.open"
    path.write_bytes(first + b"\n" + second[:40])
    totals = load(home, tmp_path)
    assert (totals.read, totals.loaded, totals.files[0].waiting) == (1, 1, True)
    path.write_bytes(first + b"\n" + second + b"\n")
    path.rename(tmp_path / "gateway-1.ndjson")
    totals = load(home, tmp_path)
    assert (totals.loaded, totals.duplicates, totals.quarantined) == (1, 1, 0)


def test_a_whole_last_line_without_its_end_is_loaded(home: Home, tmp_path: Path) -> None:
    """Of a file that nobody is writing; half a line is quarantined."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(orjson.dumps(chat("whole")))
    assert load(home, path).loaded == 1
    path.write_bytes(orjson.dumps(chat("half"))[:-5])
    assert load(home, path).quarantined == 1
    assert rows(home, "select reason from quarantine") == [("cut_line",)]


def test_gzip_and_plain_give_the_same_rows(home: Home, tmp_path: Path) -> None:
    """So that an archive of what was read adds nothing."""
    packed = tmp_path / "chat.jsonl.gz"
    packed.write_bytes(gzip.compress((SAMPLES / "chat.jsonl").read_bytes()))
    load(home, SAMPLES / "chat.jsonl")
    assert load(home, packed).duplicates == 10


def test_every_row_points_at_its_raw_text(home: Home) -> None:
    """File, line and byte offset lead to the record in the Parquet file, as it stood."""
    load(home, SAMPLES / "chat.jsonl")
    text = (SAMPLES / "chat.jsonl").read_bytes()
    ((file_id,),) = rows(home, "select file_id from ingest_files")
    raw = {row["line"]: row for row in pq.read_table(home.raw / f"{file_id}.parquet").to_pylist()}
    assert len(raw) == 10
    for line, offset, native in rows(home, "select line, byte_offset, native_id from trace_parts"):
        body = raw[line]["body"]
        assert raw[line]["byte_offset"] == offset
        assert text[int(str(offset)) :].startswith(body)
        named = orjson.loads(body)
        assert (
            native in (named.get("id"), named.get("trace_id")) or "id" not in named or named["id"] == "None"
        )


def test_spans_of_a_trace_may_come_in_any_number_of_batches(home: Home, tmp_path: Path) -> None:
    """One document, or one a span in reverse, in several files: the same trace, messages and calls."""
    document = orjson.loads((SAMPLES / "otlp.json").read_bytes())
    load(home, SAMPLES / "otlp.json")
    spans = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
    other = Home(tmp_path / "other")
    for number, span in enumerate(reversed(spans)):
        scope = {**document["resourceSpans"][0]["scopeSpans"][0], "spans": [span]}
        resource = {**document["resourceSpans"][0], "scopeSpans": [scope]}
        load(other, write_lines(tmp_path / f"{number}.jsonl", [{"resourceSpans": [resource]}]))
    questions = (
        "select trace_uid, conversation, agent, model, start_ns, end_ns, input_text, output_text, error, "
        "metadata from traces where agent = 'shop'",
        "select m.* exclude (ordinal, file_id, line, byte_offset) from messages m "
        "join traces using (trace_uid) where agent = 'shop' order by seq",
        "select c.* exclude (ordinal, file_id, line, byte_offset) from tool_calls c "
        "join traces using (trace_uid) where agent = 'shop'",
        "select c.* exclude (ordinal, file_id, line, byte_offset) from spans c join traces using (trace_uid) "
        "where agent = 'shop' order by span_uid",
    )
    for question in questions:
        assert rows(other, question) == rows(home, question)
    assert rows(other, "select parts from traces") == [(4,)]


def test_a_night_sees_what_was_there(home: Home, tmp_path: Path) -> None:
    """What comes later does not change the rows up to an earlier batch, not even of the same trace."""

    def asked(number: int, text: str) -> dict[str, object]:
        message = {"role": "user", "content": text}
        return {"trace_id": "t", "timestamp": 1_760_000_000 + number, "request": {"messages": [message]}}

    load(home, write_lines(tmp_path / "a.jsonl", [asked(5, "later")]))
    before = rows(home, "from traces_until(1)")
    load(home, write_lines(tmp_path / "b.jsonl", [asked(1, "earlier")]))
    assert rows(home, "from traces_until(1)") == before
    assert rows(home, "select input_text from traces") == [("earlier",)]


def test_an_interrupted_ingest_is_finished_by_the_next(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches that were committed stay; the file counts as read only at its end."""
    monkeypatch.setattr(reading, "CHUNK_RECORDS", 3)
    monkeypatch.setattr(ingesting, "BATCH_BYTES", 1)
    records = [chat(str(number)) for number in range(10)]
    path = write_lines(tmp_path / "a.jsonl", records)
    real, calls = ingesting.load, []

    def dies(*arguments: object) -> object:
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(ingesting, "load", dies)
    with pytest.raises(KeyboardInterrupt):
        load(home, path)
    assert rows(home, "select count(*) from traces") == [(6,)]
    assert rows(home, "select count(*) from ingest_files") == [(0,)]
    assert not list(home.raw.glob(".*")), "drafts of raw text are removed"
    totals = load(home, path)
    assert (totals.loaded, totals.duplicates) == (4, 6)
    ((file_id,),) = rows(home, "select file_id from ingest_files")
    assert pq.read_table(home.raw / f"{file_id}.parquet").num_rows == 10


def test_two_ingests_at_once_load_everything_once(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that comes second finds what the first has loaded, in the middle of a file and at its end."""
    monkeypatch.setattr(reading, "CHUNK_RECORDS", 4)
    monkeypatch.setattr(ingesting, "BATCH_BYTES", 1)
    path = write_lines(tmp_path / "a.jsonl", [chat(str(number)) for number in range(10)])
    inner: list[Totals] = []

    def meanwhile(what: str, done: int, total: int, note: str = "") -> None:
        if not inner:
            inner.append(load(home, path))

    outer = ingest(home, CLOCK, [path], progress=meanwhile, deployment=ALL_TRAIN)
    assert (inner[0].loaded, outer.loaded, outer.duplicates) == (10, 0, 10)
    assert rows(home, "select count(*), sum(loaded) from ingest_files") == [(1, 10)]
    assert rows(home, "select count(*), count(distinct trace_uid) from traces") == [(10, 10)]


def test_origin_namespace_and_progress(home: Home, tmp_path: Path) -> None:
    """What whoever ingests says goes to the rows; progress names what came of the work."""
    said: list[tuple[str, int, int, str]] = []
    path = write_lines(tmp_path / "a.jsonl", [chat("x"), {"odd": 1}])
    ingest(
        home,
        CLOCK,
        [path],
        origin=Origin.DEMO,
        namespace="elsewhere",
        progress=lambda what, done, total, note="": said.append((what, done, total, note)),
        deployment=ALL_TRAIN,
    )
    assert rows(home, "select namespace, origin from traces") == [("elsewhere", "demo")]
    assert (said[0], said[-1]) == (("ingest", 0, 1, ""), ("ingest", 1, 1, "1 loaded, 1 quarantined"))


def test_another_origin_makes_no_other_traces(home: Home, tmp_path: Path) -> None:
    """Who caused a trace is decided when it first comes."""
    load(home, write_lines(tmp_path / "a.jsonl", [chat("x")]), origin=Origin.DEMO)
    totals = load(home, write_lines(tmp_path / "b.jsonl", [chat("x"), chat("y")]))
    assert (totals.loaded, totals.duplicates) == (1, 1)
    assert rows(home, "select input_text, origin, parts from traces order by 1") == [
        ("x", "demo", 1),
        ("y", "traffic", 1),
    ]


def test_the_same_file_in_another_namespace_is_other_traces(home: Home, tmp_path: Path) -> None:
    """Ids are unique within a namespace."""
    path = write_lines(tmp_path / "a.jsonl", [chat("x")])
    for namespace in ("one", "two"):
        ingest(home, CLOCK, [path], namespace=namespace, deployment=ALL_TRAIN)
    assert rows(home, "select count(distinct trace_uid) from traces") == [(2,)]


def test_what_cannot_be_ingested_is_said_before_anything_is_done(home: Home, tmp_path: Path) -> None:
    """A missing path, a kind of file that is not read, a home without a deployment."""
    odd = tmp_path / "a.csv"
    odd.write_text("a,b")
    with pytest.raises(ContractError, match="no such file"):
        load(home, tmp_path / "nowhere.jsonl")
    with pytest.raises(ContractError, match=r"expected a name ending in \.json"):
        load(home, odd)
    with pytest.raises(ContractError, match="rsi init"):
        ingest(home, CLOCK, [SAMPLES / "chat.jsonl"])
    assert not home.store.exists()


def test_shares_that_leave_nothing_are_refused(home: Home) -> None:
    """Before anything is read."""
    greedy = Deployment(split=Splits(dev=0.2, gate=0.4, vault=0.4))
    with pytest.raises(ContractError, match="add up to 1"):
        load(home, SAMPLES, deployment=greedy)


def test_feedback_may_come_before_its_trace(home: Home, tmp_path: Path) -> None:
    """The score waits in its table and counts when the trace is there."""
    load(home, write_lines(tmp_path / "a.ndjson", [correction(1, "L2")]))
    assert rows(home, "select count(*) from v_outcomes") == [(0,)]
    load(home, write_lines(tmp_path / "b.ndjson", [request(1)]))
    assert rows(home, "select outcome, rule, score_name from v_outcomes") == [
        ("fail", "route score", "route")
    ]


def test_another_bad_record_in_the_same_place_is_another_refusal(home: Home, tmp_path: Path) -> None:
    """A file that was written anew, or standard input, has the same name and other content."""
    for number in range(2):
        totals = load(home, write_lines(tmp_path / "a.jsonl", [{"odd": number}]))
        assert (totals.quarantined, totals.duplicates) == (1, 0)
    assert len(rows(home, "select distinct file_id from v_quarantine")) == 2


def test_a_deletion_in_the_middle_of_an_ingest_leaves_no_text(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ingest stops without naming what it has drafted; run again, it writes the rest without it."""
    monkeypatch.setattr(reading, "CHUNK_RECORDS", 3)
    monkeypatch.setattr(ingesting, "BATCH_BYTES", 1)
    path = write_lines(tmp_path / "a.ndjson", [request(number, session=f"s{number}") for number in range(9)])
    done: list[int] = []

    def meanwhile(what: str, at: int, total: int, note: str = "") -> None:
        if note and not done:
            done.append(delete(home, CLOCK, Wanted(conversation="s1"), "me", deployment=ALL_TRAIN).traces)

    with pytest.raises(TransientError, match="deleted meanwhile"):
        ingest(home, CLOCK, [path], progress=meanwhile, deployment=ALL_TRAIN)
    assert done == [1]
    assert not [one for one in home.raw.iterdir() if one.is_file()]
    load(home, path)
    ((file_id,),) = rows(home, "select file_id from ingest_files")
    bodies = [one["body"] for one in pq.read_table(home.raw / f"{file_id}.parquet").to_pylist()]
    assert len(bodies) == 8
    assert not any(b"request 1" in body for body in bodies)
