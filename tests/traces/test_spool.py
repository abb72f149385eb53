"""The spool: whole lines only, whatever happens to the process or the disk."""

import os
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
import pytest

from rsi.errors import TransientError
from rsi.traces.spool import Spool, recover

WRITER = """
import sys
from pathlib import Path
from rsi.traces.spool import Spool

spool, n = Spool(Path(sys.argv[1]), max_bytes=int(sys.argv[2])), 0
while True:
    spool.append({"n": n, "text": "x" * (n % 5000)})
    print(n, flush=True)
    n += 1
"""

SMALL_DISK = """
import resource, sys
from pathlib import Path
from rsi.errors import TransientError
from rsi.traces.spool import Spool

resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
spool = Spool(Path(sys.argv[1]))
spool.append({"n": 0})
path = spool.path
try:
    spool.append({"n": 1, "text": "x" * 2000})
except TransientError as error:
    assert str(path) in str(error), error
    assert isinstance(error.__cause__, OSError), error.__cause__
else:
    raise SystemExit("a record larger than the disk was taken")
assert path.read_bytes() == b'{"n":0}\\n', path.read_bytes()
spool.append({"n": 2})
spool.close()
"""


class Dial:
    """A clock set by hand."""

    def __init__(self) -> None:
        self.time = datetime(2026, 8, 1, 12, 0, tzinfo=UTC)

    def now(self) -> datetime:
        return self.time


def lines(*paths: Path) -> list[object]:
    return [orjson.loads(line) for path in paths for line in path.read_bytes().splitlines()]


def closed(inbox: Path) -> list[Path]:
    return sorted(inbox.glob("*.ndjson"), key=lambda path: int(path.stem.rsplit("-", 1)[1]))


def test_a_record_is_readable_at_once_and_ingest_sees_the_segment_when_it_is_closed(tmp_path: Path) -> None:
    """The line is with the OS when `append` returns; the name says open until close."""
    spool = Spool(tmp_path, "gateway", clock=Dial())
    spool.append({"b": 1, "a": "ä"})

    assert spool.path == tmp_path / f"gateway-20260801T120000Z-{os.getpid()}-1.ndjson.open"
    assert spool.path.read_bytes() == '{"b":1,"a":"ä"}\n'.encode()
    assert closed(tmp_path) == []

    spool.close()

    assert [path.name for path in tmp_path.iterdir()] == [f"gateway-20260801T120000Z-{os.getpid()}-1.ndjson"]
    assert spool.path is None


def test_segments_are_private(tmp_path: Path) -> None:
    """Traces are users' words: only the owner reads them."""
    spool = Spool(tmp_path)
    spool.append({})

    assert spool.path is not None
    assert spool.path.stat().st_mode & 0o077 == 0


def test_segments_rotate_by_size_and_keep_every_record_in_order(tmp_path: Path) -> None:
    """No segment but one with a single long record exceeds the limit."""
    spool = Spool(tmp_path, max_bytes=100)
    for n in range(30):
        spool.append({"n": n})
    spool.append({"n": 30, "text": "x" * 500})
    spool.append({"n": 31})
    spool.close()
    segments = closed(tmp_path)

    assert len(segments) > 3
    assert [line["n"] for line in lines(*segments)] == list(range(32))  # type: ignore[index]
    assert [path for path in segments if path.stat().st_size > 100] == [segments[-2]]


def test_an_old_segment_is_closed_on_request_only_when_it_is_old(tmp_path: Path) -> None:
    """Without traffic nothing opens; with a little, ingest waits for the age at the most."""
    dial = Dial()
    spool = Spool(tmp_path, max_age_s=300, clock=dial)
    assert spool.rotate_if_old() is None
    spool.append({"n": 0})
    dial.time += timedelta(seconds=299)
    assert spool.rotate_if_old() is None
    dial.time += timedelta(seconds=1)

    assert spool.rotate_if_old() == closed(tmp_path)[0]
    assert spool.path is None
    assert spool.rotate() is None


def test_threads_share_a_spool(tmp_path: Path) -> None:
    """Lines of many threads never mix, across rotations."""
    spool = Spool(tmp_path, max_bytes=2000)

    def write(thread: int) -> None:
        for n in range(50):
            spool.append({"thread": thread, "n": n, "text": "y" * 50})

    threads = [threading.Thread(target=write, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spool.close()
    found = lines(*closed(tmp_path))

    assert {(line["thread"], line["n"]) for line in found} == {  # type: ignore[index]
        (thread, n) for thread in range(8) for n in range(50)
    }
    assert len(found) == 400


@pytest.mark.parametrize("max_bytes", [20_000, 10**9], ids=["rotating", "one segment"])
def test_kill_9_loses_at_most_the_last_line(tmp_path: Path, max_bytes: int) -> None:
    """Every acknowledged record is on disk; `recover` gives the open segment its final name."""
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path), str(max_bytes)], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    said = [writer.stdout.readline() for _ in range(300)]
    assert recover(tmp_path) == ()
    writer.kill()
    acknowledged = int([*said, *writer.stdout.readlines()][-1])
    writer.wait()

    assert len(recover(tmp_path)) <= 1
    assert not list(tmp_path.glob("*.open"))
    whole = [line for path in closed(tmp_path) for line in path.read_bytes().split(b"\n")[:-1]]
    numbers = [orjson.loads(line)["n"] for line in whole]
    assert numbers == list(range(len(numbers)))
    assert acknowledged + 1 <= len(numbers) <= acknowledged + 2


def test_recover_leaves_a_cut_last_line_and_the_segments_of_living_writers(tmp_path: Path) -> None:
    """A torn line is ingest's to report; an empty segment is nobody's; pids do not matter."""
    spool = Spool(tmp_path)
    spool.append({"n": 0})
    torn = tmp_path / f"gateway-20260101T000000Z-{os.getpid()}-9.ndjson.open"
    torn.write_bytes(b'{"n":1}\n{"n":')
    (tmp_path / "gateway-20260101T000000Z-1-1.ndjson.open").touch()

    assert recover(tmp_path) == (torn.with_suffix(""),)
    assert torn.with_suffix("").read_bytes() == b'{"n":1}\n{"n":'
    assert list(tmp_path.glob("*.open")) == [spool.path]
    spool.append({"n": 2})
    spool.close()
    assert lines(closed(tmp_path)[0]) == [{"n": 0}, {"n": 2}]


def test_a_name_that_was_used_is_not_used_again(tmp_path: Path) -> None:
    """A container starts with the same pid in the same second: the older segments stay."""
    for n in range(3):
        spool = Spool(tmp_path, clock=Dial())
        spool.append({"n": n})
        spool.close()

    assert lines(*closed(tmp_path)) == [{"n": 0}, {"n": 1}, {"n": 2}]


def test_a_full_disk_leaves_no_half_line_and_the_next_record_fits(tmp_path: Path) -> None:
    """The process may not grow a file past 1000 bytes: the OS cuts the write in the middle of the line."""
    found = subprocess.run(
        [sys.executable, "-c", SMALL_DISK, str(tmp_path)], capture_output=True, text=True, check=False
    )

    assert (found.returncode, found.stderr) == (0, "")
    assert lines(*closed(tmp_path)) == [{"n": 0}, {"n": 2}]


def test_an_inbox_that_cannot_be_written_is_a_transient_error(tmp_path: Path) -> None:
    """The message names the place and nothing is left behind."""
    spool = Spool(tmp_path / "inbox")
    (tmp_path / "inbox").rmdir()

    with pytest.raises(TransientError, match=str(tmp_path / "inbox")):
        spool.append({"n": 0})
    (tmp_path / "inbox").mkdir()
    spool.append({"n": 1})
    spool.close()
    assert lines(*closed(tmp_path / "inbox")) == [{"n": 1}]


def test_sync_puts_the_open_segment_and_its_name_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder only where a segment is new since the last time."""
    synced: list[int] = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (synced.append(os.fstat(handle).st_ino), real(handle)))
    spool = Spool(tmp_path)
    spool.sync()
    assert synced == []

    spool.append({"n": 0})
    assert spool.path is not None
    segment, folder = spool.path.stat().st_ino, tmp_path.stat().st_ino
    spool.sync()
    spool.append_line(b'{"n":1}')
    spool.sync()
    assert synced == [segment, folder, segment]
    spool.append({"n": 2})
    spool.close()
    spool.sync()
    assert synced == [segment, folder, segment, segment]
    assert lines(*closed(tmp_path)) == [{"n": 0}, {"n": 1}, {"n": 2}]


def test_sync_says_so_when_a_segment_was_closed_without_one(tmp_path: Path) -> None:
    """Once: what is appended after that is synced again."""
    spool = Spool(tmp_path / "inbox")
    spool.append({"n": 0})
    (tmp_path / "inbox").rename(tmp_path / "moved")
    with pytest.raises(TransientError):
        spool.rotate()
    with pytest.raises(TransientError):
        spool.sync()
    (tmp_path / "inbox").mkdir()
    spool.append({"n": 1})
    spool.sync()
    assert lines(*tmp_path.glob("moved/*")) == [{"n": 0}]
