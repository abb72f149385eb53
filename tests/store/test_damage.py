"""A store that is damaged, or has lost its end: it is noticed, and made again of what the inbox holds."""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from rsi.errors import IntegrityError
from rsi.settings import Home
from rsi.store import database, intact
from rsi.store.database import last_ordinal, store_batch
from rsi.store.ledger import Ledger
from rsi.store.snapshot import mirror_ledger, refresh
from tests.commands.spoken import Terminal
from tests.disk import dying, killed
from tests.made import FixedClock
from tests.traces.inputs import CLOCK, SAMPLES, load, rows

FLIPS = 6
SLOW_FLIPS = 50
TABLES = ("traces", "spans", "messages", "tool_calls", "scores", "quarantine")
PLACES = ("ordinal", "file_id", "line", "byte_offset")
READ = "select count(*), bit_xor(hash(one)) from span_parts as one"


def told(home: Home) -> list[tuple[str, str]]:
    """What `rsi verify` is told of the store."""
    return list(intact.flaws(home, CLOCK, Ledger(home.ledger, CLOCK).records()))


def content(home: Home) -> list[list[str]]:
    """Every row, without its batch and place."""
    return [
        sorted(map(str, rows(home, f"select columns(lambda c: c not in {PLACES}) from {table}")))
        for table in TABLES
    ]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home with an inbox of two files, both ingested; a night took the second batch."""
    home = Home(tmp_path_factory.mktemp("damage") / "home")
    home.inbox.mkdir(parents=True)
    (home.root / "key").write_bytes(b"secret")
    for name in ("chat.jsonl", "tau.json"):
        shutil.copy(SAMPLES / name, home.inbox)
        load(home, home.inbox)
    Ledger(home.ledger, CLOCK).append("night", night="2026-01-02", body={"ordinal": 2})
    assert told(home) == []
    return home


@pytest.fixture
def copy(stored: Home, tmp_path: Path) -> Home:
    """That home, to damage."""
    home = Home(tmp_path / "home")
    shutil.copytree(stored.root, home.root)
    return home


def flipped(data: bytes, rng: random.Random, flips: int) -> Iterator[bytes]:
    """One bit turned, in the headers as well as anywhere."""
    for at in (0, 5, 4096, 4100, 8192, 12288, *(rng.randrange(len(data)) for _ in range(flips))):
        changed = bytearray(data)
        changed[at] ^= 1 << rng.randrange(8)
        yield bytes(changed)


@pytest.mark.parametrize("flips", [FLIPS, pytest.param(SLOW_FLIPS, marks=pytest.mark.slow)])
def test_24_a_flip_anywhere_in_the_store_is_named_or_changes_nothing(flips: int, copy: Home) -> None:
    """Blocks that no table uses may say what they like; whatever is read is what was written."""
    data, before = copy.store.read_bytes(), content(copy)
    named = 0
    for changed in flipped(data, random.Random(24), flips):
        copy.store.write_bytes(changed)
        found = told(copy)
        named += bool(found)
        if found:
            assert all(
                one == "I2" and str(copy.store) in text and "rsi restore" in text for one, text in found
            )
        else:
            assert content(copy) == before
    copy.store.write_bytes(data)
    assert named > flips / 2
    assert told(copy) == []


def damaged(home: Home) -> None:
    """Turn a bit in a block that the table of spans is read from, the file's head being whole."""
    data = home.store.read_bytes()
    for at in range(len(data) - 4096, 3 * 4096, -32768):
        home.store.write_bytes(data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :])
        try:
            with store_batch(home, CLOCK, "test") as connection:
                connection.execute(READ).fetchall()
        except IntegrityError as error:
            if "is damaged" in str(error):
                return
    pytest.fail("no block of the table was found")


def test_whoever_reads_a_damaged_store_is_told_what_to_do(copy: Home) -> None:
    """Whoever works in it, whoever copies it for readers; the doctor reads its head."""
    damaged(copy)

    for act in (lambda: refresh(copy, CLOCK), lambda: rows(copy, READ)):
        with pytest.raises(IntegrityError, match=r"is damaged: .*move it away and run `rsi ingest`"):
            act()
    copy.store.write_bytes(b"\0" * 8192)
    with pytest.raises(IntegrityError, match="move it away and run `rsi ingest`"):
        intact.batches(copy)


def test_a_store_that_is_moved_away_is_made_again_of_the_inbox(copy: Home) -> None:
    """The same rows, in batches above those that nights took, so that they count as new."""
    before = content(copy)
    copy.store.rename(copy.root / "damaged.duckdb")
    assert [one for one, _ in told(copy)] == ["I2"]

    load(copy, copy.inbox)

    assert content(copy) == before
    assert told(copy) == []
    with store_batch(copy, CLOCK, "test") as connection:
        assert last_ordinal(connection) > 2


def test_verify_names_a_damaged_store_with_exit_code_3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """By the commands that a person runs, on a home with a first version."""
    from tests.registry import asked

    home = Home(tmp_path / "home")
    asked.begin(home)
    load(home, SAMPLES / "chat.jsonl")
    said = Terminal(home, monkeypatch, capsys)
    assert said("verify").code == 0
    home.store.write_bytes(home.store.read_bytes()[:-4096])

    verify = said("verify")

    assert verify.code == 3
    assert str(home.store) in verify.err


def logged(home: Home) -> bytes:
    """Ingest a third file and die between commit and checkpoint; the write-ahead log that is left."""
    commits, real = 0, database._commit

    def committed(connection: object, path: Path) -> None:
        nonlocal commits
        real(connection, path)  # type: ignore[arg-type]
        commits += 1
        if commits == 2:
            dying("commit")

    def work() -> None:
        database._commit = committed  # type: ignore[assignment]
        load(home, home.inbox)

    shutil.copy(SAMPLES / "langfuse.jsonl", home.inbox)
    assert killed(work)
    return home.store.with_name("store.duckdb.wal").read_bytes()


def test_25_the_end_of_the_write_ahead_log_lost_is_noticed_and_made_good(copy: Home, tmp_path: Path) -> None:
    """DuckDB leaves out whole transactions and says nothing: the night's record does, and the inbox is read again."""
    alone = Home(tmp_path / "alone")
    shutil.copytree(copy.root, alone.root)
    shutil.copy(SAMPLES / "langfuse.jsonl", alone.inbox)
    load(alone, alone.inbox)
    expected, data = content(alone), copy.store.read_bytes()
    log = logged(copy)
    Ledger(copy.ledger, CLOCK).append("night", night="2026-01-03", body={"ordinal": 3})
    lost = []
    for cut in (0, 1, len(log) // 2, len(log) - 12):
        copy.store.write_bytes(data)
        copy.store.with_name("store.duckdb.wal").write_bytes(log[: len(log) - cut])
        found = told(copy)
        lost.append(bool(found))
        if found:
            assert found[0][0] == "I2"
            assert "ends with batch 2, and a night took batch 3" in found[0][1]
        load(copy, copy.inbox)
        assert content(copy) == expected, cut
        assert told(copy) == []
    assert lost == [False, True, True, True]


def test_lines_lost_from_the_end_of_the_ledger_are_named_by_the_stores_copy(copy: Home) -> None:
    """The chain of what is left is whole; another line after it does not hide the loss."""
    ledger = Ledger(copy.ledger, FixedClock())
    before = copy.ledger.read_bytes()
    ledger.append("stage", night="2026-01-02", stage="discover", output="a")
    refresh(copy, CLOCK)
    assert told(copy) == []

    copy.ledger.write_bytes(before)
    assert [one for one, _ in told(copy)] == ["I4"]

    ledger.append("stage", night="2026-01-02", stage="discover", output="b")
    assert [one for one, _ in told(copy)] == ["I4"]


def test_28_the_stores_copy_of_the_ledger_grows_by_what_is_new(copy: Home) -> None:
    """A thousand nights are not copied again for one line; what is not the ledger's end is copied anew."""
    ledger = Ledger(copy.ledger, CLOCK)
    for number in range(20):
        ledger.append("stage", night="2026-01-02", stage=f"s{number}", output="a")
    before = copy.ledger.read_bytes()

    def mirrored() -> int:
        with store_batch(copy, CLOCK, "test") as connection:
            return mirror_ledger(connection, copy, CLOCK)

    assert [mirrored(), mirrored()] == [21, 0]
    ledger.append("stage", night="2026-01-02", stage="more", output="b")
    assert mirrored() == 1
    copy.ledger.write_bytes(before)
    ledger.append("stage", night="2026-01-02", stage="more", output="c")
    assert mirrored() == 22
    assert rows(copy, "select output from ledger order by seq desc limit 1") == [("c",)]
