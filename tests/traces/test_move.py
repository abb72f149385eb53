"""Traces whose session comes late: they end where they would have been, in whatever order their parts came."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import orjson
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rsi.context import Start
from rsi.errors import TransientError
from rsi.intake import Splits
from rsi.records import Split
from rsi.settings import PROJECT, Deployment, Home
from rsi.store.ledger import Ledger
from rsi.store.snapshot import open_snapshot, refresh
from rsi.traces import detect
from rsi.traces import ingest as ingesting
from rsi.traces.delete import Wanted, delete
from rsi.traces.ingest import ingest
from rsi.traces.rows import Place, Rows
from rsi.traces.split import Splitter
from rsi.traces.values import Piece
from tests.traces.inputs import CLOCK, correction, load, request, rows, write_lines

SHARES = Splits(dev=0.1, gate=0.3, vault=0.3)
PARTED = Deployment(split=SHARES)
SPLITTER = Splitter(b"secret", SHARES)
TABLES = ("traces", "spans", "messages", "tool_calls", "scores", "outcomes", "span_links", "trace_sides")
PLACES = ("ordinal", "file_id", "line", "byte_offset")


def named(side: Split, skip: int = 0) -> str:
    """A trace id, or a session, of that side."""
    found = (
        f"{number:032x}" for number in range(1, 1000) if SPLITTER.of("default", f"{number:032x}") is side
    )
    return [next(found) for _ in range(skip + 1)][-1]


HIDDEN = named(Split.TRAIN)
"""A trace that its session sends from train to gate."""
SHOWN = named(Split.GATE)
"""One that its session sends from gate to train."""
FARTHER = named(Split.GATE, 1)
"""One that its session sends from gate to vault."""
NEAR = named(Split.TRAIN, 1)
"""One that its session sends from train to dev."""
MATE = named(Split.TRAIN, 2)
"""One of the same conversation as `HIDDEN`, which says so at once."""
TORN = named(Split.TRAIN, 3)
"""One of which two parts name two sessions."""
CALLED = int(named(Split.TRAIN, 4), 16)
"""A call of the gateway with feedback, whose session is of the gate."""


def talk(side: Split) -> str:
    """A session of that side."""
    return next(
        f"talk-{number}" for number in range(1000) if SPLITTER.of("default", f"talk-{number}") is side
    )


def span(trace: str, number: int, session: str | None = None) -> dict[str, object]:
    said = orjson.dumps([{"role": "user", "parts": [{"type": "text", "content": f"words-{trace}-{number}"}]}])
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": said.decode()}
    if session is not None:
        attributes["gen_ai.conversation.id"] = session
    return {
        "traceId": trace, "spanId": f"{trace[-12:]}{number:04x}", "name": f"chat {number}",
        "startTimeUnixNano": str(1_700_000_000_000_000_000 + number),
        "endTimeUnixNano": str(1_700_000_001_000_000_000 + number),
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
        **({"parentSpanId": f"{trace[-12:]}{0:04x}"} if number else {}),
    }  # fmt: skip


def document(*spans: object) -> dict[str, object]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


ROOTS = [
    document(span(HIDDEN, 0, talk(Split.GATE)), span(NEAR, 0, talk(Split.DEV))),
    document(span(SHOWN, 0, talk(Split.TRAIN))),
    document(span(FARTHER, 0, talk(Split.VAULT))),
    document(span(TORN, 0, talk(Split.TRAIN))),
    request(CALLED, session=talk(Split.GATE)),
]
CHILDREN = [
    document(span(HIDDEN, 1)),
    document(span(HIDDEN, 2), span(SHOWN, 1), span(NEAR, 1), {"name": "nameless"}),
    document(span(SHOWN, 2), span(FARTHER, 1)),
    document(span(MATE, 1, talk(Split.GATE))),
    document(span(TORN, 1, talk(Split.VAULT)), span(TORN, 2)),
    correction(CALLED, "L1", comment="words of a judge"),
    document(span(HIDDEN, 1)),
]
RECORDS = [*ROOTS, *CHILDREN]


def made(path: Path) -> Home:
    path.mkdir()
    (path / "key").write_bytes(b"secret")
    return Home(path)


def heldout(home: Home) -> dict[str, list[bytes]]:
    """Records by side."""
    return {
        side.value: sorted(
            line for path in (home.heldout / side).glob("*.ndjson") for line in path.read_bytes().splitlines()
        )
        for side in (Split.GATE, Split.VAULT)
    }


def raw_text(home: Home) -> list[tuple[str, object]]:
    """What raw text says of each trace, whether its records are whole or in parts."""
    found: list[tuple[str, object]] = []
    for path in home.raw.glob("*.parquet"):
        for row in pq.read_table(path).to_pylist():
            place = Place("default", None, "", row["line"], row["byte_offset"])
            _, ones = detect.read(Piece(row["line"], row["byte_offset"], row["body"]), place)
            parts = [(one.trace_uid, one.part or row["body"]) for one in ones if isinstance(one, Rows)]
            found += [(uid, str(orjson.loads(part))) for uid, part in parts]
    return sorted(found, key=str)


def content(home: Home) -> list[object]:
    """All that must not depend on the order, but for where it came from."""
    tables = [
        sorted(map(str, rows(home, f"select columns(lambda c: c not in {PLACES}) from {table}")))
        for table in TABLES
    ]
    refused = rows(home, "select reason, detail, excerpt from quarantine order by all")
    texts = rows(home, "select trace_uid, place, count(*) from trace_texts group by all order by all")
    left = rows(home, "from moving_traces")
    return [*tables, refused, texts, left, heldout(home), raw_text(home)]


def loaded(home: Home, files: Sequence[Path]) -> list[ingesting.Totals]:
    return [load(home, path, deployment=PARTED) for path in files]


@pytest.fixture(scope="module")
def wanted(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    """What stands in a home that reads every root first, in one batch."""
    folder = tmp_path_factory.mktemp("wanted")
    home = made(folder / "home")
    (totals,) = loaded(home, [write_lines(folder / "a.ndjson", RECORDS)])
    assert (totals.moved, totals.stayed) == (0, 0)
    splits = rows(home, "select split, count(*) from trace_sides group by all order by all")
    assert splits == [("dev", 1), ("gate", 3), ("train", 1), ("vault", 2)]
    assert len(rows(home, "from quarantine")) == 1
    return content(home)


@settings(max_examples=4)
@given(
    order=st.permutations(range(len(RECORDS))),
    cuts=st.sets(st.integers(1, len(RECORDS) - 1), max_size=4),
    small=st.booleans(),
)
def test_order_and_files_do_not_matter(
    wanted: list[object], order: list[int], cuts: set[int], small: bool
) -> None:
    """Whatever comes first, in one file or several, in one batch or many: the same rows and texts on the same sides."""
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patched:
        if small:
            patched.setattr("rsi.traces.reading.CHUNK_RECORDS", 1)
            patched.setattr(ingesting, "BATCH_BYTES", 1)
        bounds = [0, *sorted(cuts), len(RECORDS)]
        files = [
            write_lines(Path(name) / f"{number}.ndjson", [RECORDS[at] for at in order[low:high]])
            for number, (low, high) in enumerate(pairwise(bounds))
        ]
        home = made(Path(name) / "home")
        loaded(home, files)
        assert content(home) == wanted


def test_children_first(tmp_path: Path, wanted: list[object]) -> None:
    """The order that exporters make: each trace that was on another side is told, and no word of it is left there."""
    home = made(tmp_path / "home")
    children, roots = write_lines(tmp_path / "a.ndjson", CHILDREN), write_lines(tmp_path / "b.ndjson", ROOTS)
    loaded(home, [children])
    refresh(home, CLOCK)
    (totals,) = loaded(home, [roots])

    assert content(home) == wanted
    assert (totals.moved, totals.stayed) == (5, 0)
    assert rows(home, "select from_split, to_split, fate from split_moves order by all") == [
        ("gate", "train", "moved"), ("gate", "vault", "moved"), ("train", "dev", "moved"), ("train", "gate", "moved"),
        ("train", "gate", "moved"),
    ]  # fmt: skip
    for hidden in (f"words-{HIDDEN}", "words of a judge"):
        assert hidden not in str(raw_text(home))
        assert hidden in str(heldout(home)["gate"])
    with open_snapshot(home) as connection:
        seen = connection.execute("select native_id from traces order by all").fetchall()
        assert connection.execute("select count(*) from scores").fetchall() == [(0,)]
    assert (HIDDEN,) not in seen
    assert loaded(home, [children, roots])[1].moved == 0


def test_rows_that_come_back_point_at_their_text(tmp_path: Path) -> None:
    """File, line and byte offset are those of the input, which held-out text does not tell."""
    home = made(tmp_path / "home")
    records = [document(span(SHOWN, number)) for number in range(1, 5)]
    path = write_lines(tmp_path / "a.ndjson", [document(span(MATE, 1, talk(Split.GATE))), *records])
    loaded(home, [path, write_lines(tmp_path / "b.ndjson", ROOTS)])
    text = path.read_bytes()
    found = rows(
        home, "select s.file_id, line, byte_offset, name from span_parts s join ingest_files f using (file_id) "
        "where uri like '%a.ndjson' order by line",
    )  # fmt: skip
    assert [(line, name) for _, line, _, name in found] == [
        (number + 1, f"chat {number}") for number in range(1, 5)
    ]
    kept = {row["byte_offset"]: row for row in pq.read_table(home.raw / f"{found[0][0]}.parquet").to_pylist()}
    for _, line, offset, _ in found:
        row = kept[offset]
        assert (row["line"], row["whole"]) == (line, True)
        assert text[int(str(offset)) :].startswith(row["body"] + b"\n")


def begun(home: Home, ordinal: int) -> None:
    """A night that fixed its input."""
    start = Start(night="2026-01-01", champion="v", ordinal=ordinal, deployment="d", previous=None)
    Ledger(home.ledger, CLOCK).append("night", night=start.night, body=start.model_dump())


def test_what_a_night_may_have_read_stays_and_is_told(tmp_path: Path) -> None:
    """It stays for good, with what comes later; what goes the other way may go."""
    home = made(tmp_path / "home")
    loaded(home, [write_lines(tmp_path / "a.ndjson", CHILDREN)])
    begun(home, 1)
    (totals,) = loaded(home, [write_lines(tmp_path / "b.ndjson", ROOTS)])

    # Of the gateway's call the night had feedback only, which nobody reads without its trace.
    assert (totals.moved, totals.stayed) == (3, 2)
    assert rows(home, "select to_split from split_moves where fate = 'read_by_night' order by all") == [
        ("dev",), ("gate",)
    ]  # fmt: skip
    sides = dict(rows(home, "select right(native_id, 4), split from traces"))
    assert sides == {HIDDEN[-4:]: "train", NEAR[-4:]: "train", SHOWN[-4:]: "train"}
    assert f"words-{HIDDEN}" not in str(heldout(home))
    assert f"words-{HIDDEN}-0" in str(raw_text(home))
    with_more = write_lines(tmp_path / "c.ndjson", [document(span(HIDDEN, 3, talk(Split.GATE)))])
    (totals,) = loaded(home, [with_more])
    assert (totals.loaded, totals.moved, totals.stayed) == (1, 0, 0)


def test_what_came_after_the_night_moves(tmp_path: Path) -> None:
    """The bound is the batch that the night fixed."""
    home = made(tmp_path / "home")
    loaded(home, [write_lines(tmp_path / "a.ndjson", [request(1, session=talk(Split.TRAIN))])])
    begun(home, 1)
    loaded(home, [write_lines(tmp_path / "b.ndjson", CHILDREN)])
    (totals,) = loaded(home, [write_lines(tmp_path / "c.ndjson", ROOTS)])
    assert (totals.moved, totals.stayed) == (5, 0)


KILLED = """
import sys
from pathlib import Path
from rsi.settings import Home
from tests.traces.test_move import loaded
loaded(Home(Path(sys.argv[1])), [Path(sys.argv[2])])
"""


@pytest.mark.parametrize(
    "point",
    [
        "move.after_decision", "move.after_copy", "move.after_removal", "move.after_removal#2", "move.after_load",
    ],
)  # fmt: skip
def test_a_killed_move_goes_on(tmp_path: Path, wanted: list[object], point: str) -> None:
    """With the next ingest, whatever that reads; no draft of a text is left."""
    home = made(tmp_path / "home")
    first, second = (write_lines(tmp_path / f"{n}.ndjson", CHILDREN[n::2]) for n in (0, 1))
    loaded(home, [first, second])
    roots = write_lines(tmp_path / "roots.ndjson", ROOTS)
    command = [sys.executable, "-c", KILLED, str(home.root), str(roots)]
    killed = subprocess.run(command, env={**os.environ, "RSI_FAULT": point}, cwd=PROJECT, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert content(home) != wanted

    loaded(home, [first])

    assert content(home) == wanted
    assert not [path for path in home.root.rglob(".*") if path.is_file()]


def test_a_moved_trace_is_deleted_as_any_other(tmp_path: Path) -> None:
    """By its conversation, which only its held-out text tells."""
    home = made(tmp_path / "home")
    loaded(home, [write_lines(tmp_path / "a.ndjson", CHILDREN), write_lines(tmp_path / "b.ndjson", ROOTS)])

    done = delete(home, CLOCK, Wanted(conversation=talk(Split.GATE)), "the officer", deployment=PARTED)

    assert (done.traces, done.heldout) == (3, 3)
    for path in (one for one in home.root.rglob("*") if one.is_file()):
        assert f"words-{HIDDEN}".encode() not in path.read_bytes(), path
    assert f"words-{HIDDEN}" not in str(raw_text(home))
    assert rows(home, "select count(*) from trace_texts semi join deleted_traces using (trace_uid)") == [(0,)]
    assert rows(home, "select count(*) from split_moves") == [(3,)]


def test_an_ingest_whose_drafts_hold_what_moves_meanwhile_is_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: list[object]
) -> None:
    """It names none of them, and says so."""
    home = made(tmp_path / "home")
    monkeypatch.setattr("rsi.traces.reading.CHUNK_RECORDS", 3)
    monkeypatch.setattr(ingesting, "BATCH_BYTES", 1)
    children, roots = write_lines(tmp_path / "a.ndjson", CHILDREN), write_lines(tmp_path / "b.ndjson", ROOTS)
    inner: list[int] = []

    def meanwhile(what: str, done: int, total: int, note: str = "") -> None:
        if note and not inner:
            inner.append(0)
            inner.append(loaded(home, [roots])[0].moved)

    with pytest.raises(TransientError, match="moved to another side"):
        ingest(home, CLOCK, [children], progress=meanwhile, deployment=PARTED)
    assert inner[1] > 0
    assert f"words-{HIDDEN}" not in str(raw_text(home))
    loaded(home, [children])
    assert content(home) == wanted
