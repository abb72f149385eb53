"""The ledger: append-only, chained, torn tails dropped."""

import re
import subprocess
import sys

import pytest

from rsi.errors import IntegrityError
from rsi.settings import PROJECT
from rsi.store.ledger import GENESIS, Ledger, forget
from tests.made import FixedClock


@pytest.fixture
def ledger(tmp_path):
    """A ledger with three records."""
    made = Ledger(tmp_path / "ledger.ndjson", FixedClock())
    for number in range(3):
        made.append("stage", night="2026-01-02", stage="discover", output=str(number))
    return made


def test_records_come_back_in_order_and_chained(ledger):
    """Each names the digest of the one before it."""
    first, second, third = ledger.records()

    assert (first.seq, first.prev) == (1, GENESIS)
    assert second.prev == first.digest
    assert third.prev == second.digest
    assert ledger.last(lambda one: one.stage == "discover") == third


def test_a_changed_byte_breaks_the_chain(ledger, tmp_path):
    """The message names the changed line, or the one after it where lines have no digest of their own."""
    path = tmp_path / "ledger.ndjson"
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'"output":"1"', b'"output":"7"'))

    with pytest.raises(IntegrityError, match="line 2 was changed"):
        ledger.records()

    path.write_bytes(re.sub(rb',"sum":"\w+"', b"", whole).replace(b'"output":"1"', b'"output":"7"'))
    with pytest.raises(IntegrityError, match="line 3 does not follow line 2"):
        ledger.records()


def test_no_byte_of_the_last_line_changes_unnoticed(ledger, tmp_path):
    """No line follows that would name it; its newline is no exception."""
    path = tmp_path / "ledger.ndjson"
    whole = path.read_bytes()
    begins = whole.rfind(b"\n", 0, -1) + 1

    for at in range(begins, len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(IntegrityError):
            ledger.records()
    path.write_bytes(whole)
    assert len(ledger.records()) == 3


def test_a_lost_line_breaks_the_chain(ledger, tmp_path):
    """Deleting history shows."""
    path = tmp_path / "ledger.ndjson"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[2])

    with pytest.raises(IntegrityError, match="line 2"):
        ledger.records()


def test_5_a_line_cut_in_the_middle_was_never_written(ledger, tmp_path):
    """A torn last line is dropped; the next append follows the last whole one."""
    path = tmp_path / "ledger.ndjson"
    path.write_bytes(path.read_bytes()[:-20])

    assert len(ledger.records()) == 2
    again = ledger.append("stage", output="again")
    assert [one.output for one in ledger.records()] == ["0", "1", "again"]
    assert again.seq == 3


def test_a_full_disk_leaves_the_ledger_whole(ledger, monkeypatch):
    """No space: the append fails, what was there stays readable."""
    monkeypatch.setenv("RSI_FAULT", "ledger.before_append:enospc")
    from rsi import faults

    faults._reached.clear()
    with pytest.raises(OSError):
        ledger.append("stage", output="3")
    assert len(ledger.records()) == 3


def test_28_what_was_read_before_is_not_read_again(ledger, tmp_path, monkeypatch):
    """A night asks some forty times and adds ten lines: each line is parsed and chained once a process."""
    ledger.records()
    parsed = []
    real = Ledger._follows
    monkeypatch.setattr(Ledger, "_follows", lambda *said: parsed.append(said[2]) or real(*said))
    again = Ledger(tmp_path / "ledger.ndjson", FixedClock())
    for number in range(5):
        again.append("stage", output=f"more {number}")
        ledger.records()
    assert parsed == list(range(4, 9))

    forget()
    assert len(ledger.records()) == 8
    assert parsed[5:] == list(range(1, 9))


def test_a_ledger_that_was_replaced_is_read_anew(ledger, tmp_path):
    """By a restored one, or one that was tampered with, of the same length or another."""
    path = tmp_path / "ledger.ndjson"
    whole = path.read_bytes()
    other = Ledger(tmp_path / "other.ndjson", FixedClock())
    other.append("stage", output="another")

    path.write_bytes((tmp_path / "other.ndjson").read_bytes())
    assert [one.output for one in ledger.records()] == ["another"]
    path.write_bytes(whole)
    assert len(ledger.records()) == 3
    path.write_bytes(whole.replace(b'"output":"0"', b'"output":"9"'))
    with pytest.raises(IntegrityError, match="line 1"):
        ledger.records()


SMALL = """
import resource, signal, sys
from pathlib import Path
from rsi.store.ledger import Ledger
from tests.made import FixedClock
path = Path(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 40,) * 2)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    Ledger(path, FixedClock()).append("stage", output="too much")
except OSError as error:
    print("refused", error.errno)
"""


def test_a_disk_that_fills_up_within_a_line_leaves_the_lines_before_it(ledger, tmp_path):
    """Part of the record went to disk before the rest was refused: it is taken back."""
    path = tmp_path / "ledger.ndjson"
    before = path.read_bytes()

    done = subprocess.run(
        [sys.executable, "-c", SMALL, str(path)], capture_output=True, text=True, check=True, cwd=PROJECT
    )

    assert done.stdout == "refused 27\n"
    assert path.read_bytes() == before
    assert ledger.append("stage", output="later").seq == 4
