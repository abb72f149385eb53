"""Deleting a person's, a conversation's or a period's traces."""

import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rsi.errors import ContractError
from rsi.ids import digest_file
from rsi.intake import Splits
from rsi.settings import PROJECT, Deployment, Home
from rsi.store.database import store_batch
from rsi.store.ledger import Ledger
from rsi.store.snapshot import open_snapshot
from rsi.traces.delete import Deleted, Wanted, delete
from rsi.traces.ingest import ingest
from rsi.traces.redact import Redactor
from rsi.traces.spool import Spool
from tests.traces.inputs import ALL_TRAIN, CLOCK, correction, load, request, rows, write_lines

SECRET = "wordsofadathatmustgo"
OTHER = "wordsofbobthatstay"
YEAR_NS = 365 * 24 * 3600 * 10**9


def ada(number: int, **more: object) -> dict[str, object]:
    text = [{"role": "user", "content": f"{SECRET} {number}"}]
    return request(number, **{"user": "ada@example.com", "session": "talk-a", "messages": text, **more})


def bob(number: int, **more: object) -> dict[str, object]:
    text = [{"role": "user", "content": f"{OTHER} {number}"}]
    return request(number, **{"user": "bob", "session": "talk-b", "messages": text, **more})


@pytest.fixture
def both(home: Home) -> Home:
    """Traces of two people in the inbox and in the store; feedback, and copies of one record in another file."""
    write_lines(home.inbox / "one.ndjson", [ada(1), bob(2), ada(3), correction(1, "L2", comment=SECRET)])
    write_lines(home.inbox / "two.ndjson", [bob(4), ada(1)])
    load(home, home.inbox)
    Deployment(split=ALL_TRAIN.split).write(home.deployment_file)
    return home


def forget(home: Home, **wanted: object) -> Deleted:
    return delete(home, CLOCK, Wanted(**wanted), "the officer", deployment=ALL_TRAIN)  # type: ignore[arg-type]


def everywhere(home: Home, text: str) -> list[str]:
    """Files of the home that hold a text, raw text unpacked; those of Parquet are compressed."""
    found = []
    for path in sorted(home.root.rglob("*")):
        if path.is_file():
            body = path.read_bytes()
            if path.suffix == ".parquet":
                body = orjson.dumps(pq.read_table(path).to_pydict(), default=lambda one: one.decode())
            found += [path.name] if text.encode() in body else []
    return found


@pytest.mark.parametrize(
    "wanted", [{"user": "ada@example.com"}, {"conversation": "talk-a"}], ids=["user", "conversation"]
)
def test_nothing_of_the_traces_is_left_in_the_home(both: Home, wanted: dict[str, object]) -> None:
    """Neither in tables nor in raw text, inbox, snapshot, or bytes of the store that nothing refers to."""
    assert everywhere(both, SECRET)

    done = forget(both, **wanted)

    assert everywhere(both, SECRET) == []
    assert len(everywhere(both, OTHER)) >= 4
    assert (done.traces, done.scores, done.raw, done.inbox, done.growing) == (2, 1, 4, 4, ())
    assert rows(both, "select count(*) from traces") == [(2,)]
    for table in ("spans", "messages", "scores"):
        assert rows(both, f"select count(*) from {table} anti join traces using (trace_uid)") == [(0,)]
    with open_snapshot(both) as connection:
        assert connection.execute("select count(*) from traces").fetchall() == [(2,)]


def test_a_user_is_found_by_the_pseudonym_too(both: Home) -> None:
    """As it stands in `traces.user_ref`."""
    ref = rows(both, "select user_ref from traces where conversation = 'talk-b'")[0][0]

    assert ref == Redactor(both.key()).pseudonym("user", "bob")
    assert forget(both, user=ref).traces == 2


def test_they_do_not_come_back(both: Home, tmp_path: Path) -> None:
    """Neither from the same files, nor from others, nor as raw text."""
    forget(both, user="ada@example.com")
    late = write_lines(tmp_path / "late.ndjson", [ada(1), bob(9), correction(1, "L1", comment=SECRET)])
    load(both, both.inbox, late)

    assert rows(both, "select count(*) from traces") == [(3,)]
    assert rows(both, "select count(*) from scores") == [(0,)]
    assert everywhere(both, SECRET) == []


def test_files_of_the_inbox_are_known_as_before(both: Home) -> None:
    """What is left of them is not read as something new."""
    forget(both, user="ada@example.com")
    again = load(both, both.inbox)

    assert [one.known for one in again.files] == [True, True]
    assert [
        line["trace_id"] for line in map(orjson.loads, (both.inbox / "one.ndjson").read_bytes().splitlines())
    ] == [f"{2:032x}"]


def test_a_period_goes_by_the_start_of_its_traces(home: Home, tmp_path: Path) -> None:
    """Those without a time stay; feedback to a trace that never came goes by its own time."""
    start = 1_700_000_000_000_000_000
    records = [
        bob(1), bob(2, start_ns=start + YEAR_NS), bob(3, start_ns=None), correction(1, "L2"), correction(8, "L2"),
        correction(9, "L2", ts_ns=start + YEAR_NS),
    ]  # fmt: skip
    load(home, write_lines(tmp_path / "a.ndjson", records))

    done = forget(home, before=datetime(2024, 1, 1, tzinfo=UTC))

    assert (done.traces, done.scores) == (2, 2)
    assert rows(home, "select right(native_id, 1) from traces order by 1") == [("2",), ("3",)]
    assert rows(home, "select count(*) from scores") == [(1,)]


def test_a_document_keeps_its_other_traces(home: Home) -> None:
    """A JSON document in the inbox becomes lines; of raw text the parts about others stay."""
    document = home.inbox / "all.json"
    document.parent.mkdir(parents=True)
    document.write_bytes(orjson.dumps([ada(1), bob(2)], option=orjson.OPT_INDENT_2))
    load(home, home.inbox)

    done = forget(home, user="ada@example.com")

    assert (done.traces, done.inbox) == (1, 1)
    assert [path.name for path in home.inbox.iterdir()] == ["all.json.ndjson"]
    assert everywhere(home, SECRET) == []
    assert load(home, home.inbox).files[0].known


def spans(trace: str, session: str, text: str) -> dict[str, object]:
    said = orjson.dumps([{"role": "user", "parts": [{"type": "text", "content": text}]}]).decode()
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": session,
        "gen_ai.input.messages": said,
    }
    return {
        "traceId": trace, "spanId": trace[:16], "name": "chat", "startTimeUnixNano": "1700000000000000000",
        "endTimeUnixNano": "1700000001000000000",
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
    }  # fmt: skip


def test_a_record_about_several_traces_keeps_the_others(home: Home) -> None:
    """In raw text and in the inbox, as records that say the same."""
    record = {
        "resourceSpans": [
            {"scopeSpans": [{"spans": [spans("a" * 32, "talk-a", SECRET), spans("b" * 32, "talk-b", OTHER)]}]}
        ]
    }
    write_lines(home.inbox / "otlp.ndjson", [record])
    load(home, home.inbox)
    kept = rows(
        home, "select * exclude (line, byte_offset, file_id) from traces where conversation = 'talk-b'"
    )

    assert forget(home, conversation="talk-a").raw == 1

    assert everywhere(home, SECRET) == []
    assert {name for name in everywhere(home, OTHER) if name.endswith((".parquet", ".ndjson"))} == {
        "otlp.ndjson", next(home.raw.glob("*.parquet")).name
    }  # fmt: skip
    again = Home(home.root / "again")
    load(again, home.inbox)
    assert rows(again, "select * exclude (line, byte_offset, file_id) from traces") == kept


def test_held_out_traces_are_deleted_too(home: Home, tmp_path: Path) -> None:
    """They have no rows: their text says whose they are."""
    held = Deployment(split=Splits(dev=0, gate=0.5, vault=0.4))
    records = [
        maker(2 * number + turn, session=f"{name}-{number}")
        for number in range(20)
        for turn, (name, maker) in enumerate((("a", ada), ("b", bob)))
    ]
    ingest(home, CLOCK, [write_lines(tmp_path / "a.ndjson", records)], deployment=held)
    before = rows(home, "select count(*) from trace_sides where split in ('gate', 'vault')")[0][0]
    assert before

    done = delete(home, CLOCK, Wanted(user="ada@example.com"), "the officer", deployment=held)

    assert done.traces == 20
    assert done.heldout > 5
    assert rows(home, "select count(*) from trace_sides where split in ('gate', 'vault')") == [
        (before - done.heldout,)
    ]
    assert everywhere(home, SECRET) == []
    assert (
        sum(len(path.read_bytes().splitlines()) for path in home.heldout.rglob("*.ndjson"))
        == before - done.heldout
    )


def test_what_a_bank_holds_stays_and_is_named(both: Home) -> None:
    """Tasks that no bank holds go, examples of failure modes as well."""
    uid = str(rows(both, "select trace_uid from traces where conversation = 'talk-a' order by 1")[0][0])
    folder = both.banks / ("b" * 64)
    folder.mkdir(parents=True)
    pq.write_table(
        pa.table({"task_id": ["t-kept", "t-other"], "traces": [[uid], ["x"]]}), folder / "tasks.parquet"
    )
    with store_batch(both, CLOCK, "test") as connection:
        for task in ("t-kept", "t-loose"):
            connection.execute(
                "insert into tasks values ('2026-01-01', $task, 'route', '[]', 'choice', 'L1', null, [$uid], 'made', "
                "'', '', '', '', [], '{}', 0, 0, 'own')",
                {"task": task, "uid": uid},
            )
        connection.execute(
            "insert into failure_modes values ('2026-01-01', 'm', 's', 'k', 't', 1, 1, 1, 0, 1, 1, 1, ['x', $uid], "
            "'2026-01-01', 'new', '{}', '[]', 1000, 1, 1, 0.5, 1, 'model', null, '[]')", {"uid": uid},
        )  # fmt: skip
        for shown in ("x", uid):
            connection.execute("insert into mode_traces values ('2026-01-01', 'm', $uid)", {"uid": shown})

    done = forget(both, user="ada@example.com")

    assert (done.tasks, done.banks) == (1, {"b" * 64: 1})
    assert rows(both, "select task_id from tasks") == [("t-kept",)]
    assert rows(both, "select examples from failure_modes") == [(["x"],)]
    assert rows(both, "select trace_uid from mode_traces") == [("x",)]
    assert pq.read_table(folder / "tasks.parquet")["task_id"].to_pylist() == ["t-kept", "t-other"]


def test_a_refused_part_of_a_deleted_record_goes_with_it(home: Home, tmp_path: Path) -> None:
    """Its excerpt came from the record; other refusals stay."""
    document = {
        "resourceSpans": [{"scopeSpans": [{"spans": [spans("a" * 32, "talk-a", SECRET), {"name": SECRET}]}]}]
    }
    load(home, write_lines(tmp_path / "a.ndjson", [document, {"strange": 1}]))
    assert rows(home, "select count(*) from quarantine") == [(2,)]

    assert forget(home, conversation="talk-a").quarantined == 1

    assert rows(home, "select count(*) from quarantine") == [(1,)]
    assert everywhere(home, SECRET) == []


def test_a_segment_that_grows_is_left_and_named(both: Home) -> None:
    """After it is closed, the same command finishes the work."""
    spool = Spool(both.inbox, clock=CLOCK)
    spool.append(ada(7))
    assert spool.path is not None
    load(both, both.inbox)

    done = forget(both, user="ada@example.com")
    assert done.growing == (str(spool.path),)
    assert rows(both, f"select count(*) from traces where native_id = '{7:032x}'") == [(0,)]

    closed = spool.rotate()
    assert closed is not None
    load(both, both.inbox)
    assert rows(both, "select count(*) from traces") == [(2,)]
    assert everywhere(both, SECRET) == [closed.name]
    assert forget(both, user="ada@example.com").inbox == 1
    assert everywhere(both, SECRET) == []


def test_refused_proposals_made_from_them_go_too(both: Home) -> None:
    """From the table and from the file that a person reviews; those of others stay."""
    uids = {str(uid): str(user) for uid, user in rows(both, "select trace_uid, user_ref from traces")}
    columns = "'2026-01-02', 't-1', 'injection', 'correction', 'e', null, 'words', 'L1', null"
    with store_batch(both, CLOCK, "test") as connection:
        for uid in uids:
            connection.execute(f"insert into refusals values ({columns}, [$uid])", {"uid": uid})
    both.refused.mkdir()
    file = both.refused / "2026-01-02.parquet"
    pq.write_table(pa.table({"text": list(uids.values()), "traces": [[uid] for uid in uids]}), file)

    done = forget(both, user="ada@example.com")

    left = {uid for (uid,) in rows(both, "select trace_uid from traces")}
    assert done.refusals == 2
    assert rows(both, "select traces[1] from refusals order by all") == [(uid,) for uid in sorted(left)]
    assert {traces[0] for traces in pq.read_table(file).column("traces").to_pylist()} == left


def test_a_dry_run_changes_nothing(both: Home) -> None:
    """It counts what the deletion then counts."""
    before = {
        path: digest_file(path)
        for path in both.root.rglob("*")
        if path.is_file() and path.parent.name != "locks"
    }

    would = delete(both, CLOCK, Wanted(user="ada@example.com"), "", dry_run=True, deployment=ALL_TRAIN)

    after = {
        path: digest_file(path)
        for path in both.root.rglob("*")
        if path.is_file() and path.parent.name != "locks"
    }
    assert would.dry_run
    assert before == after
    done = forget(both, user="ada@example.com")
    for name in ("traces", "heldout", "spans", "messages", "tool_calls", "scores", "banks"):
        assert getattr(would, name) == getattr(done, name)


def test_the_ledger_says_who_and_how_much_and_nothing_else(both: Home) -> None:
    """Neither the user nor a word of the traces; a repetition that found nothing is no record."""
    forget(both, user="ada@example.com")
    again = forget(both, user="ada@example.com")

    (record,) = Ledger(both.ledger, CLOCK).records()
    assert again.traces == 0
    assert (record.kind, record.body["by"], record.body["how"], record.body["traces"]) == (
        "deletion", "the officer", "user", 2,
    )  # fmt: skip
    assert b"ada" not in both.ledger.read_bytes()
    assert SECRET.encode() not in both.ledger.read_bytes()


@pytest.mark.parametrize(
    ("wanted", "by", "why"),
    [
        (Wanted(), "x", "choose one"),
        (Wanted(user="a", conversation="b"), "x", "choose one"),
        (Wanted(user="a"), " ", "--by"),
    ],
)
def test_who_deletes_says_what_and_who_he_is(both: Home, wanted: Wanted, by: str, why: str) -> None:
    """Else nothing happens."""
    with pytest.raises(ContractError, match=why):
        delete(both, CLOCK, wanted, by, deployment=ALL_TRAIN)


@pytest.mark.parametrize("point", ["delete.after_remember", "delete.after_files", "delete.after_rows"])
def test_a_killed_deletion_goes_on_where_it_was(both: Home, point: str) -> None:
    """The same command again: nothing is left, and the traces do not come back in between."""
    command = [
        sys.executable,
        "-m",
        "rsi.cli",
        "traces",
        "delete",
        "--user",
        "ada@example.com",
        "--by",
        "x",
        "--yes",
    ]
    environment = {**os.environ, "RSI_HOME": str(both.root), "OMP_NUM_THREADS": "1"}
    killed = subprocess.run(command, env={**environment, "RSI_FAULT": point}, cwd=PROJECT, check=False)
    assert killed.returncode == -signal.SIGKILL
    load(both, both.inbox)

    done = subprocess.run(command, env=environment, cwd=PROJECT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert everywhere(both, SECRET) == []
    assert rows(both, "select count(*) from traces") == [(2,)]
    assert [record.kind for record in Ledger(both.ledger, CLOCK).records()] == ["deletion"]
    assert rows(both, "select count(*) from meta where key = 'deletion'") == [(0,)]
