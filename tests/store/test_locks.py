"""The two locks."""

import subprocess
import sys
import threading
import time

import pytest

from rsi.errors import BusyError
from rsi.store.locks import hold

HOLD = """
import sys, time
from pathlib import Path
from rsi.store.locks import hold
with hold(Path(sys.argv[1]), "night 2026-01-02", "now"):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def other(tmp_path):
    """Another process that holds the lock."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "night")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout and process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()


def test_a_second_holder_is_told_who_the_first_is(other, tmp_path):
    """The message names the holder and its process."""
    with (
        pytest.raises(BusyError, match=f"night 2026-01-02 .process {other.pid}"),
        hold(tmp_path / "night", "b", "now"),
    ):
        pass


def test_10_a_killed_holder_leaves_the_lock_free(other, tmp_path):
    """The lock dies with its process, whatever the file says."""
    other.kill()
    other.wait()

    with hold(tmp_path / "night", "b", "now"):
        pass


def test_waiting_ends_when_the_time_is_over(other, tmp_path):
    """`wait_s` bounds the wait."""
    started = time.monotonic()
    with pytest.raises(BusyError), hold(tmp_path / "night", "b", "now", wait_s=0.3):
        pass
    assert 0.3 <= time.monotonic() - started < 5


def test_the_same_holder_may_hold_it_again(tmp_path):
    """A flow and its subflows share the night lock; another name in the same process does not."""
    with hold(tmp_path / "night", "a", "now"):
        with hold(tmp_path / "night", "a", "now"):
            pass
        with pytest.raises(BusyError), hold(tmp_path / "night", "b", "now"):
            pass
    with hold(tmp_path / "night", "b", "now"):
        pass


def test_two_threads_are_two_holders_unless_they_work_as_one(tmp_path):
    """Threads of a server must not write at once because they do the same; a night's flows run in any thread."""
    found: list[str] = []

    def again(any_thread: bool) -> None:
        try:
            with hold(tmp_path / "store", "a", "now", any_thread=any_thread):
                found.append("held")
        except BusyError:
            found.append("busy")

    with hold(tmp_path / "store", "a", "now"):
        for any_thread in (False, True):
            thread = threading.Thread(target=again, args=(any_thread,))
            thread.start()
            thread.join()

    assert found == ["busy", "held"]
